//! Processes that keep the processors awake while a run lasts.
//!
//! A processor with nothing to do sleeps. To wake it takes a microsecond or a fifth of a millisecond, the most in a virtual
//! machine. So long a pipe's thread is late, and so long a program that waits for packets: a burst of a fast path has then arrived
//! whole before its first byte is read. docs/accuracy.md ("A receive window that does not grow") tells what that costs.
//!
//! One process for each processor spins there. It runs only when no other task wants the processor (`SCHED_IDLE`, sched(7)).
//! It has a session of its own, because the kernel shares a processor between sessions before it looks at the policies of their
//! tasks, and that session has the smallest share (autogroup, sched(7)).

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::ffi::CStr;
use std::time::Duration;

/// A machine that has more is not held awake whole.
const MOST_PROCESSORS: usize = 16;
const AUTOGROUP: &CStr = c"/proc/self/autogroup";
/// The smallest share.
const NICE: &[u8] = b"19";
/// The kernel lets processes without privileges change a session's share ten times a second, all of them together.
const AGAIN_AFTER: Duration = Duration::from_millis(120);
const ATTEMPTS: usize = 50;

/// Begins to keep the processors awake that the caller may use, until the processes are killed. They end with the first process of
/// the process namespace too.
pub(crate) fn keep_awake() -> Vec<Pid> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&processor| allowed.is_set(processor))
        .take(MOST_PROCESSORS)
        .filter_map(spin_on)
        .collect()
}

fn spin_on(processor: usize) -> Option<Pid> {
    // SAFETY: the child makes system calls alone, each async-signal-safe, and allocates nothing.
    match unsafe { libc::fork() } {
        0 => {
            if give_way(processor).is_ok() {
                loop {
                    std::hint::spin_loop();
                }
            }
            // SAFETY: ends the child without running what the interpreter has registered for its own end.
            unsafe { libc::_exit(1) }
        }
        child => Pid::from_raw(child).filter(|_| child > 0),
    }
}

/// Lets everything else go before the calling process, which keeps no descriptor.
fn give_way(processor: usize) -> Result<(), Errno> {
    rustix::process::setsid()?;
    take_smallest_share()?;
    let mut only = CpuSet::new();
    only.set(processor);
    rustix::thread::sched_setaffinity(None, &only)?;
    // SAFETY: both take plain values, and a parameter that lives as long as the call.
    let failed = unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) != 0
            || libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0
    };
    if failed { Err(Errno::PERM) } else { Ok(()) }
}

/// Of the calling process's session. A kernel that does not know shares of sessions needs none.
fn take_smallest_share() -> Result<(), Errno> {
    use rustix::fs::{Mode, OFlags, open};
    let file = match open(AUTOGROUP, OFlags::WRONLY, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    for _ in 0..ATTEMPTS {
        match rustix::io::write(&file, NICE) {
            Ok(_) => return Ok(()),
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(AGAIN_AFTER),
            Err(error) => return Err(error),
        }
    }
    Err(Errno::AGAIN)
}
