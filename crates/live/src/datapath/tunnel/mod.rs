//! A coded tunnel in the datapath: what a host sends enters it before the pipe and leaves it behind the pipe.
//!
//! ```text
//! device -> super-packets cut -> sender -> frames with outer headers -> pipe -> receiver -> packets joined -> device
//! ```
//!
//! 1. Near and far are the two ends of the path. Both ends of a direction are in the thread of its pipe; a report goes to the
//!    thread of the other pipe, crosses that pipe, and comes back ([`mail`]).
//! 2. Sender and receiver are told the model's times, never the wake-up's: a repair enters the pipe and a packet leaves the tunnel
//!    when the model says, and what is late is reported, as without a tunnel.
//! 3. A frame is a packet with real bytes: outer headers ([`outer`]), the tunnel's, and the host's packet as it stands on the wire,
//!    its checksum finished.
//! 4. A frame that the model has corrupted is dropped at the exit, as an UDP checksum would have it.
//! 5. ECN crosses as RFC 6040 says, as in the simulator.

mod inner;
pub mod mail;
mod outer;

pub use inner::InnerPacket;

use super::clock::RunClock;
use super::lateness::{self, Achieved, RateCheck};
use super::packet::{FrameOf, LivePacket};
use crate::family::Family;
use bentpipe_base::{Direction, Ecn};
use bentpipe_fec::{FrameKind, SenderConfigError};
use bentpipe_path::Pipe;
use bentpipe_path::packet::Packet;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tunnel::{Crossing, TunnelConfig, TunnelFigures};
use bentpipe_wire::super_packet::mark_congestion;
use hdrhistogram::Histogram;
use mail::{Mail, Message};
use outer::Outer;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// A tunnel around a link.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelSetup {
    pub config: TunnelConfig,
    /// Of the headers below the tunnel.
    pub ip: Family,
    /// What does not enter it.
    #[serde(default)]
    pub beside: Beside,
}

/// The packets that cross the path beside a tunnel, as they are.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// TCP from or to one of these ports.
    pub tcp_ports: Vec<u16>,
    /// ICMP echoes and their answers.
    pub echoes: bool,
}

impl Beside {
    fn has(&self, packet: &LivePacket) -> bool {
        let packet = &packet.whole().packet;
        match packet.tcp_ports() {
            Some(ports) => ports.iter().any(|port| self.tcp_ports.contains(port)),
            None => self.echoes && packet.is_echo(),
        }
    }
}

impl TunnelSetup {
    /// The longest packet that a host may send over a path with this MTU.
    pub fn inner_mtu(&self, path_mtu: u32) -> u32 {
        bentpipe_tunnel::inner_mtu(path_mtu, self.ip.number())
    }
}

/// Both ends of one direction.
#[derive(Debug)]
pub struct Coder {
    crossing: Crossing<InnerPacket>,
    beside: Beside,
    outer: Outer,
    vnet_bytes: usize,
    clock: RunClock,
    mail: Mail,
    rate: Option<RateCheck>,
    /// Where sender and receiver are: their times do not go back.
    sent_until: Time,
    received_until: Time,
    /// Left the tunnel, not yet taken.
    released: VecDeque<(Time, LivePacket)>,
    /// A frame, or a packet, that is being made.
    bytes: Vec<u8>,
    /// How late the reports were that left the pipe.
    pub late_reports: Histogram<u64>,
    /// Packets that could not be made of what was decoded.
    pub malformed: u64,
}

/// What a tunnel is put around.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    pub direction: Direction,
    /// Of the path.
    pub mtu: u32,
    /// The meter's.
    pub bin: Nanos,
    pub vnet_bytes: usize,
    pub clock: RunClock,
}

