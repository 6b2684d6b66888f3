//! Asks the kernel for its list of TCP sockets (`sock_diag(7)`). What the bytes of question and answer mean stands in
//! [`bentpipe_wire::sock_diag`].

use crate::closings::Closings;
use crate::servers;
use bentpipe_wire::sock_diag::{Family, Message, TcpSocket, messages, request};
use rustix::io::{Errno, Result};
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{connect, recv, send, socket_with};
use std::os::fd::OwnedFd;

/// The number of the server beyond the far end that is one of a socket's ends.
pub(crate) fn server_of(socket: &TcpSocket<'_>) -> Option<u32> {
    servers::number_of(socket.local).or_else(|| servers::number_of(socket.remote))
}

/// Asks the kernel for the sockets of the network namespace that it was opened in, from whatever thread.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    sequence: u32,
    received: Vec<u8>,
    closings: Option<Closings>,
}

impl SockDiag {
    pub fn open() -> Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(SOCK_DIAG),
        )?;
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
            // The kernel fills at most 32 kB at a time.
            received: vec![0; 65_536],
            closings: Some(Closings::open()?),
        })
    }

    /// The sockets that close there, from now on. Once.
    pub(crate) fn closings(&mut self) -> Option<Closings> {
        self.closings.take()
    }

    /// Shows every TCP socket to `see`.
    pub fn tcp_sockets(&mut self, mut see: impl FnMut(&TcpSocket<'_>)) -> Result<()> {
        for family in [Family::V4, Family::V6] {
            self.sequence = self.sequence.wrapping_add(1);
            send(
                &self.socket,
                &request(family, self.sequence),
                SendFlags::empty(),
            )?;
            while self.more(&mut see)? {}
        }
        Ok(())
    }

    fn more(&mut self, see: &mut impl FnMut(&TcpSocket<'_>)) -> Result<bool> {
        let length = match recv(&self.socket, &mut self.received[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error),
        };
        for message in messages(&self.received[..length], self.sequence) {
            match message {
                Message::Socket(socket) => see(&socket),
                // The error: no IPv6 on this machine, and so no sockets of it.
                Message::Done | Message::Error(libc::ENOENT) => return Ok(false),
                Message::Error(code) => return Err(Errno::from_raw_os_error(code)),
                Message::Other => {}
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;
    use std::net::{IpAddr, TcpListener, TcpStream};

    #[test]
    fn a_connection_with_a_server_beyond_the_far_end_has_its_number_at_both_ends() {
        let clients: [(Family, IpAddr); 2] = [
            (Family::V4, "10.77.0.1".parse().unwrap()),
            (Family::V6, "fd77::1".parse().unwrap()),
        ];
        for (family, client) in clients {
            let server = servers::address(6, family);
            for (local, remote) in [(client, server), (server, client)] {
                let socket = TcpSocket {
                    local,
                    remote,
                    ..TcpSocket::default()
                };
                assert_eq!(server_of(&socket), Some(6));
            }
        }
        assert_eq!(server_of(&TcpSocket::default()), None);
    }

    #[test]
    fn the_kernel_lists_a_connection_of_ours_with_all_that_was_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let stream = TcpStream::connect(server).unwrap();
        let client_port = stream.local_addr().unwrap().port();
        let mut seen = Vec::new();
        SockDiag::open()
            .unwrap()
            .tcp_sockets(|socket| {
                if socket.remote_port == server.port() && socket.local_port == client_port {
                    let info = socket.tcp_info.unwrap();
                    seen.push((
                        socket.ip(),
                        socket.state,
                        socket.congestion_control.is_some(),
                        info.snd_cwnd(),
                    ));
                    assert!(socket.memory.unwrap().sndbuf().unwrap() > 0);
                }
            })
            .unwrap();
        assert_eq!(seen.len(), 1);
        assert!(matches!(seen[0], (4, "ESTAB", true, Some(1..))), "{seen:?}");
    }
}
