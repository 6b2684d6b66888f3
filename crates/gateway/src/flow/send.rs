//! What a host gives, until it is in the coded plane. From there on it will arrive.

use super::MEMORY_FACTOR;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct SendHalf {
    buffer: VecDeque<u8>,
    /// Of the first byte in the buffer.
    offset: u64,
    /// The other gateway takes bytes before this offset.
    limit: u64,
    ending: bool,
    ended: bool,
}

impl SendHalf {
    pub fn new(limit: u64) -> Self {
        Self {
            buffer: VecDeque::new(),
            offset: 0,
            limit,
            ending: false,
            ended: false,
        }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(!self.ending, "bytes behind the end");
        self.buffer.extend(bytes);
    }

    /// Nothing more follows what was written.
    pub fn finish(&mut self) {
        self.ending = true;
    }

    pub fn is_finished(&self) -> bool {
        self.ending
    }

    pub fn buffered(&self) -> u64 {
        self.buffer.len() as u64
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
        self.limit = self.limit.max(limit);
    }

    /// All has been sent, the end with it.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether there is something to send, given so much credit of the session.
    pub fn has_work(&self, session_credit: u64) -> bool {
        if self.buffer.is_empty() {
            self.ending && !self.ended
        } else {
            self.credit().min(session_credit) > 0
        }
    }

    /// Appends the next `bytes` bytes to `out`.
    pub fn take(&mut self, bytes: usize, out: &mut Vec<u8>) {
        let (first, second) = self.buffer.as_slices();
        let from_first = bytes.min(first.len());
        out.extend_from_slice(&first[..from_first]);
        out.extend_from_slice(&second[..bytes - from_first]);
        self.buffer.drain(..bytes);
        // A flow that idles keeps no memory: ten thousand of them do.
        if self.buffer.is_empty() {
            self.buffer = VecDeque::new();
        } else if self.buffer.capacity() > MEMORY_FACTOR as usize * self.buffer.len() {
            self.buffer.shrink_to(self.buffer.len() * 2);
        }
        self.offset += bytes as u64;
        debug_assert!(self.offset <= self.limit);
        if self.buffer.is_empty() && self.ending {
            self.ended = true;
        }
    }

    /// Whether the end can go with the next `bytes` bytes.
    pub fn ends_with(&self, bytes: usize) -> bool {
        self.ending && bytes == self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_whose_bytes_were_sent_keeps_no_memory() {
        let mut half = SendHalf::new(1 << 20);
        half.write(&vec![1; 200_000]);
        let mut out = Vec::new();
        while half.buffered() > 0 {
            let bytes = half.buffered().min(1400) as usize;
            half.take(bytes, &mut out);
            let most = MEMORY_FACTOR as usize * half.buffered() as usize;
            assert!(half.buffer.capacity() <= most);
        }
        assert_eq!((out.len(), half.buffer.capacity()), (200_000, 0));
    }
}
