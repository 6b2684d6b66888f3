//! The tasks of the hosts, as /proc shows them.
//!
//! A process belongs to the host whose network namespace it is in. The threads that stand for a host's programs in this
//! process have names of their own. The kernel's threads for deferred interrupt work are outside the run's process
//! namespace, so that their files are opened before it is entered.

use super::account::{Owner, SchedStat, Seen, State, Task};
use crate::gateway;
use crate::per_host::{HostId, PerHost};
use crate::split;
use rustix::param::page_size;
use rustix::process::{Pid, getpid};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The threads of the workload `channels`, of a split and of the gateways, by the host whose programs they stand for.
const THREADS: [(&str, HostId); 6] = [
    ("channels", HostId::Client),
    ("channel servers", HostId::Server),
    split::THREADS[0],
    split::THREADS[1],
    gateway::THREADS[0],
    gateway::THREADS[1],
];
/// The kernel's threads that finish what an interrupt began (kernel/softirq.c): on one processor each.
const DEFERRED: [&str; 2] = ["ksoftirqd/", "ktimers/"];

/// The files of the kernel's threads for deferred interrupt work.
#[derive(Debug, Default)]
pub(crate) struct KernelThreads(Vec<(Task, String, File)>);

impl KernelThreads {
    /// Those that this process may see. In a container there are none.
    pub(crate) fn open() -> Self {
        let threads = numbers(Path::new("/proc")).filter_map(|process| {
            let folder = format!("/proc/{process}");
            let name = fs::read_to_string(format!("{folder}/comm")).ok()?;
            let name = name.trim_end();
            let deferred = DEFERRED.iter().any(|prefix| name.starts_with(prefix));
            // A program may take such a name; the kernel's threads have no program.
            if !deferred || fs::read_link(format!("{folder}/exe")).is_ok() {
                return None;
            }
            let task = Task {
                process,
                thread: process,
                started_ticks: 0,
            };
            let file = File::open(format!("{folder}/schedstat")).ok()?;
            Some((task, name.to_owned(), file))
        });
        Self(threads.collect())
    }

    fn see(&self) -> impl Iterator<Item = Seen> {
        self.0.iter().map(|(task, name, file)| {
            let mut text = [0; 128];
            let read = file.read_at(&mut text, 0);
            let text = read.map_or("", |length| str::from_utf8(&text[..length]).unwrap_or(""));
            Seen {
                owner: Owner::Kernel,
                task: *task,
                program: name.clone(),
                state: State::Other,
                times: times(text),
                memory_bytes: None,
            }
        })
    }
}

#[derive(Debug)]
pub(super) struct Tasks {
    /// By the number of its network namespace.
    hosts: HashMap<u64, HostId>,
    kernel: KernelThreads,
    own: i32,
    own_arguments: Vec<u8>,
    /// Whose a process is, by its number and start: that of its first namespace.
    owners: HashMap<(i32, u64), HostId>,
    /// Processes that do not belong to the work.
    left_out: HashSet<i32>,
    /// This kernel counts what a task waited.
    counted: bool,
}

impl Tasks {
    pub fn new(mut namespaces: PerHost<u64>, kernel: KernelThreads, counted: bool) -> Self {
        let hosts = namespaces.each_mut().map(|(host, of)| (*of, host));
        Self {
            hosts: hosts.collect(),
            kernel,
            own: getpid().as_raw_nonzero().get(),
            own_arguments: fs::read("/proc/self/cmdline").unwrap_or_default(),
            owners: HashMap::new(),
            left_out: HashSet::new(),
            counted,
        }
    }

    /// Every task of every host.
    pub fn see(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut owners = HashMap::new();
        let processes: Vec<i32> = numbers(Path::new("/proc")).collect();
        // Their numbers come again.
        self.left_out.retain(|process| processes.contains(process));
        for process in processes {
            if self.left_out.contains(&process) {
                continue;
            }
            if process == self.own {
                self.see_own_threads(&mut seen);
                continue;
            }
            let Some((program, _, started, _)) = stat(&format!("/proc/{process}/stat")) else {
                continue;
            };
            let key = (process, started);
            let known = self.owners.get(&key).copied();
            let Some(host) = known.or_else(|| self.host_of_program(process)) else {
                continue;
            };
            owners.insert(key, host);
            for thread in numbers(Path::new(&format!("/proc/{process}/task"))) {
                seen.extend(self.see_task(process, thread, Owner::Host(host), Some(&program)));
            }
        }
        self.owners = owners;
        seen.extend(self.kernel.see());
        seen
    }

    pub fn has(&self, host: HostId) -> bool {
        self.hosts.values().any(|&each| each == host)
    }

