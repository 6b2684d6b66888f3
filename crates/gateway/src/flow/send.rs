//! What a host gives, until it is in the coded plane. From there on it will arrive.

use super::{MEMORY_FACTOR, Pieces};
use bentpipe_base::Time;
use std::collections::VecDeque;

/// So many bytes at most are copied into one piece of memory.
const PIECE_BYTES: usize = 16 << 10;
/// So many bytes that were sent and not reported are kept, so that the flow can be opened again in another session.
const KEPT_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
pub(crate) struct SendHalf {
    /// What waits, and how much of the first piece was taken.
    pieces: VecDeque<Vec<u8>>,
    taken_of_first: usize,
    buffered: usize,
    /// Of the first byte that waits.
    offset: u64,
    /// The other gateway takes bytes before this offset.
    limit: u64,
    /// Bytes that were sent since the other gateway has raised that limit: as far as is known here, its host takes nothing.
    since_limit: u64,
    ending: bool,
    ended: bool,
    /// When the first bytes left.
    began: Option<Time>,
    /// What has been sent, while it is not known whether any of it has arrived. `None`: some has, or it was too much.
    kept: Option<Vec<u8>>,
}

impl SendHalf {
    pub fn new(limit: u64) -> Self {
        Self {
            pieces: VecDeque::new(),
            taken_of_first: 0,
            buffered: 0,
            offset: 0,
            limit,
            since_limit: 0,
            ending: false,
            ended: false,
            began: None,
            kept: Some(Vec::new()),
        }
    }

