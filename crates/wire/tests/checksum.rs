//! The Internet checksum, against the plainest way to compute it.

mod common;

use bentpipe_wire::checksum::{adjust, fold, sum};
use common::plain_sum;
use proptest::prelude::*;

#[test]
fn rfc_1071_example() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(fold(sum(&bytes)), 0xddf2);
}

proptest! {
    #[test]
    fn the_fast_sum_is_the_plain_sum(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert_eq!(fold(sum(&bytes)), plain_sum(&bytes));
    }

    #[test]
    fn adjusting_is_summing_again(mut words in proptest::collection::vec(any::<u16>(), 2..20), at: prop::sample::Index, new: u16) {
        let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        let before = fold(sum(&bytes(&words)));
        let at = at.index(words.len());
        let old = std::mem::replace(&mut words[at], new);
        // In one's complement 0 and 0xffff are the same.
        prop_assert_eq!(adjust(before, old, new) % 0xffff, fold(sum(&bytes(&words))) % 0xffff);
    }
}
