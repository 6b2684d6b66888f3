//! Signal masks, and SIGCHLD as something to poll. rustix has neither outside its experimental runtime.

use rustix::io::{Errno, Result};
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{FromRawFd, OwnedFd};

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: a sigset_t of zeros is a valid value, sigemptyset and sigaddset only write to it.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Adds to the calling thread's mask, which threads and processes made later inherit.
pub(crate) fn block(signals: &[libc::c_int]) {
    let set = set_of(signals);
    // SAFETY: `set` is initialised, and the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Empties the mask and gives the signals that an interpreter ignores their default again. Async-signal-safe.
pub(crate) fn restore_defaults() {
    let none = set_of(&[]);
    // SAFETY: both calls are async-signal-safe (signal-safety(7)) and `none` is initialised.
    unsafe {
        for signal in [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGINT] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Readable when a child has ended. SIGCHLD must be blocked.
#[derive(Debug)]
pub(crate) struct ChildEnded(pub(crate) OwnedFd);

impl ChildEnded {
    pub(crate) fn watch() -> Result<Self> {
        let set = set_of(&[libc::SIGCHLD]);
        // SAFETY: `set` is initialised; a fresh descriptor is owned by nobody else.
        unsafe {
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(last_errno()),
                fd => Ok(Self(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// Takes the pending signal, so that the descriptor is readable again only for later ones.
    pub(crate) fn clear(&self) {
        let mut taken = [MaybeUninit::<u8>::uninit(); size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut taken).is_ok_and(|(read, _)| !read.is_empty()) {}
    }
}

pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
