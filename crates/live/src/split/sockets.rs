//! Sockets with other hosts' addresses (`IP_TRANSPARENT`, ip(7)).

use crate::family::Family;
use rustix::io::{Errno, Result};
use rustix::net::sockopt::{
    set_ipv6_v6only, set_socket_linger, set_socket_reuseaddr, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, connect, getsockname, listen,
    socket_with,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// A socket of the calling thread's network namespace.
fn transparent(family: Family, kind: SocketType) -> Result<OwnedFd> {
    let (domain, level, name) = match family {
        Family::V4 => (AddressFamily::INET, libc::SOL_IP, libc::IP_TRANSPARENT),
        Family::V6 => (AddressFamily::INET6, libc::SOL_IPV6, libc::IPV6_TRANSPARENT),
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(domain, kind, flags, None)?;
    if family == Family::V6 {
        set_ipv6_v6only(&socket, true)?;
    }
    // Several connections have the same host's port as their own.
    set_socket_reuseaddr(&socket, true)?;
    let on: libc::c_int = 1;
    // SAFETY: setsockopt reads an int for the length of the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(socket)
    } else {
        Err(crate::signals::last_errno())
    }
}

/// Listens at a free port of any address, with as long a queue as the kernel allows.
pub(super) fn listener(family: Family) -> Result<(OwnedFd, u16)> {
    let socket = transparent(family, SocketType::STREAM)?;
    let any: IpAddr = match family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    bind(&socket, &SocketAddr::new(any, 0))?;
    listen(&socket, i32::MAX)?;
    let port = SocketAddr::try_from(getsockname(&socket)?)?.port();
    Ok((socket, port))
}

/// A connection that a listener has accepted: its socket, who opened it, and to whom.
#[derive(Debug)]
pub(super) struct Accepted {
    pub socket: OwnedFd,
    pub from: SocketAddr,
    pub to: SocketAddr,
}

pub(super) fn accept(listener: &OwnedFd) -> Result<Accepted> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, from) = acceptfrom_with(listener, flags)?;
    let from = SocketAddr::try_from(from.ok_or(Errno::NOTCONN)?)?;
    let to = SocketAddr::try_from(getsockname(&socket)?)?;
    set_tcp_nodelay(&socket, true)?;
    Ok(Accepted { socket, from, to })
}

fn family_of(address: SocketAddr) -> Family {
    if address.is_ipv4() {
        Family::V4
    } else {
        Family::V6
    }
}

/// A UDP socket that sends as this address and port, in the calling thread's network namespace.
pub(crate) fn send_as(from: SocketAddr) -> Result<OwnedFd> {
    let socket = transparent(family_of(from), SocketType::DGRAM)?;
    bind(&socket, &from)?;
    Ok(socket)
}

/// Begins a connection as if its opener had, in the calling thread's network namespace.
pub(crate) fn connect_as(from: SocketAddr, to: SocketAddr) -> Result<OwnedFd> {
    let socket = transparent(family_of(from), SocketType::STREAM)?;
    set_tcp_nodelay(&socket, true)?;
    bind(&socket, &from)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Closes with a RST.
pub(super) fn reset(socket: OwnedFd) {
    // Without it the connection closes in the usual way, which is all that can be done then.
    let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    drop(socket);
}
