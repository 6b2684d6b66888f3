//! The parameters that a box asks for, one by one. One that no one asked for is an error that names the known ones.

use bentpipe_base::words::joined;
use bentpipe_reading::{Entries, in_words};
use std::ops::RangeInclusive;

#[derive(Debug)]
pub struct Parameters<'a> {
    given: &'a Entries<f64>,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(given: &'a Entries<f64>) -> Self {
        Self {
            given,
            known: Vec::new(),
        }
    }

    /// A number within `range`, or `default` where it is not given.
    ///
    /// # Errors
    /// If the value given is out of range or not a number.
    pub fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
        default: f64,
    ) -> Result<f64, String> {
        self.known.push(name);
        match self.given.get(name) {
            None => Ok(default),
            Some(number) if range.contains(number) => Ok(*number),
            Some(other) => Err(format!(
                "{name}: expected a number from {} to {}, got {}",
                in_words(*range.start()),
                in_words(*range.end()),
                in_words(*other)
            )),
        }
    }

    /// That the box has asked for all that is given.
    pub(super) fn all_known(&self) -> Result<(), String> {
        let known = |name: &&str| self.known.contains(name);
        match self.given.keys().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) if self.known.is_empty() => {
                Err(format!("unknown parameter `{name}`; it takes none"))
            }
            Some(name) => Err(format!(
                "unknown parameter `{name}`; known are {}",
                joined(&self.known, ", ")
            )),
        }
    }
}
