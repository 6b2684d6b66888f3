//! The UDP socket towards the other gateway. One system call sends or reads several packets, where the kernel has that (GSO, GRO,
//! recvmmsg).

use crate::report::UdpReport;
use crate::socket_options;
use bentpipe_carrier::pool::Pool;
use bytes::BytesMut;
use noq_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::net::getsockname;
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_send_buffer_size,
    set_socket_send_buffer_size_force, socket_recv_buffer_size, socket_send_buffer_size,
};
use std::fmt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Asked for: what comes within 30 ms at 2 Gbit/s. Without privileges the kernel gives as much as `net.core.rmem_max` allows.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
const SEND_BUFFER_BYTES: usize = 2 << 20;
/// What the kernel may put into one buffer: the longest UDP payload, or several packets of one sender.
const LONGEST: usize = 1 << 16;
/// Buffers that one call fills.
const BUFFERS: usize = 8;
/// The memory of arriving packets that are copied is asked for in pieces of this size.
const POOL_BYTES: usize = 1 << 16;
/// So many bytes in one buffer are not copied: the packets keep the buffer until they are gone. Fewer would keep too much memory.
const LEAST_UNCOPIED: usize = LONGEST / 4;
/// The kernel divides no more than this between packets of one call.
const MOST_SENT_BYTES: usize = 65_000;
/// Nor so many packets (`UDP_MAX_SEGMENTS` of older kernels).
const MOST_SEGMENTS: usize = 64;
const UDP_BYTES: u32 = 8;

/// Says of a packet to be sent whether it gets lost.
pub(crate) type Loses = Box<dyn FnMut() -> bool + Send>;

pub(crate) struct Udp {
    socket: OwnedFd,
    state: UdpSocketState,
    /// IP and UDP, around each payload.
    header_bytes: u32,
    /// What one call fills. A part of a buffer may be lent to packets that have come.
    buffers: [BytesMut; BUFFERS],
    pool: Pool,
    loses: Option<Loses>,
    report: UdpReport,
}

impl Udp {
    /// `socket` is bound and does not block.
    pub fn new(socket: OwnedFd, loses: Option<Loses>) -> io::Result<Self> {
        let is_v4 = SocketAddr::try_from(getsockname(&socket)?)?.is_ipv4();
        if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
            set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
        }
        if set_socket_send_buffer_size_force(&socket, SEND_BUFFER_BYTES).is_err() {
            set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES)?;
        }
        // It also sees to it that packets are neither cut up nor held to what the kernel believes of the path's MTU.
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let report = UdpReport {
            receive_buffer_bytes: socket_recv_buffer_size(&socket)? as u64,
            send_buffer_bytes: socket_send_buffer_size(&socket)? as u64,
            ..UdpReport::default()
        };
        Ok(Self {
            socket,
            state,
            header_bytes: UDP_BYTES + if is_v4 { 20 } else { 40 },
            buffers: Default::default(),
            pool: Pool::new(POOL_BYTES),
            loses,
            report,
        })
    }

    pub fn header_bytes(&self) -> u32 {
        self.header_bytes
    }

    /// How many packets of so many bytes one call can send. It falls to 1 where a device turns out to take only single ones.
    pub fn most_segments(&self, bytes: usize) -> usize {
        let kernel = self.state.max_gso_segments().get().min(MOST_SEGMENTS);
        kernel.min(MOST_SENT_BYTES / bytes).max(1)
    }

    /// Reads packets by one call and hands them over: those of one buffer together, each of so many bytes but the last, which may be shorter.
    /// Whether there may be more.
    pub fn receive(&mut self, mut take: impl FnMut(SocketAddr, BytesMut, usize)) -> bool {
        let mut meta = [RecvMeta::default(); BUFFERS];
        self.buffers.iter_mut().for_each(make_whole);
        let mut slots = self.buffers.each_mut().map(|it| IoSliceMut::new(it));
        let socket = UdpSockRef::from(&self.socket);
        let filled = match self.state.recv(socket, &mut slots, &mut meta) {
            Ok(filled) => filled,
            Err(error) if error.kind() == ErrorKind::Interrupted => return true,
            // Any other error is that of an earlier packet, and is gone now.
            Err(_) => return false,
        };
        for (buffer, meta) in self.buffers.iter_mut().zip(&meta[..filled]) {
            let packets = if meta.len < LEAST_UNCOPIED {
                self.pool.copy(&buffer[..meta.len])
            } else {
                buffer.split_to(meta.len)
            };
            let segment = meta.stride.max(1);
            self.report.packets_received += meta.len.div_ceil(segment) as u64;
            take(meta.addr, packets, segment);
        }
        filled == BUFFERS
    }

    /// Sends packets, each of `segment` bytes but the last, which may be shorter. False: the buffer is full, and `packets` are what is
    /// left.
    pub fn send(&mut self, to: SocketAddr, packets: &mut Vec<u8>, segment: usize) -> bool {
        if let Some(loses) = &mut self.loses {
            lose(packets, segment, loses);
        }
        self.send_rest(to, packets, segment)
    }

    /// Sends what [`Self::send`] left.
    pub fn send_rest(&mut self, to: SocketAddr, packets: &mut Vec<u8>, segment: usize) -> bool {
        while !packets.is_empty() {
            let most = segment * self.most_segments(segment);
            let now = &packets[..most.min(packets.len())];
            let count = now.len().div_ceil(segment) as u64;
            let transmit = Transmit {
                destination: to,
                ecn: None,
                contents: now,
                segment_size: (count > 1).then_some(segment),
                src_ip: None,
            };
            match self
                .state
                .try_send(UdpSockRef::from(&self.socket), &transmit)
            {
                Ok(()) => self.report.packets_sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // The device takes only single packets: they are sent one by one, now and from now on.
                Err(_) if count > 1 && self.state.max_gso_segments().get() == 1 => continue,
                // No route, a firewall, a device's full queue: for the session, it is lost on the path.
                Err(_) => self.report.unsent += count,
            }
            let sent = now.len();
            packets.drain(..sent);
        }
        true
    }

    pub fn report(&self) -> UdpReport {
        UdpReport {
            overflow: socket_options::drops(&self.socket).unwrap_or(0),
            ..self.report
        }
    }
}

