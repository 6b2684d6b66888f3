//! Maps and sets in the order of their keys, which are one or two numbers.
//!
//! A `BTreeMap` is compiled again for each type of its keys and values, six kilobytes of WebAssembly each time. These share one: it
//! leads from a key, packed into one number, to a place in a list of values.

use crate::Time;
use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;

/// A key that is one number. Numbers are in the order of the keys.
pub trait Number: Copy {
    fn pack(self) -> u64;
    fn unpack(number: u64) -> Self;
}

/// A key of one number, or of two.
pub trait Key: Copy {
    fn pack(self) -> u128;
    fn unpack(packed: u128) -> Self;
}

impl Number for u64 {
    fn pack(self) -> u64 {
        self
    }

    fn unpack(number: u64) -> Self {
        number
    }
}

impl Number for u32 {
    fn pack(self) -> u64 {
        self.into()
    }

    fn unpack(number: u64) -> Self {
        number as u32
    }
}

impl Number for Time {
    fn pack(self) -> u64 {
        (self.0 as u64) ^ (1 << 63)
    }

    fn unpack(number: u64) -> Self {
        Self((number ^ (1 << 63)) as i64)
    }
}

impl<A: Number> Key for A {
    fn pack(self) -> u128 {
        Number::pack(self).into()
    }

    fn unpack(packed: u128) -> Self {
        Number::unpack(packed as u64)
    }
}

impl<A: Number, B: Number> Key for (A, B) {
    fn pack(self) -> u128 {
        u128::from(self.0.pack()) << 64 | u128::from(self.1.pack())
    }

    fn unpack(packed: u128) -> Self {
        (A::unpack((packed >> 64) as u64), B::unpack(packed as u64))
    }
}

/// Packed keys, and the place of each one's value. A browser's module has each function once; a native program has them inlined.
#[derive(Clone, Debug, Default)]
struct Places(BTreeMap<u128, u32>);

impl Places {
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn get(&self, key: u128) -> Option<u32> {
        self.0.get(&key).copied()
    }

    /// The place that the key had.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn insert(&mut self, key: u128, place: u32) -> Option<u32> {
        self.0.insert(key, place)
    }

    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn remove(&mut self, key: u128) -> Option<u32> {
        self.0.remove(&key)
    }

    /// The first key from this one on.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn from(&self, key: u128) -> Option<(u128, u32)> {
        self.0
            .range(key..)
            .next()
            .map(|(&key, &place)| (key, place))
    }

    /// The last key before this one, or with it.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn up_to(&self, key: u128) -> Option<(u128, u32)> {
        let mut until = self.0.range(..=key);
        until.next_back().map(|(&key, &place)| (key, place))
    }
}

/// An empty map keeps memory for so many values.
const KEPT: usize = 4;

/// Values by their keys.
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    places: Places,
    values: Vec<Option<V>>,
    /// Places in `values` that are empty.
    free: Vec<u32>,
    keys: PhantomData<K>,
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> OrderedMap<K, V> {
    pub const fn new() -> Self {
        Self {
            places: Places(BTreeMap::new()),
            values: Vec::new(),
            free: Vec::new(),
            keys: PhantomData,
        }
    }

    pub fn len(&self) -> usize {
        self.places.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Key, V> OrderedMap<K, V> {
    pub fn contains_key(&self, key: K) -> bool {
        self.places.get(key.pack()).is_some()
    }

    pub fn get(&self, key: K) -> Option<&V> {
        let place = self.places.get(key.pack())?;
        self.values[place as usize].as_ref()
    }

    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let place = self.places.get(key.pack())?;
        self.values[place as usize].as_mut()
    }

    /// The value that the key had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(had) = self.get_mut(key) {
            return Some(core::mem::replace(had, value));
        }
        self.insert_new(key, value);
        None
    }

    /// The place of the value.
    fn insert_new(&mut self, key: K, value: V) -> u32 {
        let place = if let Some(place) = self.free.pop() {
            self.values[place as usize] = Some(value);
            place
        } else {
            self.values.push(Some(value));
            self.values.len() as u32 - 1
        };
        self.places.insert(key.pack(), place);
        place
    }

    /// The key's value, which is made if it has none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.places.get(key.pack()) {
            Some(place) => place,
            None => self.insert_new(key, make()),
        };
        self.values[place as usize]
            .as_mut()
            .expect("a key's place has its value")
    }

    pub fn remove(&mut self, key: K) -> Option<V> {
        let place = self.places.remove(key.pack())?;
        let value = self.values[place as usize].take();
        if self.is_empty() {
            self.values.clear();
            self.free.clear();
            // A few come and go often. Of more, nothing is kept.
            if self.values.capacity() > KEPT {
                (self.values, self.free) = (Vec::new(), Vec::new());
            }
        } else {
            self.free.push(place);
        }
        value
    }

    fn value(&self, (key, place): (u128, u32)) -> Option<(K, &V)> {
        let value = self.values[place as usize].as_ref();
        value.map(|value| (K::unpack(key), value))
    }

    pub fn first(&self) -> Option<(K, &V)> {
        self.value(self.places.from(0)?)
    }

    pub fn last(&self) -> Option<(K, &V)> {
        self.value(self.places.up_to(u128::MAX)?)
    }

    /// The first key from this one on, and its value.
    pub fn first_from(&self, key: K) -> Option<(K, &V)> {
        self.value(self.places.from(key.pack())?)
    }

    /// The last key up to this one, and its value.
    pub fn last_up_to_mut(&mut self, key: K) -> Option<(K, &mut V)> {
        let (key, place) = self.places.up_to(key.pack())?;
        let value = self.values[place as usize].as_mut();
        value.map(|value| (K::unpack(key), value))
    }

    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (key, _) = self.places.from(0)?;
        let key = K::unpack(key);
        self.remove(key).map(|value| (key, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.places.0.keys().map(|&key| K::unpack(key))
    }

    /// In the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        let values = self.places.0.values();
        values.filter_map(|&place| self.values[place as usize].as_ref())
    }

    pub fn retain(&mut self, keeps: impl Fn(&V) -> bool) {
        let gone: Vec<_> = self
            .keys()
            .filter(|&key| self.get(key).is_some_and(|value| !keeps(value)))
            .collect();
        for key in gone {
            self.remove(key);
        }
    }
}