    /// What is sent need not be kept: some of it has arrived.
    pub fn keep_nothing(&mut self) {
        self.kept = None;
    }

    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// All that was written, from the first byte on, if none of it left at `since` or before. `None`: if none of it left at all.
    pub fn give_back(&mut self, since: Option<Time>) -> Option<Vec<u8>> {
        let is_safe = self
            .began
            .is_none_or(|began| since.is_some_and(|since| began > since));
        let mut bytes = self.kept.take().filter(|_| is_safe)?;
        let left = self.buffered;
        let offset = self.offset;
        debug_assert_eq!(bytes.len() as u64, offset);
        let mut rest = std::mem::take(&mut self.pieces);
        let mut skip = self.taken_of_first;
        for piece in rest.drain(..) {
            bytes.extend_from_slice(&piece[skip..]);
            skip = 0;
        }
        debug_assert_eq!(bytes.len(), offset as usize + left);
        Some(bytes)
    }

    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(!self.ending, "bytes behind the end");
        self.buffered += bytes.len();
        let last = self.pieces.back();
        let room = last.map_or(0, |it| PIECE_BYTES.saturating_sub(it.len()));
        let (now, rest) = bytes.split_at(bytes.len().min(room));
        if let Some(last) = self.pieces.back_mut() {
            last.extend_from_slice(now);
        }
        let rest = rest.chunks(PIECE_BYTES).map(<[u8]>::to_vec);
        self.pieces.extend(rest);
    }

    /// As [`Self::write`]. The memory is taken where half of it or more is full, and copied from where it is not.
    pub fn write_piece(&mut self, piece: &mut Vec<u8>, pieces: &mut Pieces) {
        debug_assert!(!self.ending, "bytes behind the end");
        if 2 * piece.len() < piece.capacity() || piece.is_empty() {
            self.write(piece);
            return;
        }
        self.buffered += piece.len();
        self.pieces
            .push_back(std::mem::replace(piece, pieces.take()));
    }

    /// Nothing more follows what was written.
    pub fn finish(&mut self) {
        self.ending = true;
    }

    pub fn is_finished(&self) -> bool {
        self.ending
    }

    pub fn buffered(&self) -> u64 {
        self.buffered as u64
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that the other gateway takes on this flow now.
    pub fn credit(&self) -> u64 {
        self.limit - self.offset
    }

    /// A limit that is lower than an earlier one says nothing: packets overtake each other.
    pub fn on_credit(&mut self, limit: u64) {
        if limit > self.limit {
            self.limit = limit;
            self.since_limit = 0;
        }
    }

    /// Bytes that were sent since the limit was raised.
    pub fn since_limit(&self) -> u64 {
        self.since_limit
    }

    /// Bytes that this flow may send of the credit that the session has left, so that others have some, too: what it sent since its limit was
    /// raised stays below what is left (Choudhury and Hahne, 1998). However many hosts take nothing, there is credit for one more.
    pub fn share(&self, session_credit: u64) -> u64 {
        session_credit.saturating_sub(self.since_limit).div_ceil(2)
    }

    /// All has been sent, the end with it.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether there is something to send that the flow's own credit allows. An end without bytes needs none.
    pub fn has_work(&self) -> bool {
        if self.pieces.is_empty() {
            self.ending && !self.ended
        } else {
            self.credit() > 0
        }
    }

    /// Appends the next `bytes` bytes to `out`, which leaves now. `pieces` gets memory that is not used any more.
    pub fn take(&mut self, now: Time, bytes: usize, out: &mut Vec<u8>, pieces: &mut Pieces) {
        let before = out.len();
        let mut left = bytes;
        while left > 0
            && let Some(first) = self.pieces.front()
        {
            let end = first.len().min(self.taken_of_first + left);
            out.extend_from_slice(&first[self.taken_of_first..end]);
            left -= end - self.taken_of_first;
            self.taken_of_first = end;
            if end == first.len() {
                self.taken_of_first = 0;
                if let Some(taken) = self.pieces.pop_front() {
                    pieces.give(taken);
                }
            }
        }
        self.buffered -= bytes - left;
        self.began.get_or_insert(now);
        self.kept = self
            .kept
            .take()
            .filter(|kept| kept.len() + bytes <= KEPT_BYTES)
            .map(|mut kept| {
                kept.extend_from_slice(&out[before..]);
                kept
            });
        // A flow that idles keeps no memory: ten thousand of them do.
        if self.pieces.is_empty() {
            self.pieces = VecDeque::new();
        } else if let Some(first) = self.pieces.front_mut()
            && first.capacity() > MEMORY_FACTOR as usize / 2 * self.buffered
        {
            let rest = first[self.taken_of_first..].to_vec();
            pieces.give(std::mem::replace(first, rest));
            self.taken_of_first = 0;
        }
        self.offset += bytes as u64;
        self.since_limit += bytes as u64;
        debug_assert!(self.offset <= self.limit);
        if self.pieces.is_empty() && self.ending {
            self.ended = true;
        }
    }

    /// Whether the end can go with the next `bytes` bytes.
    pub fn ends_with(&self, bytes: usize) -> bool {
        self.ending && bytes == self.buffered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SendHalf {
        fn memory(&self) -> usize {
            self.pieces.iter().map(Vec::capacity).sum()
        }
    }

    #[test]
    fn bytes_leave_in_order_however_they_are_cut() {
        let (mut half, mut written, mut out) = (SendHalf::new(1 << 20), Vec::new(), Vec::new());
        let mut pieces = Pieces::default();
        for step in 0..200_usize {
            let bytes: Vec<u8> = (0..step * 7919 % 40_000)
                .map(|at| (at * step) as u8)
                .collect();
            written.extend_from_slice(&bytes);
            if step % 3 == 0 {
                let mut piece = pieces.take();
                piece.extend_from_slice(&bytes);
                half.write_piece(&mut piece, &mut pieces);
            } else {
                half.write(&bytes);
            }
            let least = half.buffered().min(1) as usize;
            let most = (step * 104_729 % 33_000).max(least);
            half.take(
                Time::ZERO,
                most.min(half.buffered() as usize),
                &mut out,
                &mut pieces,
            );
            assert!(half.memory() <= MEMORY_FACTOR as usize * half.buffered() as usize);
            half.on_credit(half.offset() + (1 << 20));
        }
        half.take(Time::ZERO, half.buffered() as usize, &mut out, &mut pieces);
        assert!(out == written);
    }

    #[test]
    fn a_flow_whose_bytes_were_sent_keeps_no_memory() {
        let mut half = SendHalf::new(1 << 20);
        half.write(&vec![1; 200_000]);
        let mut out = Vec::new();
        while half.buffered() > 0 {
            let bytes = half.buffered().min(1400) as usize;
            half.take(Time::ZERO, bytes, &mut out, &mut Pieces::default());
            let most = MEMORY_FACTOR as usize * half.buffered() as usize;
            assert!(half.memory() <= most);
        }
        assert_eq!((out.len(), half.memory()), (200_000, 0));
    }

    #[test]
    fn what_left_too_early_or_has_arrived_is_not_given_back() {
        let half = |began: i64| {
            let (mut half, mut out) = (SendHalf::new(1 << 20), Vec::new());
            half.write(b"question");
            half.take(Time(began), 3, &mut out, &mut Pieces::default());
            half.take(Time(began + 9), 2, &mut out, &mut Pieces::default());
            half
        };
        let all = Some(b"question".to_vec());
        assert_eq!(half(5).give_back(Some(Time(4))), all);
        assert_eq!(half(5).give_back(Some(Time(5))), None);
        assert_eq!(half(5).give_back(None), None);
        let mut arrived = half(5);
        arrived.keep_nothing();
        assert_eq!(arrived.give_back(Some(Time(4))), None);
        let mut unsent = SendHalf::new(1 << 20);
        unsent.write(b"question");
        assert_eq!(unsent.give_back(None), all);
        let (mut long, mut out) = (SendHalf::new(1 << 20), Vec::new());
        long.write(&vec![1; KEPT_BYTES + 1]);
        long.take(Time(5), KEPT_BYTES + 1, &mut out, &mut Pieces::default());
        assert_eq!(long.give_back(Some(Time(4))), None);
    }
}
