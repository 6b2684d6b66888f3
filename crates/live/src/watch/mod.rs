//! Whether the hosts had what a host has: what their programs waited for a processor, and whether one was stopped.
//!
//! A thread of its own looks at every task of every host ten times a second. A program that the run started is looked
//! at once more when it has ended, before its number is given back. What escapes: threads, and programs started by
//! programs, that begin and end between two looks, and what others waited since the last look at them.

mod account;
mod tasks;

use crate::clock::monotonic_ns;
use crate::per_host::{HostId, PerHost};
use account::{Account, Owner, Seen};
use hdrhistogram::Histogram;
use rustix::process::Pid;
use serde::Serialize;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

pub use account::ProgramWaits;
pub(crate) use tasks::KernelThreads;
use tasks::Tasks;

const LOOK_EVERY_NS: i64 = 100_000_000;
/// A look that is later than this counts as so late.
const LATEST_NS: u64 = 3_600_000_000_000;

/// What is said of a run's hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostsReport {
    pub hosts: PerHost<HostWaits>,
    /// The kernel's threads for deferred interrupt work, which timers and packets of all hosts may wait for. Empty where
    /// they cannot be seen.
    pub kernel_threads: Vec<ProgramWaits>,
    /// How much later than [`LOOK_EVERY_NS`] after the one before a look was taken.
    pub sampler_late_ms_p99: f64,
    pub sampler_late_ms_max: f64,
    pub sampler_looks: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostWaits {
    /// The largest of its programs' figures; the waits are `None` where the kernel does not count them.
    pub wait_share: Option<f64>,
    pub wait_max_ms: Option<f64>,
    pub stopped_s: f64,
    pub programs: Vec<ProgramWaits>,
}

#[derive(Debug)]
pub(crate) struct Watch {
    zero_ns: i64,
    counted: bool,
    /// Dropped to end the thread.
    notices: Sender<WatchEvent>,
    thread: JoinHandle<Watcher>,
}

/// What the watching thread is told.
#[derive(Debug)]
enum WatchEvent {
    /// The last look at a program, and its time.
    Ended(i64, Seen),
    /// A process that does not belong to the work.
    LeaveOut(Pid),
}

impl WatchEvent {
    fn process(&self) -> i32 {
        match self {
            Self::Ended(_, seen) => seen.task.process,
            Self::LeaveOut(program) => program.as_raw_nonzero().get(),
        }
    }
}

#[derive(Debug)]
struct Watcher {
    tasks: Tasks,
    account: Account,
    late: Histogram<u64>,
    zero_ns: i64,
}

impl Watch {
    /// `namespaces`: the numbers of the hosts' network namespaces.
    pub(crate) fn start(
        namespaces: PerHost<u64>,
        kernel: KernelThreads,
        zero_monotonic_ns: i64,
    ) -> io::Result<Self> {
        let counted = tasks::are_waits_counted();
        let watcher = Watcher {
            tasks: Tasks::new(namespaces, kernel, counted),
            account: Account::default(),
            late: Histogram::new_with_bounds(1, LATEST_NS, 2).expect("the bounds fit"),
            zero_ns: zero_monotonic_ns,
        };
        let (notices, noticed) = channel();
        let thread = Builder::new()
            .name("host watch".into())
            .spawn(move || watcher.watch(&noticed))?;
        Ok(Self {
            zero_ns: zero_monotonic_ns,
            counted,
            notices,
            thread,
        })
    }

    /// Takes the last look at a program that has ended and has not been waited for.
    pub(crate) fn ended(&self, program: Pid, host: HostId) {
        if let Some(seen) = tasks::see_ended(program, host, self.counted) {
            // The thread ends after this.
            let now_ns = monotonic_ns() - self.zero_ns;
            let _ = self.notices.send(WatchEvent::Ended(now_ns, seen));
        }
    }

    /// Forgets a program that was just started.
    pub(crate) fn leave_out(&self, program: Pid) {
        let _ = self.notices.send(WatchEvent::LeaveOut(program));
    }

    /// Takes the last look at all and says what was seen. The programs must still be there.
    pub(crate) fn stop(self) -> io::Result<HostsReport> {
        drop(self.notices);
        let watcher = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the watch over the hosts ended in a panic"))?;
        Ok(watcher.report())
    }
}

impl HostWaits {
    fn of(programs: Vec<ProgramWaits>, counted: bool) -> Self {
        let largest = |of: fn(&ProgramWaits) -> Option<f64>| {
            let none = counted.then_some(0.0);
            programs.iter().filter_map(of).fold(none, |largest, each| {
                Some(largest.map_or(each, |largest| largest.max(each)))
            })
        };
        Self {
            wait_share: largest(|program| program.wait_share),
            wait_max_ms: largest(|program| program.wait_max_ms),
            stopped_s: programs
                .iter()
                .map(|program| program.stopped_s)
                .fold(0.0, f64::max),
            programs,
        }
    }
}

impl Watcher {
    fn watch(mut self, noticed: &Receiver<WatchEvent>) -> Self {
        let mut due_ns = monotonic_ns();
        let mut before_ns = due_ns - LOOK_EVERY_NS;
        loop {
            let now_ns = monotonic_ns();
            let late_ns = (now_ns - before_ns - LOOK_EVERY_NS).max(0);
            self.late.saturating_record(late_ns as u64);
            before_ns = now_ns;
            let mut seen = self.tasks.see();
            // Of a task that is not seen because it has ended, the last look is here by now: it counts first, else the task
            // would be put away and come again.
            while let Ok(event) = noticed.try_recv() {
                let process = event.process();
                seen.retain(|each| each.task.process != process);
                self.take(event);
            }
            self.account.look(monotonic_ns() - self.zero_ns, &seen);
            // One that is late moves none after it.
            due_ns += LOOK_EVERY_NS * ((monotonic_ns() - due_ns) / LOOK_EVERY_NS + 1);
            loop {
                let wait_ns = (due_ns - monotonic_ns()).max(0) as u64;
                match noticed.recv_timeout(Duration::from_nanos(wait_ns)) {
                    Ok(event) => self.take(event),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return self,
                }
            }
        }
    }

    fn take(&mut self, event: WatchEvent) {
        let process = event.process();
        match event {
            WatchEvent::Ended(at_ns, seen) => self.account.ended(at_ns, &seen),
            WatchEvent::LeaveOut(_) => {
                self.tasks.leave_out(process);
                self.account.forget(process);
            }
        }
    }

    fn report(mut self) -> HostsReport {
        let seen = self.tasks.see();
        self.account.finish(monotonic_ns() - self.zero_ns, &seen);
        let counted = self.tasks.counted();
        let of = |host| HostWaits::of(self.account.of(Owner::Host(host)), counted);
        HostsReport {
            hosts: PerHost {
                client: of(HostId::Client),
                near: self.tasks.has(HostId::Near).then(|| of(HostId::Near)),
                far: self.tasks.has(HostId::Far).then(|| of(HostId::Far)),
                server: of(HostId::Server),
            },
            kernel_threads: self.account.of(Owner::Kernel),
            sampler_late_ms_p99: self.late.value_at_quantile(0.99) as f64 / 1e6,
            sampler_late_ms_max: self.late.max() as f64 / 1e6,
            sampler_looks: self.late.len(),
        }
    }
}
