//! The programs that run inside a host.

use crate::namespaces::NetNamespace;
use crate::per_host::HostId;
use crate::protocol::Spawn;
use crate::sandbox::Sandbox;
use crate::signals;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process_group, setpgid, setsid,
    wait, waitid,
};
use rustix::termios::tcsetpgrp;
use std::collections::HashMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The programs that were started and have not been reported as ended.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    running: HashMap<Pid, RunningProgram>,
}

#[derive(Debug)]
struct RunningProgram {
    id: String,
    host: HostId,
    /// What it waits for a processor is of interest.
    is_work: bool,
}

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub id: String,
    pub status: Option<i32>,
    pub signal: Option<i32>,
}

impl Programs {
    /// Starts a program in a session of its own (with a terminal: in its foreground group). The error is a sentence.
    pub(crate) fn start(&mut self, request: &Spawn, net: &NetNamespace) -> Result<Pid, String> {
        if self
            .running
            .values()
            .any(|program| program.id == request.id)
        {
            return Err(format!(
                "a program named {:?} is running already",
                request.id
            ));
        }
        let mut command = command_for(request)?;
        let sandbox = request
            .sandbox
            .then(|| Sandbox::of(request, &mut command))
            .transpose()?;
        // A child starts in the network namespace of the thread that forks it.
        net.join()
            .map_err(|error| format!("entering the network namespace gave {error}"))?;
        let tty = request.tty;
        let inside = sandbox.clone();
        // SAFETY: between fork and exec come system calls alone, each async-signal-safe, and no allocation.
        unsafe {
            command.pre_exec(move || {
                if tty {
                    setpgid(None, None)?;
                    // SIGTTOU is blocked here. Without a controlling terminal there is nothing to be had.
                    let _ = tcsetpgrp(rustix::stdio::stdin(), getpid());
                } else {
                    setsid()?;
                }
                signals::restore_defaults();
                inside.as_deref().map_or(Ok(()), Sandbox::enter)
            });
        }
        let child = command
            .spawn()
            .map_err(|error| not_started(&request.argv[0], &error, sandbox.as_deref()))?;
        let pid = Pid::from_child(&child);
        let running = RunningProgram {
            id: request.id.clone(),
            host: request.host,
            // In a sandbox it is a process that waits for the program.
            is_work: !request.preparation && !request.sandbox,
        };
        self.running.insert(pid, running);
        Ok(pid)
    }

    /// Signals a program and what it started. False where no such program runs.
    pub(crate) fn signal(&self, id: &str, signal: Signal) -> bool {
        match self.running.iter().find(|(_, program)| program.id == id) {
            Some((&pid, _)) => kill_process_group(pid, signal).is_ok(),
            None => false,
        }
    }

    /// The programs that have ended and are not taken yet, each with its host. Only those that do the run's work.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (Pid, HostId)> {
        let over = |pid: &Pid| {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            matches!(waitid(WaitId::Pid(*pid), look), Ok(Some(_)))
        };
        let all = self.running.iter();
        all.filter(move |(pid, program)| program.is_work && over(pid))
            .map(|(&pid, program)| (pid, program.host))
    }

    /// Takes every child that has ended; orphans, which fall to the first process of the namespace, silently.
    pub(crate) fn reap(&mut self) -> Vec<Ended> {
        let mut ended = Vec::new();
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(program) = self.running.remove(&pid) {
                ended.push(Ended {
                    id: program.id,
                    status: status.exit_status(),
                    signal: status.terminating_signal(),
                });
            }
        }
        ended
    }

    /// Kills every process of the namespace but the caller, and waits until they are gone.
    pub(crate) fn kill_all(&mut self) -> Vec<Ended> {
        assert!(
            getpid().is_init(),
            "outside a process namespace of its own this would kill everything"
        );
        // SAFETY: no memory is involved; the assertion above says whom this reaches.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        let mut ended = Vec::new();
        while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
            if let Some(program) = self.running.remove(&pid) {
                ended.push(Ended {
                    id: program.id,
                    status: status.exit_status(),
                    signal: status.terminating_signal(),
                });
            }
        }
        ended
    }
}

