//! Datagrams that have come: put together from pieces, and kept until the driver takes them or their association is known.

use super::{DatagramFigures, RECORD_BYTES};
use crate::datagram::{Datagram, Piece};
use crate::flow::FlowId;
use bentpipe_base::{Nanos, OrderedMap, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// For so long pieces wait for others, and datagrams for their association.
const KEPT_FOR: Nanos = Nanos::from_secs(2);
/// More pieces than the longest datagram has in the shortest packets.
const MAX_PIECES: usize = 1024;
const PIECE_BYTES: u64 = 16;
/// Datagrams whose association is not known are few: it is told right before the first one.
const EARLY_MOST: u64 = 1 << 20;

/// A datagram for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub flow: FlowId,
    /// Where it goes to, or comes from, if that is not the association's destination.
    pub address: Option<SocketAddr>,
    pub bytes: Vec<u8>,
}

impl Received {
    fn cost(&self) -> u64 {
        self.bytes.len() as u64 + RECORD_BYTES
    }
}

impl From<Datagram<'_>> for Received {
    fn from(it: Datagram<'_>) -> Self {
        Self {
            flow: it.flow,
            address: it.address,
            bytes: it.bytes.to_vec(),
        }
    }
}

/// The other gateway does not keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceError {
    /// Of one frame, two totals, or bytes that came before.
    Overlap,
    TooMany,
}

impl core::fmt::Display for PieceError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Overlap => "two totals of one frame, or bytes that came before",
            Self::TooMany => "too many",
        })
    }
}

/// A frame of which pieces are missing.
#[derive(Debug)]
struct Partial {
    since: Time,
    frame: Vec<u8>,
    /// In order: where each piece begins and ends.
    pieces: Vec<(usize, usize)>,
    have: usize,
}

impl Partial {
    fn cost(&self) -> u64 {
        self.frame.len() as u64 + RECORD_BYTES + self.pieces.len() as u64 * PIECE_BYTES
    }

    fn add(&mut self, piece: &Piece<'_>) -> Result<(), PieceError> {
        let start = piece.offset as usize;
        let end = start + piece.bytes.len();
        let at = self.pieces.partition_point(|it| it.0 < start);
        let before = at.checked_sub(1).map_or(0, |at| self.pieces[at].1);
        let after = self.pieces.get(at).map_or(usize::MAX, |it| it.0);
        if piece.total != self.frame.len() as u64 || before > start || end > after {
            return Err(PieceError::Overlap);
        }
        if self.pieces.len() >= MAX_PIECES {
            return Err(PieceError::TooMany);
        }
        self.pieces.insert(at, (start, end));
        self.frame[start..end].copy_from_slice(piece.bytes);
        self.have += piece.bytes.len();
        Ok(())
    }
}

/// Each list takes so many bytes at most. Beyond them the oldest go.
#[derive(Debug)]
pub(in crate::session) struct Arriving {
    most: u64,
    received: VecDeque<Received>,
    received_bytes: u64,
    /// By flow and by a number that counts up, and the flows by it: the lowest is the oldest.
    early: OrderedMap<(FlowId, u64), (Time, Received)>,
    early_order: OrderedMap<u64, FlowId>,
    early_count: u64,
    early_bytes: u64,
    /// By number: the lowest is the oldest.
    partial: OrderedMap<u64, Partial>,
    partial_bytes: u64,
    delivered: u64,
    delivered_bytes: u64,
    early_dropped: u64,
    not_taken: u64,
    incomplete: u64,
}

impl Arriving {
    pub fn new(most: u64) -> Self {
        Self {
            most,
            received: VecDeque::new(),
            received_bytes: 0,
            early: OrderedMap::new(),
            early_order: OrderedMap::new(),
            early_count: 0,
            early_bytes: 0,
            partial: OrderedMap::new(),
            partial_bytes: 0,
            delivered: 0,
            delivered_bytes: 0,
            early_dropped: 0,
            not_taken: 0,
            incomplete: 0,
        }
    }

