//! What a host gives, until it is in the coded plane. From there on it will arrive.

use super::MEMORY_FACTOR;
use std::collections::VecDeque;

/// So many bytes at most lie in one piece of memory.
const PIECE_BYTES: usize = 16 << 10;

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
        }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(!self.ending, "bytes behind the end");
        self.buffered += bytes.len();
        let room = self.pieces.back().map_or(0, |it| PIECE_BYTES - it.len());
        let (now, rest) = bytes.split_at(bytes.len().min(room));
        if let Some(last) = self.pieces.back_mut() {
            last.extend_from_slice(now);
        }
        let rest = rest.chunks(PIECE_BYTES).map(<[u8]>::to_vec);
        self.pieces.extend(rest);
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

    /// Appends the next `bytes` bytes to `out`.
    pub fn take(&mut self, bytes: usize, out: &mut Vec<u8>) {
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
                self.pieces.pop_front();
            }
        }
        self.buffered -= bytes - left;
        // A flow that idles keeps no memory: ten thousand of them do.
        if self.pieces.is_empty() {
            self.pieces = VecDeque::new();
        } else if let Some(first) = self.pieces.front_mut()
            && first.capacity() > MEMORY_FACTOR as usize / 2 * self.buffered
        {
            *first = first[self.taken_of_first..].to_vec();
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
        for step in 0..200_usize {
            let bytes: Vec<u8> = (0..step * 7919 % 40_000)
                .map(|at| (at * step) as u8)
                .collect();
            written.extend_from_slice(&bytes);
            half.write(&bytes);
            let least = half.buffered().min(1) as usize;
            let most = (step * 104_729 % 33_000).max(least);
            half.take(most.min(half.buffered() as usize), &mut out);
            assert!(half.memory() <= MEMORY_FACTOR as usize * half.buffered() as usize);
            half.on_credit(half.offset() + (1 << 20));
        }
        half.take(half.buffered() as usize, &mut out);
        assert!(out == written);
    }

    #[test]
    fn a_flow_whose_bytes_were_sent_keeps_no_memory() {
        let mut half = SendHalf::new(1 << 20);
        half.write(&vec![1; 200_000]);
        let mut out = Vec::new();
        while half.buffered() > 0 {
            let bytes = half.buffered().min(1400) as usize;
            half.take(bytes, &mut out);
            let most = MEMORY_FACTOR as usize * half.buffered() as usize;
            assert!(half.memory() <= most);
        }
        assert_eq!((out.len(), half.memory()), (200_000, 0));
    }
}
