//! How the kernel's scheduler is to treat a pipe's thread: let it run as soon as it is awake, since what it is late
//! by is the engine's error, and it sleeps whenever there is nothing to do. Threads that stand for many hosts' programs
//! are late by less than other programs too, and never at a pipe's cost.
//!
//! Measured on two busy cores at 16 Mbit/s (three loops beside iperf3): lateness p99 of 4 ms with a short slice, 4 to
//! 11 ms with nice -20 and a short slice, 0.12 ms with real-time priority. docs/accuracy.md tells more.

use std::mem::size_of;

/// For EEVDF (6.12 and later): the shorter a thread's slice, the sooner it is chosen after waking. The shortest that
/// the kernel takes.
const SLICE_NS: u64 = 100_000;

/// Whose thread it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    Pipe,
    Channels,
}

/// What was obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// `SCHED_FIFO`, the lowest priorities of it: before every ordinary thread, after every other real-time one. A
    /// pipe's thread goes before one of the channels'. For root only.
    RealTime,
    /// An ordinary thread that asks for short slices.
    ShortSlice,
    #[default]
    Ordinary,
}

/// `struct sched_attr` (`include/uapi/linux/sched/types.h`), version 1.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// The best that the calling thread may have.
pub(crate) fn raise(urgency: Urgency) -> Priority {
    let real_time = SchedAttr {
        policy: libc::SCHED_FIFO as u32,
        priority: match urgency {
            Urgency::Channels => 1,
            Urgency::Pipe => 2,
        },
        ..SchedAttr::default()
    };
    let short_slice = SchedAttr {
        runtime: SLICE_NS,
        ..SchedAttr::default()
    };
    if set(real_time) {
        Priority::RealTime
    } else if set(short_slice) {
        Priority::ShortSlice
    } else {
        Priority::Ordinary
    }
}

fn set(mut attr: SchedAttr) -> bool {
    attr.size = size_of::<SchedAttr>() as u32;
    // SAFETY: sched_setattr reads a sched_attr of the size that it is told, for the calling thread (0), and keeps
    // no reference to it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_the_best_that_it_may_have() {
        for urgency in [Urgency::Pipe, Urgency::Channels] {
            let thread = std::thread::spawn(move || raise(urgency));
            let got = thread.join().expect("it does not panic");
            assert_ne!(got, Priority::Ordinary, "a short slice needs no privilege");
        }
    }
}
