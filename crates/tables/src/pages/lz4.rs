//! Writing an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>) whose repetitions are known
//! beforehand: a sequence is some literals and a match that lies so far back.

/// The length of the shortest match.
const LEAST: usize = 4;
/// From this length on the token does not hold a length by itself.
const NIBBLE: usize = 15;
/// What one short sequence is written as, whatever part of it counts.
const ROOM: usize = 16;
/// The furthest that a match reaches back, in bytes.
pub(super) const FURTHEST: usize = 65_535;

#[derive(Debug, Default)]
pub(super) struct Block {
    /// The block is the first `end` bytes. What is behind them is kept for the next.
    bytes: Vec<u8>,
    end: usize,
    /// Where the last sequence begins.
    last: usize,
    /// Literals that no match follows yet: up to eight, lowest byte first, or else `many`.
    few: u64,
    few_bytes: usize,
    many: Vec<u8>,
}

impl Block {
    /// The lowest 1 to 8 bytes of these.
    #[inline]
    pub fn literals(&mut self, bits: u64, bytes: usize) {
        if self.few_bytes == 0 && self.many.is_empty() {
            self.few = bits & u64::MAX >> (64 - 8 * bytes);
            self.few_bytes = bytes;
        } else {
            self.more_literals(&bits.to_le_bytes()[..bytes]);
        }
    }

    pub fn has_literals(&self) -> bool {
        self.few_bytes > 0 || !self.many.is_empty()
    }

    /// The `length` bytes that lie `offset` bytes back.
    #[inline]
    pub fn repeat(&mut self, offset: usize, length: usize) {
        debug_assert!((1..=FURTHEST).contains(&offset) && length >= LEAST);
        let matched = length - LEAST;
        self.last = self.end;
        if self.bytes.len() < self.end + ROOM {
            self.grow(ROOM);
        }
        if self.many.is_empty()
            && matched < NIBBLE + 255
            && let Some(room) = self.bytes[self.end..].first_chunk_mut::<ROOM>()
        {
            let literals = self.few_bytes.min(8);
            let (token, rest) = match matched.checked_sub(NIBBLE) {
                Some(rest) => (NIBBLE, rest),
                None => (matched, 0),
            };
            let behind = offset as u32 | (rest as u32) << 16;
            room[0] = (literals << 4 | token) as u8;
            room[1..9].copy_from_slice(&self.few.to_le_bytes());
            room[1 + literals..5 + literals].copy_from_slice(&behind.to_le_bytes());
            self.end += 3 + literals + usize::from(matched >= NIBBLE);
        } else {
            self.repeat_long(offset as u16, matched);
        }
        self.few_bytes = 0;
    }

    #[cold]
    fn repeat_long(&mut self, offset: u16, matched: usize) {
        self.put_literals(matched);
        self.put(&offset.to_le_bytes());
        self.put_rest(matched);
    }

    /// The token of a sequence and its literals, which are then none.
    fn put_literals(&mut self, matched: usize) {
        self.more_literals(&[]);
        let many = core::mem::take(&mut self.many);
        self.put(&[(many.len().min(NIBBLE) << 4 | matched.min(NIBBLE)) as u8]);
        self.put_rest(many.len());
        self.put(&many);
        self.many = many;
        self.many.clear();
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
        if self.bytes.len() < end {
            self.grow(bytes.len());
        }
        self.bytes[self.end..end].copy_from_slice(bytes);
        self.end = end;
    }

    #[inline(never)]
    fn more_literals(&mut self, bytes: &[u8]) {
        let few = self.few.to_le_bytes();
        self.many.extend_from_slice(&few[..self.few_bytes]);
        self.few_bytes = 0;
        self.many.extend_from_slice(bytes);
    }

    #[cold]
    fn grow(&mut self, by: usize) {
        let wanted = (2 * self.bytes.len()).max(self.end + by);
        self.bytes.resize(wanted, 0);
    }

    /// The last 8 bytes become literals, which a match was to be. They are these, and the block has a sequence at its end.
    pub fn without_last_match(&mut self, value: u64) {
        let [mut at, end] = [self.last, self.end];
        let token = usize::from(self.bytes[at]);
        at += 1;
        let literals = self.length(&mut at, token >> 4);
        let literals = at..at + literals;
        at = literals.end;
        let offset = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
        at += 2;
        let length = self.length(&mut at, token & NIBBLE) + LEAST;
        debug_assert_eq!(at, end);
        self.many.extend_from_slice(&self.bytes[literals]);
        self.end = self.last;
        let left = length.saturating_sub(8);
        if left > 0 {
            self.repeat(offset.into(), left);
        }
        self.more_literals(&value.to_le_bytes()[8 - (length - left)..]);
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
        self.put_literals(0);
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
        (self.end, self.last, self.few_bytes) = (0, 0, 0);
        self.many.clear();
    }
}

/// A block of literals only.
pub(super) fn literals_only(bytes: &[u8]) -> Vec<u8> {
    let mut block = Block::default();
    block.more_literals(bytes);
    block.finish().to_vec()
}
