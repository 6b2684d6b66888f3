//! Socket options that rustix lacks.
#![expect(
    unsafe_code,
    reason = "getsockopt and setsockopt of options that rustix lacks"
)]

use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, AsRawFd};

/// `include/uapi/linux/sock_diag.h`: the numbers of `SO_MEMINFO`, and the place of the drops among them.
const NUMBERS: usize = 9;
const DROPS: usize = 8;

/// Packets that came and were dropped by the kernel, since the socket was made (`SO_MEMINFO`).
pub(crate) fn drops(socket: impl AsFd) -> Result<u64> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: getsockopt writes at most `length` bytes to the array, and the bytes written to `length`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status == 0 {
        Ok(numbers[DROPS].into())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// The most bytes that wait in a TCP socket before TCP may send them (`TCP_NOTSENT_LOWAT`): it takes no more.
pub(crate) fn set_most_unsent(socket: impl AsFd, bytes: u32) -> Result<()> {
    set_tcp(socket, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// The most bytes of a segment, both ways if it is set before the connection begins (`TCP_MAXSEG`).
pub(crate) fn set_longest_segment(socket: impl AsFd, bytes: u32) -> Result<()> {
    set_tcp(socket, libc::TCP_MAXSEG, bytes)
}

fn set_tcp(socket: impl AsFd, option: i32, value: u32) -> Result<()> {
    // SAFETY: setsockopt reads the four bytes of `value`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}
