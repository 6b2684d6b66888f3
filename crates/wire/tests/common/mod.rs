/// The one's complement sum word by word, with the carry added back each time: as slow and plain as it can be.
pub fn plain_sum(bytes: &[u8]) -> u16 {
    let mut total = 0_u16;
    for pair in bytes.chunks(2) {
        let word = u16::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u16::from(*low));
        let (wrapped, carry) = total.overflowing_add(word);
        total = wrapped + u16::from(carry);
    }
    total
}
