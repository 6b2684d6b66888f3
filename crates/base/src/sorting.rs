//! Sorting in few instructions. The sorts of Rust's library take 8 kB of WebAssembly for each type and order; this one takes 0.5 kB, and is
//! meant for lists that are short or sorted seldom.

/// Sorts by merging, and leaves equals in their order.
pub fn sort_by<T: Copy>(list: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    let mut merged = list.to_vec();
    let mut sorted = 1;
    while sorted < list.len() {
        for (from, to) in list.chunks(2 * sorted).zip(merged.chunks_mut(2 * sorted)) {
            let (mut left, mut right) = from.split_at(sorted.min(from.len()));
            for place in to {
                let takes_right = match (left.first(), right.first()) {
                    (Some(left), Some(right)) => is_before(right, left),
                    (left, _) => left.is_none(),
                };
                let source = if takes_right { &mut right } else { &mut left };
                if let Some((first, rest)) = source.split_first() {
                    (*place, *source) = (*first, rest);
                }
            }
        }
        list.copy_from_slice(&merged);
        sorted *= 2;
    }
}

/// Sorts a few, such as the blocks of a SACK, by insertion.
pub fn sort_few<T: Copy + PartialOrd>(list: &mut [T]) {
    for end in 1..list.len() {
        let mut place = end;
        while place > 0 && list[place] < list[place - 1] {
            list.swap(place, place - 1);
            place -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    #[test]
    fn lists_of_any_length_are_sorted_as_rusts_library_sorts_them() {
        let mut random = SplitMix64(5);
        for length in (0..40).chain([1000, 1023, 1025]) {
            let list: Vec<(u32, usize)> = (0..length)
                .map(|at| (random.draw_below(length as u32 / 2 + 1), at))
                .collect();
            let (mut sorted, mut expected) = (list.clone(), list.clone());
            sort_by(&mut sorted, |a, b| a.0 < b.0);
            expected.sort_by_key(|it| it.0);
            assert_eq!(sorted, expected);
            let mut few = list;
            sort_few(&mut few);
            expected.sort_unstable();
            assert_eq!(few, expected);
        }
    }
}
