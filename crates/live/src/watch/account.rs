//! What was seen of the tasks of each host, added up. Time is an argument.
//!
//! The kernel adds a wait to a task's count when the wait ends. So a wait counts at the look that follows it, and one
//! look may find more than has passed since the look before.

use crate::per_host::HostId;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;

/// Whose work a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Host(HostId),
    /// Deferred interrupt work, of all hosts and of the rest of the machine.
    Kernel,
}

/// A look at a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub owner: Owner,
    pub task: Task,
    /// The process's name (`comm`).
    pub program: String,
    pub state: State,
    /// `None` where the kernel does not count them.
    pub times: Option<SchedStat>,
    /// What the process holds in memory, at its first thread. `None` at others, and for threads of the engine itself.
    pub memory_bytes: Option<u64>,
}

/// A task's number comes again; together with its start it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub process: i32,
    pub thread: i32,
    pub started_ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It runs or waits for a processor.
    Runnable,
    /// By a signal or by a debugger.
    Stopped,
    Other,
}

/// `/proc/PID/task/TID/schedstat` (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SchedStat {
    pub ran_ns: u64,
    pub waited_ns: u64,
    /// How often it was given a processor.
    pub turns: u64,
}

/// What the programs of one name did on a host, all their threads together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramWaits {
    pub program: String,
    /// Threads that were seen.
    pub threads: u64,
    /// `None` where the kernel does not count it, as with the next four.
    pub ran_s: Option<f64>,
    /// The sum over its threads.
    pub waited_s: Option<f64>,
    /// Of the time in which the program was there, the share that its thread which waited most, look by look, waited.
    pub wait_share: Option<f64>,
    /// The most that one thread had waited between two looks, and the time of the later look.
    pub wait_max_ms: Option<f64>,
    pub wait_max_at_s: Option<f64>,
    pub stopped_s: f64,
    /// When it was first seen stopped.
    pub stopped_at_s: Option<f64>,
    /// The most that its processes held in memory together, look by look. `None` where it is threads of the engine.
    pub memory_max_mb: Option<f64>,
}

/// What was seen of a task, or of several.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    threads: u64,
    times: Option<SchedStat>,
    longest_wait_ns: u64,
    longest_wait_at_ns: i64,
    stopped_ns: i64,
    stopped_at_ns: Option<i64>,
}

/// A task that is still there.
#[derive(Debug)]
struct Present {
    owner: Owner,
    /// The latest name. A new process has its maker's at first, and any may change it.
    program: String,
    times: Option<SchedStat>,
    sum: Sum,
    /// Since when it has been found runnable without having run.
    kept_since_ns: Option<i64>,
    look: u64,
}

/// A program's time, however many threads and processes it had at once.
#[derive(Debug, Default)]
struct Program {
    /// Of the threads that are gone.
    sum: Sum,
    /// How long there was at least one of it, and until when that was counted.
    there_ns: i64,
    counted_to_ns: Option<i64>,
    /// What the thread waited that waited most between two looks, over all looks.
    waited_ns: u64,
    /// The same since the last look: of the threads that are there, and of those that have ended, one after another.
    waited_there_ns: u64,
    waited_ended_ns: u64,
    /// What its processes hold, as far as they were seen in this look, and the most of all looks.
    memory_bytes: Option<u64>,
    memory_max_bytes: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    present: HashMap<Task, Present>,
    programs: HashMap<Owner, BTreeMap<String, Program>>,
    looks: u64,
    looked_at_ns: Option<i64>,
}

impl Account {
    /// Takes a look at all tasks, `now_ns` on the run's clock.
    pub fn look(&mut self, now_ns: i64, tasks: &[Seen]) {
        self.looks += 1;
        let passed_ns = self.looked_at_ns.map_or(0, |before| now_ns - before);
        let mut stopped = HashSet::new();
        for seen in tasks {
            let waited_ns = self.see(now_ns, seen);
            let program = self.program(now_ns, seen);
            program.waited_there_ns = program.waited_there_ns.max(waited_ns);
            if let Some(bytes) = seen.memory_bytes {
                *program.memory_bytes.get_or_insert_default() += bytes;
            }
            let task = self
                .present
                .get_mut(&seen.task)
                .expect("it was seen just now");
            // A signal stops all threads of a process, a debugger perhaps one: either way the process counts once.
            if seen.state == State::Stopped && stopped.insert(seen.task.process) {
                task.sum.stopped_ns += passed_ns;
                task.sum.stopped_at_ns.get_or_insert(now_ns);
            }
        }
        self.count_waits();
        self.looked_at_ns = Some(now_ns);
        let looks = self.looks;
        self.put_away(|task| task.look < looks);
    }

    /// Takes the last look at a task that has ended.
    pub fn ended(&mut self, now_ns: i64, seen: &Seen) {
        let waited_ns = self.see(now_ns, seen);
        self.program(now_ns, seen).waited_ended_ns += waited_ns;
    }

    /// Drops what was seen of a process.
    pub fn forget(&mut self, process: i32) {
        self.present.retain(|task, _| task.process != process);
    }

    /// Takes the last look at all tasks. What one waits for now counts, though the kernel has not added it yet.
    pub fn finish(&mut self, now_ns: i64, tasks: &[Seen]) {
        self.look(now_ns, tasks);
        for task in self.present.values_mut() {
            if let (Some(since_ns), Some(_)) = (task.kept_since_ns, task.times) {
                let waited_ns = (now_ns - since_ns) as u64;
                task.sum.wait(waited_ns, now_ns);
                let of_owner = self.programs.entry(task.owner).or_default();
                let program = of_owner.entry(task.program.clone()).or_default();
                program.waited_there_ns = program.waited_there_ns.max(waited_ns);
            }
        }
        self.count_waits();
        self.put_away(|_| true);
    }

