//! Integers of variable length, as RFC 9000 has them (section 16): the two highest bits tell how many bytes there are.

/// The largest number that can be written.
pub const MAX: u64 = (1 << 62) - 1;

/// Bytes that a number takes.
pub fn length(number: u64) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Appends a number, which is at most [`MAX`].
pub fn write(number: u64, out: &mut Vec<u8>) {
    debug_assert!(number <= MAX);
    match length(number) {
        1 => out.push(number as u8),
        2 => out.extend_from_slice(&(number as u16 | 0x4000).to_be_bytes()),
        4 => out.extend_from_slice(&(number as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// The number at the beginning of `bytes`, and what follows it.
pub fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1_usize << (bytes.first()? >> 6);
    let (field, rest) = bytes.split_at_checked(length)?;
    let number = field
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte));
    let value_bits = 8 * length as u32 - 2;
    Some((number & ((1 << value_bits) - 1), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_rfc_9000_appendix_a_1_are_read() {
        let long = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(read(&long), Some((151_288_809_941_952_652, &[][..])));
        assert_eq!(
            read(&[0x9d, 0x7f, 0x3e, 0x7d]),
            Some((494_878_333, &[][..]))
        );
        assert_eq!(read(&[0x7b, 0xbd, 1]), Some((15_293, &[1][..])));
        assert_eq!(read(&[0x25]), Some((37, &[][..])));
        assert_eq!(read(&[0x40]), None);
        assert_eq!(read(&[]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in 0..=MAX, small in 0_u64..20_000) {
            for number in [number, small] {
                let mut bytes = Vec::new();
                write(number, &mut bytes);
                prop_assert_eq!(bytes.len(), length(number));
                prop_assert_eq!(read(&bytes), Some((number, &[][..])));
            }
        }
    }
}