impl Coder {
    /// `rate` checks the pipe's.
    pub fn new(
        setup: &TunnelSetup,
        around: Around,
        mail: Mail,
        rate: Option<RateCheck>,
    ) -> Result<Self, SenderConfigError> {
        let Around {
            direction,
            mtu,
            bin,
            vnet_bytes,
            clock,
        } = around;
        let start = Time(i64::MIN / 2);
        Ok(Self {
            crossing: Crossing::new(&setup.config, mtu, setup.ip.number(), bin)?,
            beside: setup.beside.clone(),
            outer: Outer::new(setup.ip, direction),
            vnet_bytes,
            clock,
            mail,
            rate,
            sent_until: start,
            received_until: start,
            released: VecDeque::new(),
            bytes: Vec::new(),
            late_reports: lateness::histogram(),
            malformed: 0,
        })
    }

    /// Readable when the other pipe's thread has something to tell.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.mail.wake()
    }

    /// Does what the other pipe's thread asks for.
    pub fn read_mail(&mut self, pipe: &mut Pipe<LivePacket>) {
        let came: Vec<Message> = self.mail.take().collect();
        for message in came {
            match message {
                Message::Send { at, report } => {
                    let late = (self.clock.now() - at).max(Nanos::ZERO);
                    self.push(at, &report, Ecn::NotEct, late, pipe);
                }
                Message::Came { at, report } => {
                    self.send_due(at, pipe);
                    self.sent_until = self.sent_until.max(at);
                    // One that does not parse is no report of ours.
                    let _ = self.crossing.sender.handle(self.sent_until, &report);
                    self.transmit(Nanos::ZERO, pipe);
                }
            }
        }
    }

    /// Whether a packet of a host enters the tunnel.
    pub fn carries(&self, packet: &LivePacket) -> bool {
        !self.beside.has(packet)
    }

    /// A packet of a host enters the tunnel.
    pub fn enter(&mut self, at: Time, packet: &LivePacket, pipe: &mut Pipe<LivePacket>) {
        self.send_due(at, pipe);
        self.sent_until = self.sent_until.max(at);
        let inner = InnerPacket::of(packet);
        let run = packet.run();
        let mut bytes = std::mem::take(&mut self.bytes);
        let whole = &packet.whole().packet;
        whole.write_segment(run.first, run.ce, &mut bytes);
        self.crossing.push(self.sent_until, inner, &bytes);
        self.bytes = bytes;
        self.transmit(inner.late_read, pipe);
    }

    /// Lets repairs into the pipe that are due by `until`, each at its own time.
    pub fn send_due(&mut self, until: Time, pipe: &mut Pipe<LivePacket>) {
        while let Some(due) = self.crossing.sender.poll_timeout()
            && due <= until
        {
            self.sent_until = self.sent_until.max(due);
            let sent_any = self.transmit(Nanos::ZERO, pipe);
            if !sent_any && self.crossing.sender.poll_timeout() == Some(due) {
                break;
            }
        }
    }

    /// Lets whatever may leave the sender now into the pipe. `false`: there was nothing.
    fn transmit(&mut self, late_read: Nanos, pipe: &mut Pipe<LivePacket>) -> bool {
        let mut sent_any = false;
        let mut frame = std::mem::take(&mut self.bytes);
        loop {
            frame.clear();
            let at = self.sent_until;
            let Some(sent) = self.crossing.sender.poll_transmit(at, &mut frame) else {
                break;
            };
            debug_assert_eq!(
                sent.wire_bytes as usize,
                frame.len(),
                "frames have real bytes"
            );
            let ecn = self.crossing.ecn(&frame);
            self.push(at, &frame, ecn, late_read, pipe);
            sent_any = true;
        }
        self.bytes = frame;
        sent_any
    }

    fn push(
        &mut self,
        at: Time,
        frame: &[u8],
        ecn: Ecn,
        late_read: Nanos,
        pipe: &mut Pipe<LivePacket>,
    ) {
        let packet = self.outer.wrap(frame, ecn, self.vnet_bytes);
        let packet = packet.and_then(|it| LivePacket::alone(it, self.vnet_bytes, late_read));
        match packet {
            Ok(mut packet) => {
                packet.set_frame(match FrameKind::of(frame) {
                    Some(FrameKind::Repair) => FrameOf::Repair,
                    _ => FrameOf::Other,
                });
                pipe.push(at, packet);
            }
            Err(_) => self.malformed += 1,
        }
    }

    /// A packet has left the pipe, a frame or another.
    pub fn count(&mut self, at: Time, packet: &LivePacket) {
        if let Some(rate) = &mut self.rate {
            rate.departed(packet.wire_bytes(), at, self.clock.now());
        }
    }

    /// A frame has left the pipe.
    pub fn take(&mut self, at: Time, packet: &LivePacket) {
        let whole = packet.whole();
        let frame = whole.packet.packet().get(self.outer.bytes()..);
        let Some(frame) = frame.filter(|_| packet.flip().is_none()) else {
            return;
        };
        if FrameKind::of(frame) == Some(FrameKind::Report) {
            let late = Nanos((self.clock.now() - at).0 + whole.late_read.0);
            lateness::record(&mut self.late_reports, late, 1);
            self.mail.send(Message::Came {
                at,
                report: frame.to_vec(),
            });
            return;
        }
        self.receive_due(at);
        self.received_until = self.received_until.max(at);
        let marked = packet.run().ce;
        let bytes = frame.len() as u32;
        self.crossing
            .handle(self.received_until, frame, bytes, marked);
        self.receive(whole.late_read);
    }

    /// Releases packets whose hold has ended by `until`, each at its own time, and sends the reports that are due.
    pub fn receive_due(&mut self, until: Time) {
        while let Some(due) = self.crossing.receiver.poll_timeout()
            && due <= until
        {
            self.received_until = self.received_until.max(due);
            let any = self.receive(Nanos::ZERO);
            if !any && self.crossing.receiver.poll_timeout() == Some(due) {
                break;
            }
        }
    }

    /// Takes whatever leaves the receiver now. `false`: there was nothing.
    fn receive(&mut self, late_read: Nanos) -> bool {
        let at = self.received_until;
        let mut any = false;
        let mut bytes = std::mem::take(&mut self.bytes);
        while let Some((_, inner)) = self.crossing.release(at, &mut bytes) {
            any = true;
            let late_read = inner.late_read.max(late_read);
            let mut frame = Vec::with_capacity(self.vnet_bytes + bytes.len());
            frame.resize(self.vnet_bytes, 0);
            frame.extend_from_slice(&bytes);
            if inner.is_marked {
                mark_congestion(&mut frame[self.vnet_bytes..]);
            }
            match LivePacket::alone(frame, self.vnet_bytes, late_read) {
                Ok(packet) => self.released.push_back((at, packet)),
                Err(_) => self.malformed += 1,
            }
        }
        bytes.clear();
        if self
            .crossing
            .receiver
            .poll_transmit(at, &mut bytes)
            .is_some()
        {
            any = true;
            self.mail.send(Message::Send {
                at,
                report: bytes.clone(),
            });
        }
        self.bytes = bytes;
        any
    }

    /// The next packet that has left the tunnel, and when.
    pub fn leave(&mut self) -> Option<(Time, LivePacket)> {
        self.released.pop_front()
    }

    /// When a packet may leave the tunnel though no frame comes.
    pub fn next_release(&self) -> Option<Time> {
        self.crossing.receiver.poll_timeout()
    }

    /// When a repair may enter the pipe though no packet comes.
    pub fn next_repair(&self) -> Option<Time> {
        self.crossing.sender.poll_timeout()
    }

    /// See [`Crossing::take_goodput`].
    pub fn take_goodput(&mut self, start: Time) -> u64 {
        self.crossing.take_goodput(start)
    }

    pub fn achieved(&mut self) -> Achieved {
        self.rate.take().map(RateCheck::finish).unwrap_or_default()
    }

    pub fn figures(&self, ended: Time) -> TunnelFigures {
        self.crossing.figures(ended)
    }
}