    /// By program, once it is finished.
    pub fn of(&self, owner: Owner) -> Vec<ProgramWaits> {
        let programs = self.programs.get(&owner).into_iter().flatten();
        programs
            .filter(|(_, program)| program.sum.threads > 0)
            .map(|(name, program)| program.waits(name))
            .collect()
    }

    /// Adds what the thread of each program waited that waited most since this was done last.
    fn count_waits(&mut self) {
        for program in self.programs.values_mut().flat_map(BTreeMap::values_mut) {
            program.waited_ns += program.waited_there_ns.max(program.waited_ended_ns);
            (program.waited_there_ns, program.waited_ended_ns) = (0, 0);
            program.memory_max_bytes = program.memory_max_bytes.max(program.memory_bytes.take());
        }
    }

    /// The program of a task that is there now.
    fn program(&mut self, now_ns: i64, seen: &Seen) -> &mut Program {
        let looked_at_ns = self.looked_at_ns.unwrap_or(now_ns);
        let of_owner = self.programs.entry(seen.owner).or_default();
        let program = of_owner.entry(seen.program.clone()).or_default();
        let counted_to_ns = program.counted_to_ns.unwrap_or(looked_at_ns);
        program.there_ns += now_ns - counted_to_ns.max(looked_at_ns);
        program.counted_to_ns = Some(now_ns);
        program
    }

    /// What the task has waited since it was last seen.
    fn see(&mut self, now_ns: i64, seen: &Seen) -> u64 {
        let task = self.present.entry(seen.task).or_insert_with(|| Present {
            owner: seen.owner,
            program: String::new(),
            // A task of the run began in it; the kernel's own threads are older.
            times: match seen.owner {
                Owner::Host(_) => seen.times.map(|_| SchedStat::default()),
                Owner::Kernel => seen.times,
            },
            sum: Sum::of_a_thread(),
            kept_since_ns: None,
            look: 0,
        });
        if task.program != seen.program {
            // What it did by its former name stays there.
            let sum = mem::replace(&mut task.sum, Sum::of_a_thread());
            let former = mem::replace(&mut task.program, seen.program.clone());
            if !former.is_empty() {
                let of_owner = self.programs.entry(task.owner).or_default();
                of_owner.entry(former).or_default().sum.add(sum);
            }
        }
        let has_not_run = seen.state == State::Runnable && task.times == seen.times;
        task.kept_since_ns = if has_not_run {
            task.kept_since_ns.or(self.looked_at_ns)
        } else {
            None
        };
        let mut waited_ns = 0;
        if let (Some(before), Some(now)) = (task.times, seen.times) {
            let so_far = task.sum.times.get_or_insert_default();
            so_far.ran_ns += now.ran_ns.saturating_sub(before.ran_ns);
            so_far.turns += now.turns.saturating_sub(before.turns);
            waited_ns = now.waited_ns.saturating_sub(before.waited_ns);
            task.sum.wait(waited_ns, now_ns);
        }
        task.times = seen.times;
        task.look = self.looks;
        waited_ns
    }

    fn put_away(&mut self, which: impl Fn(&Present) -> bool) {
        for (_, task) in self.present.extract_if(|_, task| which(task)) {
            let of_owner = self.programs.entry(task.owner).or_default();
            of_owner.entry(task.program).or_default().sum.add(task.sum);
        }
    }
}

impl Sum {
    fn of_a_thread() -> Self {
        Self {
            threads: 1,
            ..Self::default()
        }
    }

    fn wait(&mut self, waited_ns: u64, now_ns: i64) {
        self.times.get_or_insert_default().waited_ns += waited_ns;
        if waited_ns > self.longest_wait_ns {
            (self.longest_wait_ns, self.longest_wait_at_ns) = (waited_ns, now_ns);
        }
    }

    fn add(&mut self, other: Self) {
        self.threads += other.threads;
        if let Some(times) = other.times {
            let so_far = self.times.get_or_insert_default();
            so_far.ran_ns += times.ran_ns;
            so_far.waited_ns += times.waited_ns;
            so_far.turns += times.turns;
        }
        if other.longest_wait_ns > self.longest_wait_ns {
            self.longest_wait_ns = other.longest_wait_ns;
            self.longest_wait_at_ns = other.longest_wait_at_ns;
        }
        self.stopped_ns += other.stopped_ns;
        let stops = [self.stopped_at_ns, other.stopped_at_ns];
        self.stopped_at_ns = stops.into_iter().flatten().min();
    }
}

impl Program {
    fn waits(&self, program: &str) -> ProgramWaits {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let sum = &self.sum;
        let counted = sum.times.is_some();
        let share = self.waited_ns as f64 / self.there_ns.max(1) as f64;
        ProgramWaits {
            program: program.to_owned(),
            threads: sum.threads,
            ran_s: sum.times.map(|times| seconds(times.ran_ns)),
            waited_s: sum.times.map(|times| seconds(times.waited_ns)),
            wait_share: counted.then_some(share.min(1.0)),
            wait_max_ms: counted.then_some(sum.longest_wait_ns as f64 / 1e6),
            wait_max_at_s: counted.then_some(sum.longest_wait_at_ns as f64 / 1e9),
            stopped_s: sum.stopped_ns as f64 / 1e9,
            stopped_at_s: sum.stopped_at_ns.map(|ns| ns as f64 / 1e9),
            memory_max_mb: self.memory_max_bytes.map(|bytes| bytes as f64 / 1e6),
        }
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
