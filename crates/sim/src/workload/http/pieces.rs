//! How a download accelerator shares a file between its connections: aria2 1.36 with `--min-split-size=1M` (`BitfieldMan`,
//! `SegmentMan`, `HttpRequestCommand`, `DownloadCommand`).
//!
//! The file is pieces of 1 MiB. A connection takes one piece, asks for all that follows it up to the next piece that another
//! has, and goes on from piece to piece until it meets one that is no longer free. From one whose connection has had no answer
//! yet it takes that piece too (`getCleanSegmentIfOwnerIsIdle`), if what it asked for goes so far. A connection that looks for work
//! is sent to the middle of the longest stretch that nobody has begun.

use std::ops::Range;

const PIECE: u64 = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Free,
    /// A connection is at it.
    Used,
    Here,
}

#[derive(Clone, Debug)]
pub(super) struct Pieces {
    size: u64,
    pieces: Vec<Piece>,
}

impl Pieces {
    pub fn new(size: u64) -> Self {
        Self {
            size,
            pieces: vec![Piece::Free; size.div_ceil(PIECE).max(1) as usize],
        }
    }

    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// The piece for a connection that has none (`getSparseMissingUnusedIndex`): of the longest free stretch the first if
    /// what lies before it is here, else the middle.
    pub fn take(&mut self) -> Option<usize> {
        let mut best: Option<Range<usize>> = None;
        let mut next = 0;
        while let Some(start) = self.find(next, |piece| piece == Piece::Free) {
            let end = self.end_of_free(start);
            let first = if self.follows(start, Piece::Used) {
                start + (end - start) / 2
            } else {
                start
            };
            let better = best.as_ref().is_none_or(|best| {
                best.len() < end - first
                    || best.len() == end - first
                        && !self.follows(best.start, Piece::Here)
                        && self.follows(first, Piece::Here)
            });
            if better {
                best = Some(first..end);
            }
            next = end;
        }
        let first = best?.start;
        self.pieces[first] = Piece::Used;
        Some(first)
    }

    /// A connection goes on to the piece after this one, if nobody has it.
    pub fn take_after(&mut self, piece: usize) -> Option<usize> {
        let next = self.pieces.get_mut(piece + 1)?;
        if *next != Piece::Free {
            return None;
        }
        *next = Piece::Used;
        Some(piece + 1)
    }

    pub fn arrived(&mut self, piece: usize) {
        self.pieces[piece] = Piece::Here;
    }

    /// Its connection is gone.
    pub fn give_back(&mut self, piece: usize) {
        self.pieces[piece] = Piece::Free;
    }

    pub fn start(piece: usize) -> u64 {
        piece as u64 * PIECE
    }

    pub fn end(&self, piece: usize) -> u64 {
        Self::start(piece + 1).min(self.size)
    }

    /// Bytes from this piece on that a request asks for.
    pub fn range(&self, piece: usize) -> Range<u64> {
        let end = self.find(piece + 1, |piece| piece != Piece::Free);
        Self::start(piece)..end.map_or(self.size, Self::start)
    }

    fn find(&self, from: usize, wanted: impl Fn(Piece) -> bool) -> Option<usize> {
        let rest = self.pieces.get(from..)?;
        rest.iter()
            .position(|&piece| wanted(piece))
            .map(|place| from + place)
    }

    fn end_of_free(&self, start: usize) -> usize {
        self.find(start, |piece| piece != Piece::Free)
            .unwrap_or(self.pieces.len())
    }

    fn follows(&self, piece: usize, before: Piece) -> bool {
        piece > 0 && self.pieces[piece - 1] == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(size: u64, connections: usize) -> Vec<usize> {
        let mut pieces = Pieces::new(size);
        (0..connections).filter_map(|_| pieces.take()).collect()
    }

    #[test]
    fn connections_begin_where_those_of_the_real_program_did() {
        // aria2c -x 4 -s 4 -k 1M against nginx over 200 ms, as captured.
        assert_eq!(taken(5_000_000, 4), [0, 3, 2, 1]);
        assert_eq!(taken(50_000_000, 4), [0, 24, 12, 36]);
    }

    #[test]
    fn a_request_asks_for_all_up_to_the_next_piece_that_is_taken() {
        let mut pieces = Pieces::new(50_000_000);
        while pieces.take().is_some_and(|piece| piece != 36) {}
        assert_eq!(pieces.range(24), 25_165_824..37_748_736);
        assert_eq!(pieces.range(36), 37_748_736..50_000_000);
    }

    #[test]
    fn who_finds_the_next_piece_taken_is_sent_to_the_middle_of_the_longest_stretch() {
        let mut pieces = Pieces::new(50_000_000);
        while pieces.take().is_some_and(|piece| piece != 36) {}
        for piece in 0..12 {
            pieces.arrived(piece);
            assert_eq!(pieces.take_after(piece).is_some(), piece < 11);
        }
        for (first, at) in [(12, 14), (24, 27), (36, 39)] {
            for piece in first..at {
                pieces.arrived(piece);
                assert!(pieces.take_after(piece).is_some());
            }
        }
        assert_eq!(pieces.take(), Some(19));
    }

    #[test]
    fn a_small_file_is_one_piece() {
        assert_eq!(taken(1_000_000, 4), [0]);
        assert_eq!(taken(1_048_577, 4), [0, 1]);
    }

    #[test]
    fn what_a_lost_connection_had_is_taken_again() {
        let mut pieces = Pieces::new(3_000_000);
        assert_eq!(pieces.take(), Some(0));
        assert_eq!(pieces.take(), Some(2));
        pieces.give_back(2);
        assert_eq!(pieces.take(), Some(2));
    }
}
