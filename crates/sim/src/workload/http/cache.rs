//! What a web cache holds: whole objects, the least recently used dropped first where they are more than fit (nginx's
//! `proxy_cache_path` with `max_size`).
//!
//! 1. What is too much goes at once; nginx's cache manager comes by every ten seconds, or when its zone is full.
//! 2. Nothing is dropped for its age.
//! 3. Only bodies count: no heads, no rounding to the file system's blocks.

use bentpipe_base::OrderedMap;

#[derive(Debug)]
pub(super) struct Cache {
    capacity_bytes: u64,
    held_bytes: u64,
    objects: OrderedMap<u32, Object>,
    /// By when it was last used.
    order: OrderedMap<u64, u32>,
    uses: u64,
}

#[derive(Debug)]
struct Object {
    bytes: u64,
    used: u64,
}

impl Cache {
    pub fn new(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            held_bytes: 0,
            objects: OrderedMap::new(),
            order: OrderedMap::new(),
            uses: 0,
        }
    }

    /// Whether an object is held; if so it is used now.
    pub fn look_up(&mut self, object: u32) -> bool {
        let Some(held) = self.objects.get_mut(object) else {
            return false;
        };
        self.order.remove(held.used);
        self.uses += 1;
        held.used = self.uses;
        self.order.insert(self.uses, object);
        true
    }

    pub fn store(&mut self, object: u32, bytes: u64) {
        self.remove(object);
        self.uses += 1;
        let used = self.uses;
        self.objects.insert(object, Object { bytes, used });
        self.order.insert(used, object);
        self.held_bytes += bytes;
        while self.held_bytes > self.capacity_bytes
            && let Some((_, &oldest)) = self.order.first()
        {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, object: u32) {
        if let Some(held) = self.objects.remove(object) {
            self.order.remove(held.used);
            self.held_bytes -= held.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut cache = Cache::new(300);
        for object in 1..=3 {
            cache.store(object, 100);
        }
        assert!(cache.look_up(1));
        cache.store(4, 100);
        let held: Vec<_> = (1..=4).filter(|&object| cache.look_up(object)).collect();
        assert_eq!(held, [1, 3, 4]);
    }

    #[test]
    fn what_is_larger_than_the_cache_is_not_kept() {
        let mut cache = Cache::new(300);
        cache.store(1, 301);
        assert!(!cache.look_up(1));
        assert_eq!(cache.held_bytes, 0);
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_fits_and_counts_what_it_holds(
            stored in prop::collection::vec((0_u32..8, 1_u64..200), 1..60),
        ) {
            let mut cache = Cache::new(500);
            let mut sizes = BTreeMap::new();
            for (object, bytes) in stored {
                cache.store(object, bytes);
                sizes.insert(object, bytes);
                prop_assert!(cache.held_bytes <= 500);
            }
            let held = sizes.iter().filter(|&(&object, _)| cache.look_up(object));
            prop_assert_eq!(held.map(|(_, bytes)| bytes).sum::<u64>(), cache.held_bytes);
        }
    }
}
