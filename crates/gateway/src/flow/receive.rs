//! What has come, until the host takes it. Packets overtake each other, so bytes wait here for those before them.

use std::collections::BTreeMap;

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

#[derive(Clone, Debug)]
pub(crate) struct ReceiveHalf {
    /// By offset.
    chunks: BTreeMap<u64, Vec<u8>>,
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
            chunks: BTreeMap::new(),
            next: 0,
            consumed: 0,
            end: None,
            limit: window,
            window,
        }
    }

    pub fn on_data(&mut self, offset: u64, bytes: &[u8], end: bool) -> Result<(), ReceiveError> {
        let after = offset + bytes.len() as u64;
        if after > self.limit {
            return Err(ReceiveError::Credit);
        }
        let largest = self.chunks.last_key_value();
        let largest = largest.map_or(self.next, |(at, chunk)| at + chunk.len() as u64);
        if self.end.is_some_and(|it| end || after > it) || end && after < largest {
            return Err(ReceiveError::End);
        }
        if end {
            self.end = Some(after);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.chunks.range(..after).next_back();
        let overlaps = before.is_some_and(|(at, chunk)| at + chunk.len() as u64 > offset);
        if offset < self.next || overlaps {
            return Err(ReceiveError::Overlap);
        }
        self.chunks.insert(offset, bytes.to_vec());
        while let Some(chunk) = self.chunks.get(&self.next) {
            self.next += chunk.len() as u64;
        }
        Ok(())
    }

    /// The next bytes for the host, as far as they are in one piece.
    pub fn readable(&self) -> &[u8] {
        match self.chunks.first_key_value() {
            Some((&at, chunk)) if at <= self.consumed => &chunk[(self.consumed - at) as usize..],
            _ => &[],
        }
    }

    /// Bytes that the host can take now.
    pub fn ready(&self) -> u64 {
        self.next - self.consumed
    }

    /// The host has taken `bytes`, at most those of [`Self::readable`].
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.readable().len());
        self.consumed += bytes as u64;
        if let Some(first) = self.chunks.first_entry()
            && first.key() + first.get().len() as u64 <= self.consumed
        {
            first.remove();
        }
    }

    /// Bytes that have come and were not taken.
    pub fn buffered(&self) -> u64 {
        let waiting = self.chunks.range(self.next..);
        let waiting: u64 = waiting.map(|(_, chunk)| chunk.len() as u64).sum();
        self.ready() + waiting
    }

    /// The host has taken all, and nothing more comes.
    pub fn is_over(&self) -> bool {
        self.end == Some(self.consumed)
    }

    /// Whether the host knows the end, or would if it took what is ready.
    pub fn has_ended(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Whether half of the window has been used, so that the other gateway is to be told a new limit.
    pub fn owes_limit(&self) -> bool {
        self.end.is_none() && self.limit - self.consumed <= self.window / 2
    }

    /// A new limit to tell the other gateway, if one is owed. The window doubles each time, up to `largest`.
    pub fn new_limit(&mut self, largest: u64) -> Option<u64> {
        if !self.owes_limit() {
            return None;
        }
        self.window = (2 * self.window).min(largest);
        self.limit = self.consumed + self.window;
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_no_gateway_sends_is_refused() {
        let mut half = ReceiveHalf::new(100);
        assert_eq!(half.on_data(90, &[0; 11], false), Err(ReceiveError::Credit));
        half.on_data(10, &[1; 10], false).unwrap();
        assert_eq!(half.on_data(5, &[0; 6], false), Err(ReceiveError::Overlap));
        assert_eq!(half.on_data(19, &[0; 6], false), Err(ReceiveError::Overlap));
        assert_eq!(half.on_data(12, &[0; 2], false), Err(ReceiveError::Overlap));
        assert_eq!(half.on_data(0, &[0; 10], true), Err(ReceiveError::End));
        half.on_data(20, &[2; 10], true).unwrap();
        assert_eq!(half.on_data(30, &[], true), Err(ReceiveError::End));
        assert_eq!(half.on_data(29, &[0; 2], false), Err(ReceiveError::End));
        half.on_data(0, &[0; 10], false).unwrap();
        assert_eq!(half.ready(), 30);
        assert!(half.has_ended() && !half.is_over());
        assert_eq!(half.on_data(0, &[0; 10], false), Err(ReceiveError::Overlap));
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
                half.on_data(at as u64, &stream[at..at + length], end).unwrap();
                let ready = half.readable().len().min(take);
                read.extend_from_slice(&half.readable()[..ready]);
                half.consume(ready);
            }
            while !half.readable().is_empty() {
                read.extend_from_slice(half.readable());
                half.consume(half.readable().len());
            }
            prop_assert_eq!(read, stream);
            prop_assert!(half.is_over());
            prop_assert_eq!(half.buffered(), 0);
        }
    }
}
