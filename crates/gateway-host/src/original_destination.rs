//! UDP sockets that take datagrams to any address, and say which it was: `IP_TRANSPARENT` and `IP_RECVORIGDSTADDR` of ip(7), and IPv6's.
#![expect(
    unsafe_code,
    reason = "recvmsg with control messages and setsockopt of options that rustix lacks"
)]

use rustix::io::{Errno, Result};
use rustix::net::sockopt::{
    set_ipv6_v6only, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// All hosts' datagrams come to one socket. The kernel counts twice this.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// A control message's data, behind its header, begins at a multiple of this (cmsg(3)).
const ALIGN: usize = size_of::<usize>();
const CMSG_HEADER_BYTES: usize = size_of::<libc::cmsghdr>().next_multiple_of(ALIGN);

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub bytes: usize,
    pub source: SocketAddr,
    pub destination: SocketAddr,
}

/// A UDP socket at this address, which TPROXY may hand datagrams to any address. It needs `CAP_NET_ADMIN` or `CAP_NET_RAW`, and does not block.
pub fn transparent_udp(at: SocketAddr) -> io::Result<OwnedFd> {
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    if at.is_ipv6() {
        set_ipv6_v6only(&socket, true)?;
    }
    set_transparent(&socket, at.is_ipv4())?;
    let says_destination = if at.is_ipv4() {
        (libc::SOL_IP, libc::IP_RECVORIGDSTADDR)
    } else {
        (libc::SOL_IPV6, libc::IPV6_RECVORIGDSTADDR)
    };
    set(&socket, says_destination)?;
    if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
    }
    bind(&socket, &at)?;
    Ok(socket)
}

/// Lets a socket have another machine's address.
pub(crate) fn set_transparent(socket: impl AsFd, is_v4: bool) -> Result<()> {
    let option = if is_v4 {
        (libc::SOL_IP, libc::IP_TRANSPARENT)
    } else {
        (libc::SOL_IPV6, libc::IPV6_TRANSPARENT)
    };
    set(socket, option)
}

fn set(socket: impl AsFd, (level, option): (i32, i32)) -> Result<()> {
    let one: libc::c_int = 1;
    // SAFETY: setsockopt reads the four bytes of `one`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const one).cast(),
            size_of_val(&one) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Reads one datagram into `buffer`. `EINVAL`: the kernel did not say where it was sent to.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<Came> {
    let mut name = [0_u8; size_of::<libc::sockaddr_in6>()];
    let mut control = [0_u8; 256];
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: a msghdr of zeros is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = name.as_mut_ptr().cast();
    message.msg_namelen = name.len() as libc::socklen_t;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: all pointers and lengths of `message` are those of buffers that outlive the call.
    let length = unsafe {
        libc::recvmsg(
            socket.as_fd().as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT,
        )
    };
    let bytes = usize::try_from(length).map_err(|_| last_error())?;
    let given = control.get(..message.msg_controllen as usize);
    Ok(Came {
        bytes,
        source: address(&name[..name.len().min(message.msg_namelen as usize)])
            .ok_or(Errno::INVAL)?,
        destination: given.and_then(destination).ok_or(Errno::INVAL)?,
    })
}

/// The original destination among control messages.
fn destination(mut control: &[u8]) -> Option<SocketAddr> {
    loop {
        // As `struct cmsghdr` is on Linux: its length, level and type.
        let (length, rest) = control.split_first_chunk::<ALIGN>()?;
        let length = usize::from_ne_bytes(*length);
        let (level, rest) = rest.split_first_chunk::<4>()?;
        let (kind, _) = rest.split_first_chunk::<4>()?;
        let is = (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind));
        if [
            (libc::SOL_IP, libc::IP_ORIGDSTADDR),
            (libc::SOL_IPV6, libc::IPV6_ORIGDSTADDR),
        ]
        .contains(&is)
        {
            return address(control.get(CMSG_HEADER_BYTES..length)?);
        }
        control = control.get(length.max(1).checked_next_multiple_of(ALIGN)?..)?;
    }
}

/// The address in a `sockaddr_in` or a `sockaddr_in6`. IPv4 is never written as IPv6.
fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let ip = if i32::from(family) == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?))
    } else if i32::from(family) == libc::AF_INET6 {
        IpAddr::V6(Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?))
    } else {
        return None;
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_datagram_says_where_it_was_sent_to() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let local: SocketAddr = local.parse().unwrap();
            let socket = UdpSocket::bind(local).unwrap();
            let at = socket.local_addr().unwrap();
            let option = if at.is_ipv4() {
                (libc::SOL_IP, libc::IP_RECVORIGDSTADDR)
            } else {
                (libc::SOL_IPV6, libc::IPV6_RECVORIGDSTADDR)
            };
            set(&socket, option).unwrap();
            let sender = UdpSocket::bind(local).unwrap();
            sender.send_to(b"question", at).unwrap();
            let mut buffer = [0; 100];
            let came = receive(&socket, &mut buffer).unwrap();
            assert_eq!(came.source, sender.local_addr().unwrap());
            assert_eq!((came.destination, came.bytes), (at, 8));
            assert_eq!(&buffer[..8], b"question");
            assert_eq!(receive(&socket, &mut buffer), Err(Errno::AGAIN));
        }
    }

    #[test]
    fn without_the_option_there_is_no_destination() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        socket.send_to(b"question", at).unwrap();
        assert_eq!(receive(&socket, &mut [0; 100]), Err(Errno::INVAL));
    }

    #[test]
    fn control_messages_that_are_cut_short_have_no_destination() {
        for length in 0..40 {
            assert_eq!(destination(&vec![0; length]), None);
            assert_eq!(destination(&vec![255; length]), None);
        }
    }
}