    /// A datagram of an association that is known.
    pub fn deliver(&mut self, datagram: Received) {
        self.received_bytes += datagram.cost();
        self.received.push_back(datagram);
        while self.received_bytes > self.most
            && let Some(oldest) = self.received.pop_front()
        {
            self.received_bytes -= oldest.cost();
            self.not_taken += 1;
        }
    }

    /// The next one for a host.
    pub fn take(&mut self) -> Option<Received> {
        let next = self.received.pop_front()?;
        self.received_bytes -= next.cost();
        self.delivered += 1;
        self.delivered_bytes += next.bytes.len() as u64;
        if self.received.is_empty() && self.received.capacity() > 64 {
            self.received = VecDeque::new();
        }
        Some(next)
    }

    /// A datagram whose association is not known yet.
    pub fn keep_early(&mut self, now: Time, datagram: Received) {
        self.early_bytes += datagram.cost();
        let key = (datagram.flow, self.early_count);
        self.early_count += 1;
        self.early_order.insert(key.1, key.0);
        self.early.insert(key, (now, datagram));
        while self.early_bytes > self.most.min(EARLY_MOST) {
            self.drop_early();
        }
    }

    fn drop_early(&mut self) {
        if let Some((number, flow)) = self.early_order.pop_first()
            && let Some((_, oldest)) = self.early.remove((flow, number))
        {
            self.early_bytes -= oldest.cost();
            self.early_dropped += 1;
        }
    }

    /// What a flow is for is known now, or it is over. Its datagrams that came before are handed over, or left out.
    pub fn settle_early(&mut self, id: FlowId, deliver: bool) {
        while let Some((key, _)) = self.early.first_from((id, 0))
            && key.0 == id
            && let Some((_, datagram)) = self.early.remove(key)
        {
            self.early_order.remove(key.1);
            self.early_bytes -= datagram.cost();
            if deliver {
                self.deliver(datagram);
            } else {
                self.early_dropped += 1;
            }
        }
    }

    /// A piece came. The frame, if it is whole now.
    pub fn on_piece(
        &mut self,
        now: Time,
        piece: &Piece<'_>,
    ) -> Result<Option<Vec<u8>>, PieceError> {
        let partial = self.partial.get_or_insert_with(piece.number, || Partial {
            since: now,
            frame: vec![0; piece.total as usize],
            pieces: Vec::new(),
            have: 0,
        });
        let before = if partial.pieces.is_empty() {
            0
        } else {
            partial.cost()
        };
        partial.add(piece)?;
        self.partial_bytes += partial.cost() - before;
        if partial.have == partial.frame.len() {
            let whole = self.partial.remove(piece.number);
            self.partial_bytes -= whole.as_ref().map_or(0, Partial::cost);
            return Ok(whole.map(|it| it.frame));
        }
        while self.partial_bytes > self.most {
            self.drop_partial();
        }
        Ok(None)
    }

    fn drop_partial(&mut self) {
        if let Some((_, oldest)) = self.partial.pop_first() {
            self.partial_bytes -= oldest.cost();
            self.incomplete += 1;
        }
    }

    fn oldest_early(&self) -> Option<Time> {
        let (number, &flow) = self.early_order.first()?;
        self.early.get((flow, number)).map(|it| it.0)
    }

    fn oldest_partial(&self) -> Option<Time> {
        self.partial.first().map(|it| it.1.since)
    }

    /// When something will have waited too long.
    pub fn next_expiry(&self) -> Option<Time> {
        let oldest = [self.oldest_early(), self.oldest_partial()];
        oldest.into_iter().flatten().min().map(|it| it + KEPT_FOR)
    }

    /// What has waited too long goes.
    pub fn expire(&mut self, now: Time) {
        let is_old = |since: Time| since + KEPT_FOR <= now;
        while self.oldest_early().is_some_and(is_old) {
            self.drop_early();
        }
        while self.oldest_partial().is_some_and(is_old) {
            self.drop_partial();
        }
    }

