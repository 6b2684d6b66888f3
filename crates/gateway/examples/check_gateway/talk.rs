//! Hosts that send datagrams, and whether what comes is right: each at most once, whole, and not lost but where a packet was.

use crate::scenario::Stream;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::FrameKind;
use bentpipe_gateway::{
    Channel, DatagramFigures, DatagramFrame, DatagramFrames, FlowId, Received, ResetCode, Role,
    Session, Target,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which stream, whether it is from its opener, and which datagram of it.
pub type Id = (u8, bool, u32);
const ID_BYTES: usize = 6;
const MOST_IN_A_PACKET: u64 = 160;

/// The bytes of a datagram: its name, and as many more as follow from it.
fn bytes((place, from_opener, number): Id, longest: u32) -> Vec<u8> {
    let mixed = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + u64::from(place) * 2);
    let more = (mixed >> 40) as usize % longest as usize;
    let mut bytes = vec![place, u8::from(from_opener)];
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend((0..more).map(|at| (at as u64 * 5 + mixed) as u8));
    bytes
}

fn id(bytes: &[u8]) -> Option<Id> {
    let (name, _) = bytes.split_first_chunk::<ID_BYTES>()?;
    let number = u32::from_be_bytes([name[2], name[3], name[4], name[5]]);
    Some((name[0], name[1] == 1, number))
}

