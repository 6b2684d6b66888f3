//! The host process of a run: reads the first request, enters the namespaces, and forks the process that serves
//! the rest as the first of its process namespace.
//!
//! Whatever ends either process ends everything: the kernel kills a process namespace with its first process, and
//! that one dies with this one (`PR_SET_PDEATHSIG`, and a pidfd for the moment before that was set), with its own
//! end of the control descriptor, or by a request.

use crate::control::{ControlStream, Incoming};
use crate::namespaces;
use crate::protocol::{Event, Request};
use crate::refusal::Machine;
use crate::serve::serve;
use crate::signals::{block, last_errno};
use crate::sysctl;
use crate::watch::KernelThreads;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, pidfd_open,
    set_parent_process_death_signal, waitpid,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A run that was served to its end.
const DONE: i32 = 0;
/// Refused, or not asked properly.
const REFUSED: i32 = 1;

/// Serves one run on `control`, an end of a stream socket that the caller hands over. Returns the exit status.
///
/// The calling process must have one thread, and be of no other use: it is left in other namespaces.
pub fn run(control: RawFd) -> io::Result<i32> {
    // SAFETY: the caller hands the descriptor over; one that is not open is found by the first call on it.
    let mut control = ControlStream::new(unsafe { OwnedFd::from_raw_fd(control) })?;
    // The terminal's Ctrl-C is for whoever drives the run; SIGTTOU would stop who hands the terminal over.
    block(&[libc::SIGINT, libc::SIGQUIT, libc::SIGTTOU, libc::SIGCHLD]);
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let setup = match control.wait() {
        Incoming::Request(Request::Setup(setup)) => setup,
        Incoming::Closed => return Ok(DONE),
        other => {
            let message = format!("the first request must be a setup, and this came: {other:?}");
            control.say(&Event::Trouble { message });
            return Ok(REFUSED);
        }
    };
    let machine = Machine::read();
    let global = sysctl::in_force();
    let kernel = KernelThreads::open();
    let root = match namespaces::enter(&machine) {
        Ok(root) => root,
        Err(refused) => {
            control.say(&Event::Refused(refused));
            return Ok(REFUSED);
        }
    };
    // Entering a user namespace may have cleared it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = pidfd_open(getpid(), PidfdFlags::empty())?;
    let foreground = tcgetpgrp(rustix::stdio::stdin()).ok();
    // SAFETY: the process has one thread (entering the namespaces would have failed), so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno().into()),
        0 => {
            let served = catch_unwind(AssertUnwindSafe(|| {
                serve(
                    &mut control,
                    *setup,
                    &parent,
                    root,
                    &machine,
                    &global,
                    kernel,
                )
            }));
            let status = served.unwrap_or_else(|panic| {
                let message = format!("the host process failed: {}", words(&*panic));
                control.say(&Event::Trouble { message });
                REFUSED
            });
            // SAFETY: ends the child without running what the parent's interpreter has registered for its own end.
            unsafe { libc::_exit(status) }
        }
        child => {
            drop(control);
            let status = wait_for(Pid::from_raw(child).expect("fork gives a process number"));
            if foreground == Some(getpgrp()) {
                // A program of the run may have had the terminal.
                let _ = tcsetpgrp(rustix::stdio::stdin(), getpgrp());
            }
            status
        }
    }
}

fn wait_for(child: Pid) -> io::Result<i32> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) | Ok(None) => {}
            Err(error) => return Err(error.into()),
            Ok(Some((_, status))) => {
                return Ok(status
                    .exit_status()
                    .unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0)));
            }
        }
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}