    pub fn leave_out(&mut self, process: i32) {
        self.left_out.insert(process);
    }

    pub fn counted(&self) -> bool {
        self.counted
    }

    /// None of a process that has not become a program yet: it has its maker's name and arguments.
    fn host_of_program(&self, process: i32) -> Option<HostId> {
        let arguments = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        if arguments == self.own_arguments {
            return None;
        }
        let namespace = fs::metadata(format!("/proc/{process}/ns/net")).ok()?;
        self.hosts.get(&namespace.ino()).copied()
    }

    fn see_own_threads(&self, seen: &mut Vec<Seen>) {
        for thread in numbers(Path::new(&format!("/proc/{}/task", self.own))) {
            let Some(task) = self.see_task(self.own, thread, Owner::Kernel, None) else {
                continue;
            };
            let found = THREADS.iter().find(|(name, _)| *name == task.program);
            seen.extend(found.map(|&(_, host)| Seen {
                owner: Owner::Host(host),
                memory_bytes: None,
                ..task
            }));
        }
    }

    fn see_task(
        &self,
        process: i32,
        thread: i32,
        owner: Owner,
        program: Option<&str>,
    ) -> Option<Seen> {
        see_task(process, thread, owner, self.counted).map(|seen| match program {
            Some(program) => Seen {
                program: program.to_owned(),
                ..seen
            },
            None => seen,
        })
    }
}

/// Whether this kernel counts what a task waits. Without `CONFIG_SCHED_INFO` there is no file; one that leaves the
/// counting off shows zeros.
pub(super) fn are_waits_counted() -> bool {
    let own = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times(&own).is_some_and(|times| times.turns > 0)
}

/// The first thread of a process of a host, which may have ended.
pub(super) fn see_ended(process: Pid, host: HostId, counted: bool) -> Option<Seen> {
    let process = process.as_raw_nonzero().get();
    see_task(process, process, Owner::Host(host), counted)
}

/// A task by its own name.
fn see_task(process: i32, thread: i32, owner: Owner, counted: bool) -> Option<Seen> {
    let folder = format!("/proc/{process}/task/{thread}");
    let (program, state, started_ticks, memory_pages) = stat(&format!("{folder}/stat"))?;
    let times = if counted {
        Some(times(
            &fs::read_to_string(format!("{folder}/schedstat")).ok()?,
        )?)
    } else {
        None
    };
    Some(Seen {
        owner,
        task: Task {
            process,
            thread,
            started_ticks,
        },
        program,
        state,
        times,
        memory_bytes: (thread == process).then(|| memory_pages * page_size() as u64),
    })
}

/// The entries of a folder of /proc that are numbers.
fn numbers(folder: &Path) -> impl Iterator<Item = i32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Name, state, and start of a task, and the pages that its process holds (`proc_pid_stat(5)`).
fn stat(file: &str) -> Option<(String, State, u64, u64)> {
    parse_stat(&fs::read_to_string(file).ok()?)
}

/// The name stands in brackets and may hold any character, brackets too.
fn parse_stat(text: &str) -> Option<(String, State, u64, u64)> {
    let (before, rest) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = match fields.next()? {
        "R" => State::Runnable,
        "T" | "t" => State::Stopped,
        _ => State::Other,
    };
    // The state is field 3, the start 22, the pages 24.
    let started = fields.nth(18)?.parse().ok()?;
    let pages = fields.nth(1)?.parse().ok()?;
    Some((name.to_owned(), state, started, pages))
}

fn times(schedstat: &str) -> Option<SchedStat> {
    let mut fields = schedstat.split_ascii_whitespace().map(str::parse);
    let mut next = || fields.next()?.ok();
    Some(SchedStat {
        ran_ns: next()?,
        waited_ns: next()?,
        turns: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_whole() {
        let fields = "S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1";
        let parsed = parse_stat(&format!("7 (a) T (b) {fields}"));
        assert_eq!(parsed, Some(("a) T (b".to_owned(), State::Other, 4242, 1)));
        let stopped = parse_stat(&format!("7 (a) T{}", &fields[1..])).unwrap();
        assert_eq!(stopped.1, State::Stopped);
        assert_eq!(parse_stat("7 (a"), None);
    }

    #[test]
    fn a_schedstat_without_its_three_numbers_is_none() {
        let expected = SchedStat {
            ran_ns: 5,
            waited_ns: 6,
            turns: 7,
        };
        assert_eq!(times("5 6 7\n"), Some(expected));
        assert_eq!(times("5 6\n"), None);
        assert_eq!(times(""), None);
    }
}
