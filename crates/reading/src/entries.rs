//! A table of keys that are not known before.

use crate::{Fault, Read, Value};
use serde::{Serialize, Serializer};

/// In the order of their names, each of which is there once.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<V>(Vec<(String, V)>);

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Entries<V> {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|it| it.0 == name).map(|it| &it.1)
    }

    /// It takes the place of what had this name.
    pub fn insert(&mut self, name: String, value: V) {
        self.remove(&name);
        let place = self.0.iter().take_while(|it| it.0 < name).count();
        self.0.insert(place, (name, value));
    }

    pub fn remove(&mut self, name: &str) -> Option<V> {
        let place = self.0.iter().position(|it| it.0 == name)?;
        Some(self.0.remove(place).1)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|it| it.0.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<V> FromIterator<(String, V)> for Entries<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(all: I) -> Self {
        let mut entries = Self::new();
        for (name, value) in all {
            entries.insert(name, value);
        }
        entries
    }
}

impl<V: Read> Read for Entries<V> {
    fn blank() -> Self {
        Self::new()
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        let Value::Table(given) = value else {
            return Err(Fault::expected("a table", value));
        };
        self.0.clear();
        for (name, value) in given {
            let read = V::from_value(value).map_err(|fault| fault.within(name))?;
            self.insert(name.clone(), read);
        }
        Ok(())
    }
}

/// As a map.
impl<V: Serialize> Serialize for Entries<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
