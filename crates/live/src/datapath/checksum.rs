//! The Internet checksum (RFC 1071) and its adjustment when a field changes (RFC 1624).

/// The one's complement sum of `bytes` as big-endian 16-bit words, not yet folded. An odd last byte counts as if a
/// zero followed, so only the last piece of a sum may have an odd length.
pub fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(4);
    let mut total: u64 = words
        .by_ref()
        .map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
        .sum();
    let mut rest = [0; 4];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    total += u64::from(u32::from_be_bytes(rest));
    total
}

/// Folds a sum into 16 bits, uncomplemented.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The uncomplemented 16-bit sum after `old` has become `new` in what it covers.
pub fn adjust(sum: u16, old: u16, new: u16) -> u16 {
    fold(u64::from(sum) + u64::from(!old) + u64::from(new))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word by word, with the carry added back each time: as slow and plain as it can be.
    pub(crate) fn plain(bytes: &[u8]) -> u16 {
        let mut total = 0_u16;
        for pair in bytes.chunks(2) {
            let word = u16::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u16::from(*low));
            let (wrapped, carry) = total.overflowing_add(word);
            total = wrapped + u16::from(carry);
        }
        total
    }

    #[test]
    fn rfc_1071_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)), 0xddf2);
    }

    proptest! {
        #[test]
        fn the_fast_sum_is_the_plain_sum(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            prop_assert_eq!(fold(sum(&bytes)), plain(&bytes));
        }

        #[test]
        fn adjusting_is_summing_again(mut words in proptest::collection::vec(1_u16.., 2..20), new in 1_u16..) {
            let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
            let before = fold(sum(&bytes(&words)));
            let old = std::mem::replace(&mut words[0], new);
            prop_assert_eq!(adjust(before, old, new) % 0xffff, fold(sum(&bytes(&words))) % 0xffff);
        }
    }
}
