//! The UDP socket towards the other gateway.

use crate::report::UdpReport;
use crate::socket_options;
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_send_buffer_size,
    set_socket_send_buffer_size_force, socket_recv_buffer_size, socket_send_buffer_size,
};
use rustix::net::{RecvFlags, SendFlags, getsockname, recvfrom, sendto};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Asked for: what comes within 30 ms at 2 Gbit/s. Without privileges the kernel gives as much as `net.core.rmem_max` allows.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
const SEND_BUFFER_BYTES: usize = 2 << 20;
/// The longest UDP payload.
const LONGEST: usize = 65_535;
/// The memory of arriving packets is asked for in pieces of this size.
const POOL_BYTES: usize = 1 << 18;
const UDP_BYTES: u32 = 8;

#[derive(Debug)]
pub(crate) struct Udp {
    socket: OwnedFd,
    /// IP and UDP, around each payload.
    header_bytes: u32,
    buffer: Vec<u8>,
    pool: BytesMut,
    report: UdpReport,
}

impl Udp {
    /// `socket` is bound and does not block.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let is_v4 = SocketAddr::try_from(getsockname(&socket)?)?.is_ipv4();
        if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
            set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
        }
        if set_socket_send_buffer_size_force(&socket, SEND_BUFFER_BYTES).is_err() {
            set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES)?;
        }
        // The carrier finds the path's MTU itself (RFC 8899): packets are neither cut up nor held to what the kernel believes.
        if is_v4 {
            set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?;
        } else {
            set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?;
        }
        let report = UdpReport {
            receive_buffer_bytes: socket_recv_buffer_size(&socket)? as u64,
            send_buffer_bytes: socket_send_buffer_size(&socket)? as u64,
            ..UdpReport::default()
        };
        Ok(Self {
            socket,
            header_bytes: UDP_BYTES + if is_v4 { 20 } else { 40 },
            buffer: vec![0; LONGEST],
            pool: BytesMut::new(),
            report,
        })
    }

    pub fn header_bytes(&self) -> u32 {
        self.header_bytes
    }

    /// The next packet that has come.
    pub fn receive(&mut self) -> Option<(SocketAddr, BytesMut)> {
        loop {
            match recvfrom(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                    let Some(from) = from else {
                        continue;
                    };
                    self.report.packets_received += 1;
                    if self.pool.capacity() < length {
                        self.pool.reserve(POOL_BYTES);
                    }
                    self.pool.extend_from_slice(&self.buffer[..length]);
                    return Some((from, self.pool.split()));
                }
                Err(Errno::INTR) => {}
                // Any other error is that of an earlier packet, and is gone now.
                Err(_) => return None,
            }
        }
    }

    /// Sends a packet. False: the buffer is full.
    pub fn send(&mut self, to: SocketAddr, packet: &[u8]) -> bool {
        loop {
            match sendto(&self.socket, packet, SendFlags::empty(), &to) {
                Ok(_) => self.report.packets_sent += 1,
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => continue,
                // No route, a firewall, a device's full queue: for the session, it is lost on the path.
                Err(_) => self.report.unsent += 1,
            }
            return true;
        }
    }

    pub fn report(&self) -> UdpReport {
        UdpReport {
            overflow: socket_options::drops(&self.socket).unwrap_or(0),
            ..self.report
        }
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
