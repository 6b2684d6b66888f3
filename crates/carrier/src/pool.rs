//! Memory for messages: asked for in pieces, and used again when what lay in a piece is gone.

use bytes::BytesMut;

/// More pieces than messages under way fill: when a piece's turn comes again, it is mostly free.
const PIECES: usize = 8;

#[derive(Debug)]
pub struct Pool {
    pieces: [BytesMut; PIECES],
    at: usize,
    piece_bytes: usize,
}

impl Pool {
    /// A piece has so many bytes, or those of one message if they are more.
    pub fn new(piece_bytes: usize) -> Self {
        Self {
            pieces: Default::default(),
            at: 0,
            piece_bytes,
        }
    }

    /// A copy of `bytes`.
    pub fn copy(&mut self, bytes: &[u8]) -> BytesMut {
        if self.pieces[self.at].capacity() < bytes.len() {
            self.at = (self.at + 1) % PIECES;
            let piece = &mut self.pieces[self.at];
            if piece.capacity() < bytes.len() {
                piece.reserve(self.piece_bytes.max(bytes.len()));
            }
        }
        let piece = &mut self.pieces[self.at];
        piece.extend_from_slice(bytes);
        piece.split()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn copies_are_whole_and_pieces_are_used_again() {
        let mut pool = Pool::new(4096);
        let mut places = BTreeSet::new();
        for round in 0..1000_usize {
            let body = vec![round as u8; 1 + round * 37 % 1500];
            let copies = [0; 3].map(|_| pool.copy(&body));
            assert!(copies.iter().all(|copy| copy[..] == body[..]));
            places.insert(copies[0].as_ptr() as usize / 4096);
        }
        assert!(places.len() <= 4 * PIECES, "{} places", places.len());
        assert_eq!(pool.copy(&[7; 9000])[..], [7; 9000]);
    }
}
