//! Sockets and clocks of the channels' threads, by the calls that they make.

use super::setup::PORT;
use bentpipe_wire::tcp_info::TcpInfo;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

fn stream_socket(address: IpAddr) -> rustix::io::Result<OwnedFd> {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, None)
}

/// A socket that listens there, with as long a queue as the kernel allows.
pub(super) fn listener(address: IpAddr) -> rustix::io::Result<OwnedFd> {
    let socket = stream_socket(address)?;
    // Connections of a workload before may linger in TIME-WAIT.
    set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &SocketAddr::new(address, PORT))?;
    listen(&socket, i32::MAX)?;
    Ok(socket)
}

/// Begins a connection to a server; its end, and the port that it comes from.
pub(super) fn begin(server: IpAddr) -> rustix::io::Result<(OwnedFd, u16)> {
    let socket = stream_socket(server)?;
    match connect(&socket, &SocketAddr::new(server, PORT)) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let ours = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, ours.port()))
}

/// Segments that a connection's end has sent again.
pub(crate) fn retransmits(socket: &OwnedFd) -> Option<u32> {
    with_info(socket, |info| TcpInfo(info).total_retrans())
}

/// Nothing of a connection is left to be sent or acknowledged, or it has failed (`TCP_CLOSE`; also while it is in TIME-WAIT).
pub(crate) fn is_closed(socket: &OwnedFd) -> bool {
    const TCP_CLOSE: u8 = 7;
    with_info(socket, |info| info.first().copied()) == Some(TCP_CLOSE)
}

/// What is found in the kernel's `TCP_INFO` of a connection.
fn with_info<T>(socket: &OwnedFd, find: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    // As long as the fields that are read.
    let mut answer = [0_u8; 104];
    let mut length = answer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `answer`, and the length that it wrote to `length`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            answer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let answer = answer.get(..length as usize)?;
    (status == 0).then(|| find(answer))?
}

/// Something to poll that says, once rung, that it is over.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    pub fn ring(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Something to poll that is readable from an instant on.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    set_to: Option<i64>,
}

impl Alarm {
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to: None,
        })
    }

    /// Sets it to an instant of `CLOCK_MONOTONIC`; `None` is never. What it had rung for is forgotten.
    pub fn set(&mut self, at_ns: Option<i64>) -> io::Result<()> {
        if at_ns == self.set_to {
            return Ok(());
        }
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // A time of zero would mean never.
        let it_value = at_ns.map(|at| at.max(1)).map_or(zero, |at| Timespec {
            tv_sec: at / 1_000_000_000,
            tv_nsec: at % 1_000_000_000,
        });
        let once = Itimerspec {
            it_interval: zero,
            it_value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.set_to = at_ns;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