impl Sandbox {
    /// For this program, which is given few of the host process's variables.
    fn of(request: &Spawn, command: &mut Command) -> Result<Arc<Self>, String> {
        let cwd = request.cwd.clone().map_or_else(env::current_dir, Ok);
        let sandbox = cwd.and_then(|cwd| Self::new(&cwd));
        command
            .env_clear()
            .envs(Self::environment())
            .envs(request.env.iter().flatten());
        sandbox
            .map(Arc::new)
            .map_err(|error| format!("preparing a sandbox for {} gave {error}", request.argv[0]))
    }
}

fn not_started(name: &str, error: &io::Error, sandbox: Option<&Sandbox>) -> String {
    match (sandbox, sandbox.and_then(Sandbox::failed_at)) {
        (_, Some(doing)) => format!("the sandbox of {name}: {doing} gave {error}"),
        (Some(_), None) if error.kind() == io::ErrorKind::NotFound => format!(
            "{name}: {error}; a lab's command sees the home folders, /tmp, /var/tmp and /run empty, but for the working folder"
        ),
        _ => format!("{name}: {error}"),
    }
}

fn command_for(request: &Spawn) -> Result<Command, String> {
    let Some(name) = request.argv.first() else {
        return Err("an empty command".into());
    };
    if let Some(folder) = &request.cwd
        && !folder.is_dir()
    {
        return Err(format!(
            "{}: no such folder to start {name} in",
            folder.display()
        ));
    }
    let own = |key: &str| {
        request
            .env
            .as_ref()
            .and_then(|env| env.get(key).cloned())
            .or_else(|| env::var(key).ok())
    };
    let program = find(name, own("PATH").as_deref(), request.cwd.as_deref())?;
    let mut command = Command::new(program);
    command
        .arg0(name)
        .args(&request.argv[1..])
        .envs(request.env.iter().flatten());
    if let Some(folder) = &request.cwd {
        command.current_dir(folder);
    }
    if request.tty {
        return Ok(command);
    }
    let input = match &request.stdin {
        None => Stdio::null(),
        Some(path) => OpenOptions::new()
            .read(true)
            .open(path)
            .map_err(named(path))?
            .into(),
    };
    let output = |path: &Option<PathBuf>| match path {
        None => Ok(Stdio::null()),
        Some(path) => {
            // Appending, so that stdout and stderr may be the same file.
            fs::write(path, "").map_err(named(path))?;
            OpenOptions::new()
                .append(true)
                .open(path)
                .map(Stdio::from)
                .map_err(named(path))
        }
    };
    command
        .stdin(input)
        .stdout(output(&request.stdout)?)
        .stderr(output(&request.stderr)?);
    Ok(command)
}

fn named(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// Looks a command up as a shell does.
fn find(name: &str, path: Option<&str>, cwd: Option<&Path>) -> Result<PathBuf, String> {
    let runnable = |file: &Path| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        return match (runnable(&file), file.exists()) {
            (true, _) => Ok(file),
            (false, true) => Err(format!("{name}: not executable")),
            (false, false) => Err(format!("{name}: no such file")),
        };
    }
    env::split_paths(path.unwrap_or_default())
        .map(|folder| folder.join(name))
        .find(|file| runnable(file))
        .ok_or_else(|| format!("{name}: not found in PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_on_the_path_or_said_not_to_be() {
        assert_eq!(
            find("sh", Some("/nowhere:/bin"), None),
            Ok("/bin/sh".into())
        );
        assert_eq!(
            find("sh", Some("/nowhere"), None),
            Err("sh: not found in PATH".into())
        );
        assert_eq!(find("sh", None, None), Err("sh: not found in PATH".into()));
        assert_eq!(
            find("./sh", None, Some(Path::new("/bin"))),
            Ok("/bin/./sh".into())
        );
        assert_eq!(
            find("/etc/passwd", None, None),
            Err("/etc/passwd: not executable".into())
        );
        assert_eq!(
            find("/no/such", None, None),
            Err("/no/such: no such file".into())
        );
    }
}
