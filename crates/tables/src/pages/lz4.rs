//! Writing an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>) whose repetitions are known
//! beforehand: a sequence is some literals and a match that lies so far back.

/// The length of the shortest match.
const LEAST: usize = 4;
/// From this length on the token does not hold a length by itself.
const NIBBLE: usize = 15;
/// A short sequence's length has at most so many bytes of 255.
const MOST_FULL: usize = 8;
/// The most that a short sequence takes: a token, up to 14 literals, an offset and a length.
const ROOM: usize = 3 + NIBBLE + MOST_FULL;
/// The furthest that a match reaches back, in bytes.
const FURTHEST: usize = 65_535;

#[derive(Debug, Default)]
pub(super) struct Block {
    /// The block is the first `end` bytes. What is behind them is kept for the next.
    bytes: Vec<u8>,
    end: usize,
    /// Where the last sequence begins.
    last: usize,
    /// So many literals that no match follows yet. They lie behind the place of their token, which is at `end`.
    literals: usize,
}

impl Block {
    /// The lowest 1 to 8 bytes of these.
    #[inline]
    pub fn literals(&mut self, bits: u64, bytes: usize) {
        let at = self.end + 1 + self.literals;
        self.see_room(at + 8);
        if let Some(room) = self.bytes[at..].first_chunk_mut() {
            *room = bits.to_le_bytes();
        }
        self.literals += bytes;
    }

    pub fn has_literals(&self) -> bool {
        self.literals > 0
    }

    /// The `length` bytes that lie `offset` bytes back.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is what a changed cell costs")]
    pub fn repeat(&mut self, offset: usize, length: usize) {
        debug_assert!((1..=FURTHEST).contains(&offset) && length >= LEAST);
        let matched = length - LEAST;
        let literals = self.literals;
        if literals >= NIBBLE || matched >= NIBBLE + 255 * MOST_FULL {
            self.repeat_long(offset as u16, matched);
            return;
        }
        self.last = self.end;
        self.see_room(self.end + ROOM);
        let Some(room) = self.bytes[self.end..].first_chunk_mut::<ROOM>() else {
            return;
        };
        room[0] = (literals << 4 | matched.min(NIBBLE)) as u8;
        let behind = &mut room[1 + literals..];
        behind[..2].copy_from_slice(&(offset as u16).to_le_bytes());
        self.end += 3 + literals;
        if let Some(rest) = matched.checked_sub(NIBBLE) {
            let full = rest / 255;
            behind[2..2 + MOST_FULL].fill(255);
            behind[2 + full] = (rest % 255) as u8;
            self.end += full + 1;
        }
        self.literals = 0;
    }

    #[inline(never)]
    fn repeat_long(&mut self, offset: u16, matched: usize) {
        self.last = self.end;
        self.end_literals(matched);
        self.put(&offset.to_le_bytes());
        self.put_rest(matched);
    }

    /// Writes the token of a sequence, and moves its literals to behind their length, if that does not fit in the token.
    fn end_literals(&mut self, matched: usize) {
        let literals = core::mem::take(&mut self.literals);
        let first = self.end + 1;
        let behind = literals
            .checked_sub(NIBBLE)
            .map_or(0, |rest| 1 + rest / 255);
        self.see_room(first + literals + behind);
        self.bytes
            .copy_within(first..first + literals, first + behind);
        self.put(&[(literals.min(NIBBLE) << 4 | matched.min(NIBBLE)) as u8]);
        self.put_rest(literals);
        self.end += literals;
    }

    /// Of a length that does not fit in the token.
    fn put_rest(&mut self, length: usize) {
        if let Some(mut rest) = length.checked_sub(NIBBLE) {
            while rest >= 255 {
                self.put(&[255]);
                rest -= 255;
            }
            self.put(&[rest as u8]);
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        self.see_room(end);
        self.bytes[self.end..end].copy_from_slice(bytes);
        self.end = end;
    }

    /// Sees that so many bytes are there.
    #[inline]
    fn see_room(&mut self, wanted: usize) {
        if self.bytes.len() < wanted {
            self.grow(wanted);
        }
    }

    /// By itself, so that what is done for each changed cell stays short.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, wanted: usize) {
        self.bytes.resize(wanted.max(2 * self.bytes.len()), 0);
    }

    /// The last 8 bytes become literals, which a match was to be. They are these, and the block has a sequence at its end.
    pub fn without_last_match(&mut self, value: u64) {
        let [mut at, end] = [self.last, self.end];
        let token = usize::from(self.bytes[at]);
        at += 1;
        let literals = self.length(&mut at, token >> 4);
        let first = at;
        at += literals;
        let offset = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
        at += 2;
        let length = self.length(&mut at, token & NIBBLE) + LEAST;
        debug_assert_eq!(at, end);
        self.bytes
            .copy_within(first..first + literals, self.last + 1);
        (self.end, self.literals) = (self.last, literals);
        let left = length.saturating_sub(8);
        if left > 0 {
            self.repeat(offset.into(), left);
        }
        let literals = length - left;
        self.literals(value >> (8 * (8 - literals)), literals);
    }

    /// Of a sequence that is in the block.
    fn length(&self, at: &mut usize, nibble: usize) -> usize {
        let mut length = nibble;
        let mut goes_on = nibble == NIBBLE;
        while goes_on {
            length += usize::from(self.bytes[*at]);
            goes_on = self.bytes[*at] == 255;
            *at += 1;
        }
        length
    }

    /// The block with the literals behind its last match, which are at least eight: decoders want five, and the match to
    /// begin at least twelve bytes before the end.
    pub fn finish(&mut self) -> &[u8] {
        self.end_literals(0);
        &self.bytes[..self.end]
    }

    /// The same with no literals behind its last match, which decoders refuse: as a library writes it.
    pub fn finish_again(&mut self, bytes: usize) -> &[u8] {
        let bytes =
            lz4_flex::block::decompress(self.finish(), bytes).expect("what was written here");
        self.bytes = lz4_flex::block::compress(&bytes);
        self.end = self.bytes.len();
        &self.bytes
    }

    /// Begins another block.
    pub fn clear(&mut self) {
        (self.end, self.last, self.literals) = (0, 0, 0);
    }
}

/// A block of literals only.
pub(super) fn literals_only(bytes: &[u8]) -> Vec<u8> {
    let mut block = Block::default();
    for piece in bytes.chunks(8) {
        let mut bits = [0; 8];
        bits[..piece.len()].copy_from_slice(piece);
        block.literals(u64::from_le_bytes(bits), piece.len());
    }
    block.finish().to_vec()
}