impl<K: Key + fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.keys().zip(self.values()))
            .finish()
    }
}

/// Keys in their order.
#[derive(Clone)]
pub struct OrderedSet<K> {
    places: Places,
    keys: PhantomData<K>,
}

impl<K> Default for OrderedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> OrderedSet<K> {
    pub const fn new() -> Self {
        Self {
            places: Places(BTreeMap::new()),
            keys: PhantomData,
        }
    }

    pub fn len(&self) -> usize {
        self.places.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Key> OrderedSet<K> {
    /// Whether it was not in the set.
    pub fn insert(&mut self, key: K) -> bool {
        self.places.insert(key.pack(), 0).is_none()
    }

    /// Whether it was in the set.
    pub fn remove(&mut self, key: K) -> bool {
        self.places.remove(key.pack()).is_some()
    }

    pub fn contains(&self, key: K) -> bool {
        self.places.get(key.pack()).is_some()
    }

    pub fn first(&self) -> Option<K> {
        self.places.from(0).map(|(key, _)| K::unpack(key))
    }

    pub fn last(&self) -> Option<K> {
        self.places.up_to(u128::MAX).map(|(key, _)| K::unpack(key))
    }

    pub fn pop_first(&mut self) -> Option<K> {
        let first = self.first()?;
        self.remove(first);
        Some(first)
    }

    pub fn iter(&self) -> impl Iterator<Item = K> {
        self.places.0.keys().map(|&key| K::unpack(key))
    }
}

impl<K: Key> FromIterator<K> for OrderedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        for key in keys {
            set.insert(key);
        }
        set
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for OrderedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        let times = [i64::MIN, -5, 0, 7, i64::MAX].map(Time);
        let mut set: OrderedSet<(Time, u64)> = OrderedSet::new();
        for &time in times.iter().rev() {
            for number in [u64::MAX, 3, 0] {
                assert!(set.insert((time, number)));
            }
        }
        let sorted = times
            .iter()
            .flat_map(|&it| [(it, 0), (it, 3), (it, u64::MAX)]);
        assert!(set.iter().eq(sorted));
    }

    #[test]
    fn a_map_is_what_a_tree_of_its_keys_and_values_is() {
        let mut random = SplitMix64(7);
        let mut map = OrderedMap::<u32, u64>::new();
        let mut tree = BTreeMap::<u32, u64>::new();
        for _ in 0..20_000 {
            let (key, value) = ((random.draw() % 50) as u32, random.draw());
            match random.draw() % 6 {
                0 => assert_eq!(map.insert(key, value), tree.insert(key, value)),
                1 | 2 => assert_eq!(map.remove(key), tree.remove(&key)),
                3 => assert_eq!(
                    map.get_or_insert_with(key, || value),
                    tree.entry(key).or_insert(value)
                ),
                4 if value % 100 == 0 => {
                    map.retain(|it| it % 3 == 0);
                    tree.retain(|_, it| *it % 3 == 0);
                }
                4 => assert_eq!(map.pop_first(), tree.pop_first()),
                _ => {
                    let from = tree.range(key..).next();
                    assert_eq!(map.first_from(key), from.map(|(&key, it)| (key, it)));
                    let until = tree.range_mut(..=key).next_back();
                    assert_eq!(map.last_up_to_mut(key), until.map(|(&key, it)| (key, it)));
                    assert_eq!(map.get(key), tree.get(&key));
                }
            }
            assert_eq!(map.len(), tree.len());
            let last = tree.last_key_value();
            assert_eq!(map.last(), last.map(|(&key, it)| (key, it)));
        }
        assert!(map.keys().eq(tree.keys().copied()) && map.values().eq(tree.values()));
    }
}
