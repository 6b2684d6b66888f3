//! What has come, until the host takes it. Packets overtake each other, so bytes wait here for those before them.
//!
//! Memory is at most [`super::MEMORY_FACTOR`] times the bytes that wait, and [`EARLY_PIECE_BYTES`] for each piece that waits for bytes before it:
//! bytes in order are put together, however small the frames are that bring them.

use super::pieces::{PIECE_BYTES, Pieces};
use bentpipe_base::OrderedMap;
use std::collections::VecDeque;

/// What a piece that waits for bytes before it takes beside its own bytes: its place in the map and in the allocator.
pub(crate) const EARLY_PIECE_BYTES: u64 = 128;

/// The other gateway does not keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiveError {
    /// More than was allowed.
    Credit,
    /// Bytes that came before.
    Overlap,
    /// A second end, or bytes behind it.
    End,
}

impl core::fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Credit => "more bytes than it has credit for",
            Self::Overlap => "bytes that came before",
            Self::End => "a second end, or bytes behind the end",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ReceiveHalf {
    /// In order, and what the host has taken of the first.
    ready: VecDeque<Vec<u8>>,
    taken_of_first: usize,
    /// By offset: what waits for bytes before it.
    early: OrderedMap<u64, Vec<u8>>,
    early_bytes: u64,
    /// All before this offset has come.
    next: u64,
    /// The host has taken all before this offset.
    consumed: u64,
    end: Option<u64>,
    /// The other gateway may send bytes before this offset.
    limit: u64,
    window: u64,
}

impl ReceiveHalf {
    pub fn new(window: u64) -> Self {
        Self {
            ready: VecDeque::new(),
            taken_of_first: 0,
            early: OrderedMap::new(),
            early_bytes: 0,
            next: 0,
            consumed: 0,
            end: None,
            limit: window,
            window,
        }
    }