/// Every third datagram of a stream names an address.
fn address(stream: &Stream, number: u32) -> Option<SocketAddr> {
    let ip = if number.is_multiple_of(2) {
        Ipv4Addr::new(10, 1, 2, 3).into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    (!stream.ip && number.is_multiple_of(3)).then(|| SocketAddr::new(ip, number as u16))
}

/// The port says which stream it is. Those of transfers are lower.
const FIRST_PORT: u16 = 1000;

/// One side of a stream.
#[derive(Debug)]
pub struct Talk {
    stream: Stream,
    place: u8,
    is_opener: bool,
    pub flow: Option<FlowId>,
    /// The flow that it had: what had come before its end is still handed over.
    ended: Option<FlowId>,
    next: u32,
    next_at: Time,
    over: bool,
    /// What has come, and how much was taken to be sent.
    pub got: BTreeSet<Id>,
    pub gave: u64,
}

impl Talk {
    pub fn new(place: usize, stream: &Stream, role: Role) -> Self {
        Self {
            stream: stream.clone(),
            place: place as u8,
            is_opener: stream.opener == role,
            flow: None,
            ended: None,
            next: 0,
            next_at: stream.start,
            over: false,
            got: BTreeSet::new(),
            gave: 0,
        }
    }

    /// The stream that a channel stands for.
    pub fn place_of(channel: Channel, streams: &[Stream]) -> Option<usize> {
        match channel {
            Channel::Udp(target) => Some(usize::from(target.source.port() - FIRST_PORT)),
            Channel::Ip => streams.iter().position(|it| it.ip),
        }
    }

    pub fn begin(&mut self, now: Time, flow: FlowId) {
        self.flow = Some(flow);
        self.next_at = self.next_at.max(now);
    }

    /// The gateway has reset it, or was started anew.
    pub fn end(&mut self) {
        self.ended = self.flow.take();
        self.over |= self.ended.is_some();
    }

    /// Another session begins, with flows of its own.
    pub fn forget(&mut self) {
        self.ended = None;
    }

    pub fn is_of(&self, flow: FlowId) -> bool {
        self.flow == Some(flow) || self.ended == Some(flow)
    }

    /// Sends what is due. When it wants to be asked again.
    pub fn act(&mut self, now: Time, session: &mut Session) -> Result<Option<Time>, String> {
        let count = self.stream.count[usize::from(!self.is_opener)];
        while !self.over && self.next_at <= now {
            if self.flow.is_none() {
                if !self.is_opener {
                    return Ok(None);
                }
                let (user, port) = (self.stream.user, FIRST_PORT + u16::from(self.place));
                let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
                let target = Target {
                    destination: at(53),
                    source: at(port),
                };
                let opened = if self.stream.ip {
                    session.open_ip(now, user)
                } else {
                    session.open_udp(now, user, &target)
                };
                let Ok(flow) = opened else {
                    self.next_at = now + Nanos::from_millis(500);
                    break;
                };
                self.flow = Some(flow);
            }
            let Some(flow) = self.flow else {
                return Ok(None);
            };
            if self.next == count {
                self.over = true;
                if self.is_opener && self.stream.closes {
                    session.reset(flow, ResetCode::Closed);
                    self.ended = self.flow.take();
                }
                break;
            }
            let bytes = bytes((self.place, self.is_opener, self.next), self.stream.longest);
            let address = address(&self.stream, self.next);
            if !session.send_datagram(now, flow, address, &bytes) {
                return Err(format!("stream {}: a datagram was refused", self.place));
            }
            self.gave += 1;
            self.next += 1;
            self.next_at = now + self.stream.every;
        }
        Ok((!self.over && (self.is_opener || self.flow.is_some())).then_some(self.next_at))
    }

    /// A datagram came for this side.
    pub fn on_received(&mut self, received: &Received) -> Result<(), String> {
        let place = self.place;
        let wrong = |what: &str| Err(format!("stream {place}: {what}: {received:?}"));
        let Some(id) = id(&received.bytes) else {
            return wrong("a datagram that nobody sent");
        };
        if (id.0, id.1) != (place, !self.is_opener) {
            return wrong("a datagram of another stream");
        }
        if received.bytes != bytes(id, self.stream.longest) {
            return wrong("a datagram's bytes are wrong");
        }
        if received.address != address(&self.stream, id.2) {
            return wrong("a datagram's address is wrong");
        }
        if !self.got.insert(id) {
            return wrong("a datagram came twice");
        }
        Ok(())
    }
}

/// What has come to a session as it was sent: all of it has to be handed over, or counted.
#[derive(Debug, Default)]
pub struct Watch {
    came: BTreeSet<Id>,
    /// By number: where each begins, and its bytes.
    pieces: BTreeMap<u64, BTreeMap<u64, Vec<u8>>>,
    packets: BTreeSet<[u8; 4]>,
}

impl Watch {
    /// A datagram of the carrier came.
    pub fn on_datagram(&mut self, datagram: &[u8]) {
        let Some(([1], frame)) = datagram.split_first_chunk() else {
            return;
        };
        let Some((&number, packet)) = frame.split_first_chunk() else {
            return;
        };
        if FrameKind::of(frame) != Some(FrameKind::Source) || !self.packets.insert(number) {
            return;
        }
        for frame in DatagramFrames::of(packet).flatten() {
            match frame {
                DatagramFrame::Whole(whole) => self.came.extend(id(whole.bytes)),
                DatagramFrame::Piece(piece) => {
                    let pieces = self.pieces.entry(piece.number).or_default();
                    pieces.insert(piece.offset, piece.bytes.to_vec());
                    let have: usize = pieces.values().map(Vec::len).sum();
                    if (have as u64) < piece.total {
                        continue;
                    }
                    let pieces = core::mem::take(pieces);
                    let whole: Vec<u8> = pieces.into_values().flatten().collect();
                    for frame in DatagramFrames::of(&whole).flatten() {
                        if let DatagramFrame::Whole(whole) = frame {
                            self.came.extend(id(whole.bytes));
                        }
                    }
                }
            }
        }
    }

    /// Whether all that came was handed over, but for what the session has counted.
    pub fn check(&self, got: &BTreeSet<Id>, counted: &DatagramFigures) -> Result<(), String> {
        let missing = self.came.difference(got).count() as u64;
        let may_miss = counted.late
            + counted.early_dropped
            + counted.not_taken
            + counted.incomplete
            + counted.left_out * MOST_IN_A_PACKET;
        if missing > may_miss {
            return Err(format!(
                "{missing} datagrams came and were not handed over: {counted:?}"
            ));
        }
        Ok(())
    }
}
