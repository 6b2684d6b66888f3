//! A page's header in Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>), of which it takes whole numbers,
//! flags and a structure within the structure. Fields of a structure come with the distance from the one before.

use parquet::basic::PageType;

pub(super) struct Header(Vec<u8>);

impl Header {
    const TRUE: u8 = 1;
    const FALSE: u8 = 2;
    const I32: u8 = 5;
    const STRUCT: u8 = 12;

    /// Up to the structure of its own kind of page, which is this field. Lengths are the uncompressed and the compressed one.
    pub fn new(kind: PageType, lengths: [i32; 2], field: u8) -> Self {
        let mut header = Self(Vec::with_capacity(40));
        header.numbers(&[kind as i32, lengths[0], lengths[1]]);
        header.0.push((field - 3) << 4 | Self::STRUCT);
        header
    }

    pub fn structure(mut self, numbers: &[i32]) -> Self {
        self.numbers(numbers);
        self
    }

    pub fn flag(mut self, flag: bool) -> Self {
        let value = if flag { Self::TRUE } else { Self::FALSE };
        self.0.push(1 << 4 | value);
        self
    }

    /// Ends both structures.
    pub fn end(mut self) -> Vec<u8> {
        self.0.extend([0, 0]);
        self.0
    }

    fn numbers(&mut self, numbers: &[i32]) {
        for number in numbers {
            self.0.push(1 << 4 | Self::I32);
            let zigzag = number << 1 ^ number >> 31;
            varint(&mut self.0, zigzag as u32);
        }
    }
}

/// ULEB128.
pub(super) fn varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