    /// Bytes that wait for any reason, with those of their records.
    pub fn bytes(&self) -> u64 {
        self.received_bytes + self.early_bytes + self.partial_bytes
    }

    pub fn figures(&self, of_leaving: DatagramFigures) -> DatagramFigures {
        DatagramFigures {
            delivered: self.delivered,
            delivered_bytes: self.delivered_bytes,
            early_dropped: self.early_dropped,
            not_taken: self.not_taken,
            incomplete: self.incomplete,
            ..of_leaving
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(number: u64, total: u64, offset: usize, bytes: &[u8]) -> Piece<'_> {
        Piece {
            number,
            total,
            offset: offset as u64,
            bytes,
        }
    }

    #[test]
    fn what_no_gateway_sends_is_refused() {
        let mut arriving = Arriving::new(1 << 20);
        let now = Time::ZERO;
        let mut add = |total, offset, bytes: &[u8]| {
            let added = arriving.on_piece(now, &piece(7, total, offset, bytes));
            added.map(|it| it.is_some())
        };
        assert_eq!(add(100, 10, &[1; 10]), Ok(false));
        for (offset, bytes) in [(10, 10), (5, 6), (19, 2), (12, 2)] {
            assert_eq!(add(100, offset, &vec![1; bytes]), Err(PieceError::Overlap));
        }
        assert_eq!(add(101, 50, &[1; 10]), Err(PieceError::Overlap));
        assert_eq!(add(100, 0, &[1; 10]), Ok(false));
        assert_eq!(add(100, 20, &[1; 80]), Ok(true));
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_goes() {
        const MOST: u64 = 1 << 17;
        let mut arriving = Arriving::new(MOST);
        for number in 0..100 {
            let done = arriving.on_piece(Time::ZERO, &piece(number, 60_000, 0, &[1]));
            assert_eq!(done, Ok(None));
            let flow = FlowId(number);
            let received = Received {
                flow,
                address: None,
                bytes: vec![1; 5000],
            };
            arriving.keep_early(Time::ZERO, received.clone());
            arriving.deliver(received);
            assert!(arriving.bytes() <= 3 * MOST);
        }
        let figures = arriving.figures(DatagramFigures::default());
        assert_eq!(figures.incomplete, 98);
        assert_eq!((figures.early_dropped, figures.not_taken), (75, 75));
        assert_eq!(arriving.take().map(|it| it.flow), Some(FlowId(75)));
        arriving.settle_early(FlowId(99), true);
        arriving.settle_early(FlowId(98), false);
        assert_eq!(arriving.early.len(), 23);
        arriving.expire(Time::ZERO + Nanos::from_secs(3));
        assert!(arriving.early.is_empty() && arriving.early_order.is_empty());
        assert!(arriving.partial.is_empty() && arriving.next_expiry().is_none());
        while arriving.take().is_some() {}
        assert_eq!(arriving.bytes(), 0);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_give_the_frame(
            lengths in prop::collection::vec(1_usize..50, 1..30),
            order in prop::collection::vec(any::<prop::sample::Index>(), 30),
        ) {
            let total: usize = lengths.iter().sum();
            let frame: Vec<u8> = (0..total).map(|at| at as u8).collect();
            let mut left: Vec<(usize, usize)> = lengths
                .iter()
                .scan(0, |at, &length| { *at += length; Some((*at - length, *at)) })
                .collect();
            let mut arriving = Arriving::new(1 << 20);
            for pick in order {
                if left.is_empty() { break; }
                let (start, end) = left.remove(pick.index(left.len()));
                let piece = piece(3, total as u64, start, &frame[start..end]);
                let done = arriving.on_piece(Time::ZERO, &piece).unwrap();
                prop_assert_eq!(done.is_some(), left.is_empty());
                if let Some(done) = done {
                    prop_assert_eq!(&done, &frame);
                }
            }
            prop_assert_eq!(arriving.bytes(), 0);
        }
    }
}
