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

/// Sums `covered`, of which the field at `at` is a part, and puts the checksum there. `others`: what else it covers.
pub(crate) fn finish(covered: &mut [u8], at: usize, others: u64) {
    covered[at..at + 2].fill(0);
    let checksum = !fold(others + sum(covered));
    covered[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
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
