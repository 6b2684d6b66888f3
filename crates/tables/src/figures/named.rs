//! A few things by name, such as the figures of both pipes.

use core::ops::Index;
use serde::{Serialize, Serializer};

/// In the order of their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(Vec<(&'static str, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    pub fn insert(&mut self, name: &'static str, value: T) {
        let place = self.0.iter().take_while(|it| it.0 < name).count();
        self.0.insert(place, (name, value));
    }

    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|it| it.0 == name).map(|it| it.1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|it| &it.1)
    }
}

impl<T, const N: usize> From<[(&'static str, T); N]> for Named<T> {
    fn from(all: [(&'static str, T); N]) -> Self {
        let mut named = Self::default();
        for (name, value) in all {
            named.insert(name, value);
        }
        named
    }
}

impl<T> Index<&str> for Named<T> {
    type Output = T;

    fn index(&self, name: &str) -> &T {
        self.get(name).expect("a name that is there")
    }
}

/// As a map.
impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
