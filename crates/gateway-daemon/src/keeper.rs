//! A process that removes routes, and rules of nftables with it, after whatever ends the daemon.
//!
//! A shell sets them and then starts a program that reads from this process. When that has read the end, because this process closes the pipe or
//! is killed, the shell removes what it has set. The tables that nft(8) makes with `flags owner` go with nft.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(5);

/// What the shell gives what it is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// nft(8), which follows commands.
    Nft,
    /// sh(1), which follows commands.
    Shell,
}

#[derive(Debug)]
pub struct Keeper {
    /// The configuration's section, for messages.
    section: &'static str,
    shell: Child,
    commands: Option<ChildStdin>,
}

impl Keeper {
    /// `add` and `remove` are lines of sh. What was left from before is removed first.
    pub fn start(
        section: &'static str,
        add: &str,
        remove: &str,
        reader: Reader,
    ) -> Result<Self, String> {
        let reader = match reader {
            Reader::Nft => "nft -i >/dev/null",
            Reader::Shell => "sh >/dev/null",
        };
        let script = format!("trap '' INT\n{remove}{add}echo set\n{reader}\n{remove}");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C in a terminal is the daemon's, which then ends the keeper.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{section}: cannot start sh: {error}"))?;
        let commands = shell.stdin.take();
        let mut keeper = Self {
            section,
            shell,
            commands,
        };
        let mut said = String::new();
        if let Some(output) = keeper.shell.stdout.take() {
            // An end without a line is an error, too.
            let _ = BufReader::new(output).read_line(&mut said);
        }
        if said.trim() == "set" {
            Ok(keeper)
        } else {
            Err(keeper.failed())
        }
    }

    fn failed(&mut self) -> String {
        self.commands = None;
        let status = self
            .shell
            .wait()
            .map_or_else(|error| error.to_string(), |it| it.to_string());
        format!(
            "{}: the rules could not be set ({status}). They need nft and ip (the packages nftables and iproute2) and CAP_NET_ADMIN",
            self.section
        )
    }

    /// Waits until what was sent has been followed.
    pub fn wait_until(
        &mut self,
        is_followed: impl Fn() -> Result<bool, String>,
    ) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok(Some(_)) = self.shell.try_wait() {
                return Err(self.failed());
            }
            if is_followed()? {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!(
                    "{}: nft did not take the rules; what it says stands above",
                    self.section
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn send(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = lines.join("\n");
        text.push('\n');
        match &mut self.commands {
            Some(commands) => commands.write_all(text.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The reader reads the end, and the shell then removes the routes.
        self.commands = None;
        let until = Instant::now() + PATIENCE;
        while matches!(self.shell.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        // One that does not end by itself leaves the routes, which nothing uses.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// A table of nftables as the kernel has it; empty if there is none.
pub fn listed(section: &str, table: &str) -> Result<String, String> {
    let said = Command::new("nft")
        .args(["list", "table", "inet", table])
        .output();
    let said: Output = said.map_err(|error| {
        format!("{section}: cannot start nft: {error}. The Debian package nftables has it")
    })?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}
