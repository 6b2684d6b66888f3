//! Pieces of memory that are used again. Bytes of busy flows come and go many times a second: memory that is given back and asked for each time
//! is new to the process and to the processor's cache.

/// So many bytes have room in one piece.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
/// So many are kept for the flows of a session.
const MOST_KEPT: usize = 8;

/// Pieces that no flow uses at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// What they take at most.
    pub const MOST_BYTES: u64 = (MOST_KEPT * PIECE_BYTES) as u64;

    /// An empty piece.
    pub fn take(&mut self) -> Vec<u8> {
        let kept = self.0.pop();
        kept.unwrap_or_else(|| Vec::with_capacity(PIECE_BYTES))
    }

    /// Memory that is not used any more.
    pub fn give(&mut self, mut piece: Vec<u8>) {
        if piece.capacity() == PIECE_BYTES && self.0.len() < MOST_KEPT {
            piece.clear();
            self.0.push(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_whole_pieces_is_kept_and_they_are_empty() {
        let mut pieces = Pieces::default();
        for bytes in [PIECE_BYTES / 2, PIECE_BYTES, 2 * PIECE_BYTES] {
            for _ in 0..2 * MOST_KEPT {
                let mut piece = Vec::with_capacity(bytes);
                piece.push(1);
                pieces.give(piece);
            }
        }
        let kept: usize = pieces.0.iter().map(Vec::capacity).sum();
        assert_eq!(kept as u64, Pieces::MOST_BYTES);
        for _ in 0..=MOST_KEPT {
            let piece = pieces.take();
            assert!(piece.is_empty() && piece.capacity() == PIECE_BYTES);
        }
    }
}
