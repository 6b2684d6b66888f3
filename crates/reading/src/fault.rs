//! What is wrong with a value, and where.

use crate::Value;
use core::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Keys and places, from the outermost on, joined by dots. Empty: the value itself.
    place: String,
    why: String,
}

impl Fault {
    pub fn new(why: String) -> Self {
        Self {
            place: String::new(),
            why,
        }
    }

    pub fn expected(what: &str, found: &Value) -> Self {
        Self::new(["expected ", what, ", got ", &found.in_words()].concat())
    }

    /// Expected one of these words.
    pub fn expected_word(words: &[&str], found: &Value) -> Self {
        Self::expected(&["one of ", &listed(words)].concat(), found)
    }

    /// The same, of a value that is the field or the element `name` of another.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.place = if self.place.is_empty() {
            name.to_owned()
        } else {
            [name, ".", &self.place].concat()
        };
        self
    }
}

/// In quotes, with commas.
pub(crate) fn listed(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    text
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            f.write_str(&self.place)?;
            f.write_str(": ")?;
        }
        f.write_str(&self.why)
    }
}

impl core::error::Error for Fault {}
