//! What is kept of each of the newest numbers, in memory that grows as far as they need.

use core::ops::{Index, IndexMut};

/// There are a power of two of places, so that finding one is a mask and no division. A number's place is that of an older one:
/// whoever asks knows which numbers are kept.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    mask: u64,
}

impl<T: Clone> Ring<T> {
    /// For so many numbers in a row.
    pub fn new(capacity: usize) -> Self {
        Self {
            places: Vec::new(),
            mask: capacity.max(1).next_power_of_two() as u64 - 1,
        }
    }

    #[inline]
    fn place(&self, id: u64) -> usize {
        (id & self.mask) as usize
    }

    #[inline]
    pub fn get(&self, id: u64) -> Option<&T> {
        self.places.get(self.place(id))
    }

    #[inline]
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let place = self.place(id);
        self.places.get_mut(place)
    }

    pub fn set(&mut self, id: u64, kept: T) {
        let place = self.place(id);
        match self.places.get_mut(place) {
            Some(old) => *old = kept,
            None => self.places.resize(place + 1, kept),
        }
    }
}

impl<T: Clone> Index<u64> for Ring<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: u64) -> &T {
        &self.places[self.place(id)]
    }
}

impl<T: Clone> IndexMut<u64> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, id: u64) -> &mut T {
        let place = self.place(id);
        &mut self.places[place]
    }
}
