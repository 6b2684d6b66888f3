//! System calls that a command of a lab is refused, by a seccomp filter (`seccomp(2)`).
//!
//! They lead to what no namespace divides: key rings (`keyrings(7)`), sockets of families that are the whole machine's, such
//! as those to the host of a virtual machine (`vsock(7)`), and rights on files that outlive the command. `io_uring` is refused
//! because its requests pass by a filter.

use rustix::io::{Errno, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use std::collections::BTreeMap;
use std::io;

/// The address families of which each network namespace has its own.
const FAMILIES: [libc::c_int; 5] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
    libc::AF_PACKET,
];
/// Refused whatever their arguments are.
const ALWAYS: [libc::c_long; 4] = [
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
];
/// Calls that set a file's mode, with the place of that argument.
const MODES: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
];
/// The same on every architecture (Linux 6.6).
const SYS_FCHMODAT2: libc::c_long = 452;
/// Added to a call's number by programs of the x32 ABI, which have the architecture of all others.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;

#[derive(Debug)]
pub(crate) struct RefusedCalls(BpfProgram);

impl RefusedCalls {
    pub(crate) fn new() -> io::Result<Self> {
        Self::compiled().map_err(io::Error::other)
    }

    /// For the calling thread and whatever it executes. Allocates nothing unless it fails.
    pub(crate) fn refuse(&self) -> Result<()> {
        apply_filter(&self.0).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
            }
            _ => Errno::INVAL,
        })
    }

    fn compiled() -> std::result::Result<Self, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            ALWAYS.iter().map(|&call| (call, Vec::new())).collect();
        rules.insert(libc::SYS_socket, vec![another_family()?]);
        for &(call, argument) in MODES {
            rules.insert(
                call,
                vec![
                    sets(libc::S_ISUID, argument)?,
                    sets(libc::S_ISGID, argument)?,
                ],
            );
        }
        #[cfg(target_arch = "x86_64")]
        for (call, of_call) in rules.clone() {
            rules.insert(call | X32, of_call);
        }
        SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EPERM as u32),
            std::env::consts::ARCH.try_into()?,
        )?
        .try_into()
        .map(Self)
    }
}

fn another_family() -> std::result::Result<SeccompRule, seccompiler::BackendError> {
    let is_not = |&family: &libc::c_int| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64)
    };
    SeccompRule::new(
        FAMILIES
            .iter()
            .map(is_not)
            .collect::<std::result::Result<_, _>>()?,
    )
}

fn sets(
    bit: libc::mode_t,
    argument: u8,
) -> std::result::Result<SeccompRule, seccompiler::BackendError> {
    let bit = u64::from(bit);
    let set = SeccompCmpOp::MaskedEq(bit);
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        set,
        bit,
    )?])
}