/// The kernel may fill all of a buffer. Its memory is used again where no packet has a part of it any more.
fn make_whole(buffer: &mut BytesMut) {
    if buffer.len() < LONGEST {
        buffer.clear();
        if buffer.try_reclaim(LONGEST) {
            buffer.resize(LONGEST, 0);
        } else {
            *buffer = BytesMut::zeroed(LONGEST);
        }
    }
}

/// Takes out the packets that get lost.
fn lose(packets: &mut Vec<u8>, segment: usize, loses: &mut Loses) {
    let (mut kept, mut at) = (0, 0);
    while at < packets.len() {
        let end = (at + segment).min(packets.len());
        if !loses() {
            packets.copy_within(at..end, kept);
            kept += end - at;
        }
        at = end;
    }
    packets.truncate(kept);
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Udp")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::time::{Duration, Instant};

    fn udp(loses: Option<Loses>) -> (Udp, SocketAddr) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let at = socket.local_addr().expect("it is bound");
        (Udp::new(socket.into(), loses).expect("a socket"), at)
    }

    /// What comes, until there are so many packets.
    fn receive(udp: &mut Udp, count: usize) -> Vec<Vec<u8>> {
        let (mut packets, begun) = (Vec::new(), Instant::now());
        while packets.len() < count && begun.elapsed() < Duration::from_secs(10) {
            udp.receive(|_, all, segment| packets.extend(all.chunks(segment).map(<[u8]>::to_vec)));
        }
        packets
    }

    fn packets(count: usize) -> Vec<Vec<u8>> {
        (0..count)
            .map(|number| vec![number as u8; if number + 1 == count { 700 } else { 1200 }])
            .collect()
    }

    #[test]
    fn packets_that_are_sent_by_one_call_arrive_as_they_were() {
        let (mut from, _) = udp(None);
        let (mut to, at) = udp(None);
        // More than the kernel takes at once.
        let sent = packets(100);
        assert!(from.send(at, &mut sent.concat(), 1200));
        assert!(receive(&mut to, 100) == sent);
        assert_eq!(from.report().packets_sent, 100);
        assert_eq!(to.report().packets_received, 100);
    }

    #[test]
    fn what_gets_lost_is_taken_out_and_no_more() {
        let mut number = 0;
        let every_third = move || {
            number += 1;
            number % 3 == 0
        };
        let (mut from, _) = udp(Some(Box::new(every_third)));
        let (mut to, at) = udp(None);
        let mut sent = packets(21);
        // The last one, which is shorter, is lost, too.
        assert!(from.send(at, &mut sent.concat(), 1200));
        let mut number = 0;
        sent.retain(|_| {
            number += 1;
            number % 3 != 0
        });
        assert!(receive(&mut to, 14) == sent);
        assert_eq!(from.report().packets_sent, 14);
    }
}