    /// `pieces`: memory for what is in order.
    pub fn on_data(
        &mut self,
        offset: u64,
        bytes: &[u8],
        end: bool,
        pieces: &mut Pieces,
    ) -> Result<(), ReceiveError> {
        let after = offset + bytes.len() as u64;
        if after > self.limit {
            return Err(ReceiveError::Credit);
        }
        let largest = self.early.last();
        let largest = largest.map_or(self.next, |(at, piece)| at + piece.len() as u64);
        if self.end.is_some_and(|it| end || after > it) || end && after < largest {
            return Err(ReceiveError::End);
        }
        if end {
            self.end = Some(after);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.early.last_up_to_mut(after - 1);
        let before = before.map(|(at, piece)| (at + piece.len() as u64, piece));
        if offset < self.next || before.as_ref().is_some_and(|it| it.0 > offset) {
            return Err(ReceiveError::Overlap);
        }
        if offset == self.next {
            self.append(bytes, pieces);
            while let Some(piece) = self.early.remove(self.next) {
                self.early_bytes -= piece.len() as u64;
                self.append_piece(piece);
            }
            return Ok(());
        }
        self.early_bytes += bytes.len() as u64;
        match before {
            Some((at, piece)) if at == offset && piece.len() + bytes.len() <= PIECE_BYTES => {
                piece.extend_from_slice(bytes);
            }
            _ => {
                self.early.insert(offset, bytes.to_vec());
            }
        }
        Ok(())
    }

    /// The last piece, if there is room in it for so many bytes more.
    fn last_with_room(&mut self, bytes: usize) -> Option<&mut Vec<u8>> {
        let last = self.ready.back_mut();
        last.filter(|it| it.len() + bytes <= PIECE_BYTES)
    }

    fn append(&mut self, bytes: &[u8], pieces: &mut Pieces) {
        self.next += bytes.len() as u64;
        if let Some(last) = self.last_with_room(bytes.len()) {
            last.extend_from_slice(bytes);
            return;
        }
        // Behind a piece that is full more is to be expected: memory is asked for once.
        let last = self.ready.back();
        let is_bulk = last.is_some_and(|it| it.len() > PIECE_BYTES / 2);
        let mut piece = if is_bulk {
            pieces.take()
        } else {
            Vec::with_capacity(bytes.len())
        };
        piece.extend_from_slice(bytes);
        self.ready.push_back(piece);
    }

    fn append_piece(&mut self, piece: Vec<u8>) {
        self.next += piece.len() as u64;
        match self.last_with_room(piece.len()) {
            Some(last) => last.extend_from_slice(&piece),
            None => self.ready.push_back(piece),
        }
    }

    /// The next bytes for the host, as far as they are in one piece. A target always is.
    pub fn readable(&self) -> &[u8] {
        let first = self.ready.front();
        first.map_or(&[], |it| &it[self.taken_of_first..])
    }

    /// Bytes that the host can take now.
    pub fn ready(&self) -> u64 {
        self.next - self.consumed
    }

    /// The host has taken `bytes`, at most those of [`Self::readable`].
    pub fn consume(&mut self, bytes: usize, pieces: &mut Pieces) {
        debug_assert!(bytes <= self.readable().len());
        self.consumed += bytes as u64;
        self.taken_of_first += bytes;
        if self.readable().is_empty() {
            self.taken_of_first = 0;
            if let Some(taken) = self.ready.pop_front() {
                pieces.give(taken);
            }
        } else if let Some(first) = self.ready.front_mut()
            && self.taken_of_first > (first.len() / 2).max(1024)
        {
            let rest = first.split_off(self.taken_of_first);
            pieces.give(std::mem::replace(first, rest));
            self.taken_of_first = 0;
        }
        if self.ready.is_empty() && self.ready.capacity() > 4 {
            self.ready = VecDeque::new();
        }
    }

    /// Bytes that have come and were not taken.
    pub fn buffered(&self) -> u64 {
        self.ready() + self.early_bytes
    }

    /// Pieces that wait for bytes before them.
    pub fn early_pieces(&self) -> usize {
        self.early.len()
    }

    /// The host has taken all, and nothing more comes.
    pub fn is_over(&self) -> bool {
        self.end == Some(self.consumed)
    }

    /// Whether the host knows the end, or would if it took what is ready.
    pub fn has_ended(&self) -> bool {
        self.end == Some(self.next)
    }

    fn has_used_half(&self) -> bool {
        self.limit - self.consumed <= self.window / 2
    }

    /// Bytes that the host has taken since the other gateway was told the limit.
    pub fn since_limit(&self) -> u64 {
        self.consumed + self.window - self.limit
    }

    /// Whether the other gateway is to be told a new limit: half of the window has been used, or `share` of all flows' room. The other gateway
    /// may not send more than that before it hears of this flow.
    pub fn owes_limit(&self, share: u64) -> bool {
        self.end.is_none() && (self.has_used_half() || self.since_limit() >= share.max(1))
    }

    /// A new limit to tell the other gateway, if one is owed. The window doubles each time that half of it was used, up to `largest`.
    pub fn new_limit(&mut self, largest: u64, share: u64) -> Option<u64> {
        if !self.owes_limit(share) {
            return None;
        }
        if self.has_used_half() {
            self.window = (2 * self.window).min(largest);
        }
        self.limit = self.consumed + self.window;
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::MEMORY_FACTOR;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_no_gateway_sends_is_refused() {
        let mut half = ReceiveHalf::new(100);
        assert_eq!(
            half.on_data(90, &[0; 11], false, &mut Pieces::default()),
            Err(ReceiveError::Credit)
        );
        half.on_data(10, &[1; 10], false, &mut Pieces::default())
            .unwrap();
        assert_eq!(
            half.on_data(5, &[0; 6], false, &mut Pieces::default()),
            Err(ReceiveError::Overlap)
        );
        assert_eq!(
            half.on_data(19, &[0; 6], false, &mut Pieces::default()),
            Err(ReceiveError::Overlap)
        );
        assert_eq!(
            half.on_data(12, &[0; 2], false, &mut Pieces::default()),
            Err(ReceiveError::Overlap)
        );
        assert_eq!(
            half.on_data(0, &[0; 10], true, &mut Pieces::default()),
            Err(ReceiveError::End)
        );
        half.on_data(20, &[2; 10], true, &mut Pieces::default())
            .unwrap();
        assert_eq!(
            half.on_data(30, &[], true, &mut Pieces::default()),
            Err(ReceiveError::End)
        );
        assert_eq!(
            half.on_data(29, &[0; 2], false, &mut Pieces::default()),
            Err(ReceiveError::End)
        );
        half.on_data(0, &[0; 10], false, &mut Pieces::default())
            .unwrap();
        assert_eq!(half.ready(), 30);
        assert!(half.has_ended() && !half.is_over());
        assert_eq!(
            half.on_data(0, &[0; 10], false, &mut Pieces::default()),
            Err(ReceiveError::Overlap)
        );
    }

    #[test]
    fn small_frames_take_no_more_memory_than_large_ones() {
        let mut half = ReceiveHalf::new(1 << 20);
        for offset in 0..100_000 {
            half.on_data(offset, &[7], false, &mut Pieces::default())
                .unwrap();
        }
        for offset in 200_000..300_000 {
            half.on_data(offset, &[7], false, &mut Pieces::default())
                .unwrap();
        }
        let pieces = half.ready.iter().chain(half.early.values());
        let memory: usize = pieces.map(Vec::capacity).sum();
        assert!((memory as u64) < MEMORY_FACTOR * 200_000, "{memory} bytes");
        assert_eq!(half.early_pieces(), 100_000_usize.div_ceil(PIECE_BYTES));
        assert_eq!(half.buffered(), 200_000);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_give_the_stream(
            pieces in prop::collection::vec(1_usize..50, 1..30),
            order in prop::collection::vec(any::<prop::sample::Index>(), 30),
            takes in prop::collection::vec(1_usize..60, 30),
        ) {
            let total: usize = pieces.iter().sum();
            let stream: Vec<u8> = (0..total).map(|at| at as u8).collect();
            let mut left: Vec<(usize, usize)> = pieces
                .iter()
                .scan(0, |at, &length| { *at += length; Some((*at - length, length)) })
                .collect();
            let mut half = ReceiveHalf::new(10_000);
            let mut read = Vec::new();
            for (pick, take) in order.iter().zip(takes) {
                if left.is_empty() { break; }
                let (at, length) = left.remove(pick.index(left.len()));
                let end = at + length == total;
                half.on_data(at as u64, &stream[at..at + length], end, &mut Pieces::default()).unwrap();
                let ready = half.readable().len().min(take);
                read.extend_from_slice(&half.readable()[..ready]);
                half.consume(ready, &mut Pieces::default());
                let waits = total - read.len() - left.iter().map(|it| it.1).sum::<usize>();
                prop_assert_eq!(half.buffered(), waits as u64);
            }
            while !half.readable().is_empty() {
                read.extend_from_slice(half.readable());
                half.consume(half.readable().len(), &mut Pieces::default());
            }
            prop_assert_eq!(read, stream);
            prop_assert!(half.is_over());
            prop_assert_eq!(half.buffered(), 0);
        }
    }
}
