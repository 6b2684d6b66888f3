//! What is wrong with a pipe's description.

use crate::time::{Nanos, Time};
use bentpipe_reading::in_words;
use core::fmt;

/// A field of [`crate::PipeConfig`] that no pipe can be built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted name of the field, as in the JSON: `shaper.rate_bit_s`.
    pub field: String,
    /// What stood there.
    pub found: String,
    /// What would do.
    pub wanted: &'static str,
}

/// What a field can have.
pub(crate) trait Found {
    fn in_words(self) -> String;
}

impl Found for f64 {
    fn in_words(self) -> String {
        in_words(self)
    }
}

macro_rules! whole_numbers {
    ($($number:ident),*) => {
        $(impl Found for $number {
            fn in_words(self) -> String {
                self.to_string()
            }
        })*
    };
}

whole_numbers!(i64, u64, u32);

impl Found for &str {
    fn in_words(self) -> String {
        self.to_owned()
    }
}

impl ConfigError {
    pub(crate) fn new(field: impl Into<String>, found: impl Found, wanted: &'static str) -> Self {
        Self {
            field: field.into(),
            found: found.in_words(),
            wanted,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            found,
            wanted,
        } = self;
        write!(f, "{field}: found {found}, wanted {wanted}")
    }
}

impl core::error::Error for ConfigError {}

/// `Ok` where `value` is a probability.
pub(crate) fn probability(field: impl Into<String>, value: f64) -> Result<f64, ConfigError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(ConfigError::new(field, value, "a probability from 0 to 1"))
    }
}

/// `Ok` where `value` is above zero.
pub(crate) fn positive<T: PartialOrd + Default + Found + Copy>(
    field: impl Into<String>,
    value: T,
) -> Result<T, ConfigError> {
    if value > T::default() {
        Ok(value)
    } else {
        Err(ConfigError::new(field, value, "a number above 0"))
    }
}

/// Three years, so that sums of a few of them are instants still.
const LONGEST_NS: i64 = 100_000_000_000_000_000;

/// `Ok` where `value` is a span of time that a run can hold.
pub(crate) fn span(field: impl Into<String>, value: Nanos) -> Result<Nanos, ConfigError> {
    if (0..=LONGEST_NS).contains(&value.0) {
        Ok(value)
    } else {
        Err(ConfigError::new(field, value.0, "from 0 to 10^17 ns"))
    }
}

/// `Ok` where `value` is an instant that a run can reach.
pub(crate) fn instant(field: impl Into<String>, value: Time) -> Result<Time, ConfigError> {
    if (-LONGEST_NS..=LONGEST_NS).contains(&value.0) {
        Ok(value)
    } else {
        Err(ConfigError::new(
            field,
            value.0,
            "within 10^17 ns of time zero",
        ))
    }
}
