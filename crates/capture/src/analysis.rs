//! From bytes of a capture to its connections.

use crate::CaptureError;
use crate::connection::Connection;
use crate::connections::{Connections, GivenUp};
use crate::file::{FileNotes, FileReader, Step};
use crate::ip_checksums::IpChecksums;
use crate::link::Carried;
use crate::segment::{NotTcp, Segment};
use crate::time_order::TimeOrder;
use serde::Serialize;

/// Nine years: times that are further apart are damaged, and sums of them could overflow.
pub(crate) const LONGEST_NS: i64 = 1 << 58;

/// Packets of a capture by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketCounts {
    pub packets: u64,
    pub tcp: u64,
    pub other_protocols: u64,
    pub fragments: u64,
    /// ICMP messages that a packet was too big.
    pub too_big: u64,
    /// With a wrong checksum of the IP header, where those of other packets are right.
    pub damaged: u64,
    /// Not IP, or cut before TCP's sequence number.
    pub unreadable: u64,
    /// Of a link type that is not read here.
    pub unknown_link: u64,
    /// TCP's that were sorted by time: they are earlier than one before them in the file.
    pub out_of_order: u64,
}

#[derive(Debug, Default)]
pub struct Analysis {
    reader: FileReader,
    in_order: TimeOrder,
    following: Following,
    checksums: IpChecksums,
    counts: PacketCounts,
    unknown_link: Option<u16>,
    last_ns: i64,
}

/// The connections, and the time since 1970 that theirs are counted from.
#[derive(Debug, Default)]
struct Following {
    connections: Connections,
    origin_ns: Option<i64>,
    has_begun: bool,
}

/// What a capture held.
#[derive(Debug)]
pub struct Capture {
    /// Their times are since the first packet.
    pub connections: Vec<Connection>,
    pub given_up: GivenUp,
    pub counts: PacketCounts,
    /// The first link type that is not read here.
    pub unknown_link: Option<u16>,
    pub notes: FileNotes,
    /// Hardly any packet of TCP is later than the one before it.
    pub times_run_backwards: bool,
    /// Times of the first and the last packet, since 1970.
    pub first_ns: i64,
    pub last_ns: i64,
}

impl Following {
    /// Segments come in the order of their times. The first of them may be earlier than the first packet of the file.
    #[inline]
    fn pass(&mut self, at_ns: i64, segment: &Segment) {
        let mut origin_ns = *self.origin_ns.get_or_insert(at_ns);
        if !self.has_begun {
            self.has_begun = true;
            origin_ns = origin_ns.min(at_ns);
            self.origin_ns = Some(origin_ns);
        }
        let since_ns = at_ns.saturating_sub(origin_ns);
        self.connections
            .pass(since_ns.clamp(-LONGEST_NS, LONGEST_NS), segment);
    }
}

impl Analysis {
    /// Takes what it can of `bytes`, which follow what it took before. Returns how many it took and how many it needs at least
    /// to go on.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, usize), CaptureError> {
        let mut taken = 0;
        loop {
            match self.reader.step(&bytes[taken..])? {
                Step::Packet { consumed, packet } => {
                    taken += consumed;
                    let first_ns = *self.following.origin_ns.get_or_insert(packet.at_ns);
                    self.last_ns = self.last_ns.max(packet.at_ns).max(first_ns);
                    self.counts.packets += 1;
                    match packet.link.carried(packet.bytes) {
                        Carried::Ip { at } => {
                            let ip = packet.bytes.get(at..).unwrap_or_default();
                            self.take(packet.at_ns, ip, packet.wire_bytes.saturating_sub(at));
                        }
                        Carried::Other => self.counts.unreadable += 1,
                        Carried::Unknown => {
                            self.counts.unknown_link += 1;
                            self.unknown_link.get_or_insert(packet.link.0);
                        }
                    }
                }
                Step::Skip { consumed } => taken += consumed,
                Step::More { needed } => return Ok((taken, needed)),
            }
        }
    }

    #[inline]
    fn take(&mut self, at_ns: i64, ip: &[u8], wire_bytes: usize) {
        let counts = &mut self.counts;
        if self.checksums.says_damaged(ip) {
            counts.damaged += 1;
            return;
        }
        match Segment::parse(ip, wire_bytes) {
            Ok(segment) => {
                counts.tcp += 1;
                let following = &mut self.following;
                self.in_order
                    .push(at_ns, segment, |at_ns, it| following.pass(at_ns, it));
            }
            Err(NotTcp::OtherProtocol) => counts.other_protocols += 1,
            Err(NotTcp::Fragment) => counts.fragments += 1,
            Err(NotTcp::TooBig) => counts.too_big += 1,
            Err(NotTcp::Unreadable) => counts.unreadable += 1,
        }
    }

    /// The file ends with `rest` bytes that were not taken. Fine where there are none; else the error of a file that is cut off.
    pub fn end(&mut self, rest: &[u8]) -> Result<(), CaptureError> {
        match self.reader.step(rest)? {
            Step::More { needed } if !rest.is_empty() || self.reader.offset() == 0 => {
                Err(self.reader.cut_off(rest.len(), needed))
            }
            _ => Ok(()),
        }
    }

    pub fn finish(mut self) -> Capture {
        let following = &mut self.following;
        (self.in_order).finish(|at_ns, segment| following.pass(at_ns, segment));
        self.counts.out_of_order = self.in_order.sorted;
        let (connections, given_up) = self.following.connections.finish();
        Capture {
            connections,
            given_up,
            counts: self.counts,
            unknown_link: self.unknown_link,
            notes: self.reader.notes(),
            times_run_backwards: self.in_order.runs_backwards(),
            first_ns: self.following.origin_ns.unwrap_or(0),
            last_ns: self.last_ns,
        }
    }
}
