//! How much payload a full segment has. The options of the handshake say the most that a receiver takes. A path often carries less:
//! a router has changed the option on the other side of this point (MSS clamping), or the sender has learnt a smaller MTU. Then every
//! segment is shorter than the option allows, though the sender has more to send.
//!
//! A full segment is followed at once by another one. So among the segments that are, its size is frequent, and it is the largest that is.
//! Sizes are counted with few counters (Misra and Gries, 1982): a size that makes up more than one in [`SIZES`] + 1 is among them.

const SIZES: usize = 8;
/// No full segment is smaller than IPv4's least MTU without headers and options, 576 - 40 - 40.
const LEAST_BYTES: u32 = 496;
/// Nothing is said after fewer.
const ENOUGH: u32 = 16;
/// Of the segments that are followed at once, so many are full: one in so many.
const FREQUENT: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub struct FullSize {
    /// Payload, and how often.
    sizes: [(u32, u32); SIZES],
    counted: u32,
    /// Of the last segment, until the next one comes.
    last: u32,
    found: Option<u32>,
}

impl FullSize {
    /// A segment with so much payload came, at once after the one before it or not. A longer one than `most` is several in one.
    pub fn on_segment(&mut self, payload: u32, is_at_once: bool, most: u32) {
        let before = std::mem::replace(&mut self.last, payload);
        if !is_at_once || !(LEAST_BYTES..=most).contains(&before) {
            return;
        }
        self.counted = self.counted.saturating_add(1);
        if let Some((_, count)) = self.sizes.iter_mut().find(|(size, _)| *size == before) {
            *count = count.saturating_add(1);
        } else if let Some(free) = self.sizes.iter_mut().find(|(_, count)| *count == 0) {
            *free = (before, 1);
        } else {
            for (_, count) in &mut self.sizes {
                *count -= 1;
            }
        }
        if self.counted.is_multiple_of(ENOUGH) {
            self.found = self.largest_frequent();
        }
    }

    /// `None`: too few segments tell.
    #[inline]
    pub fn bytes(&self) -> Option<u32> {
        self.found
    }

    fn largest_frequent(&self) -> Option<u32> {
        let is_frequent = |count: u32| count >= (self.counted / FREQUENT).max(1);
        self.sizes
            .iter()
            .filter(|(_, count)| is_frequent(*count))
            .map(|(size, _)| *size)
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: impl IntoIterator<Item = (u32, bool)>) -> Option<u32> {
        let mut found = FullSize::default();
        for (payload, is_at_once) in sizes {
            found.on_segment(payload, is_at_once, 1448);
        }
        found.bytes()
    }

    #[test]
    fn the_largest_frequent_size_of_segments_that_are_followed_at_once_is_the_full_one() {
        // Four full segments and the rest of a record, again and again.
        let records = (0..100).flat_map(|_| [1048, 1048, 1048, 1048, 700].map(|it| (it, true)));
        assert_eq!(of(records), Some(1048));
    }

    #[test]
    fn writes_with_pauses_between_them_tell_nothing() {
        assert_eq!(of((0..100).map(|_| (700, false))), None);
    }

    #[test]
    fn a_few_segments_and_small_ones_tell_nothing() {
        assert_eq!(of((0..16).map(|_| (1048, true))), None);
        assert_eq!(of((0..100).map(|_| (100, true))), None);
    }

    #[test]
    fn segments_that_a_device_has_merged_do_not_count() {
        let merged = (0..100).flat_map(|_| [1048, 9 * 1048].map(|it| (it, true)));
        assert_eq!(of(merged), Some(1048));
    }

    #[test]
    fn many_sizes_do_not_hide_the_frequent_one() {
        let mixed = (0..3000_u32).map(|it| (if it % 3 == 0 { 1200 } else { 500 + it % 600 }, true));
        assert_eq!(of(mixed), Some(1200));
    }
}
