//! The namespaces that a run lives in, and dies with.
//!
//! Not root: a user namespace first, in which the user is root (`user_namespaces(7)`). Then a process and a mount
//! namespace; then, per host, a network namespace. None has a name or a bind mount outside, so that the last
//! process's end is theirs.

use crate::refusal::{self, Machine, Refused, Step};
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::{Errno, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Leaves the calling process where its next child is the first of a new process namespace. True where it was
/// privileged already, so that no user namespace was needed.
pub(crate) fn enter(machine: &Machine) -> std::result::Result<bool, Refused> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let root = capabilities(None).is_ok_and(|own| own.effective.contains(needed));
    let refuse = |step| move |error| refusal::namespaces(step, error, root, machine);
    if !root {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        unshare(UnshareFlags::NEWUSER).map_err(refuse(Step::UserNamespace))?;
        // In this order: an unprivileged process may map its group only once setgroups is denied.
        for (file, text) in [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("0 {user} 1")),
            ("gid_map", format!("0 {group} 1")),
        ] {
            std::fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
                .map_err(refuse(Step::IdMap))?;
        }
    }
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWPID).map_err(refuse(Step::Namespaces))?;
    Ok(root)
}

/// In the first process of the new process namespace: mounts that nobody outside sees, and a /proc of its own.
pub(crate) fn settle_mounts(root: bool, machine: &Machine) -> std::result::Result<(), Refused> {
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )
    .map_err(|error| refusal::namespaces(Step::Mounts, error, root, machine))?;
    mount(
        "proc",
        "/proc",
        "proc",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )
    .map_err(|error| refusal::namespaces(Step::Proc, error, root, machine))
}

/// A network namespace. Making one moves the calling thread into it.
#[derive(Debug)]
pub(crate) struct NetNamespace(OwnedFd);

impl NetNamespace {
    pub(crate) fn make() -> Result<Self> {
        unshare(UnshareFlags::NEWNET)?;
        open(
            "/proc/thread-self/ns/net",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map(Self)
    }

    /// Another descriptor of it.
    pub(crate) fn share(&self) -> std::io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// What tells it from others.
    pub(crate) fn number(&self) -> Result<u64> {
        Ok(fstat(&self.0)?.st_ino)
    }

    /// Moves the calling thread, and with it what it makes from now on: sockets, devices, processes.
    pub(crate) fn join(&self) -> Result<()> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))
    }
}

fn unshare(flags: UnshareFlags) -> Result<()> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: only unsharing the table of file descriptors can break what other threads rely on.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}
