use crate::words::quoted;
use core::fmt;
use core::str::FromStr;
use serde::Serialize;

/// Which way a packet goes: down to the client, or up to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Down,
    Up,
}

bentpipe_reading::read_words!(Direction { "down" => Down, "up" => Up });

impl Direction {
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// As tables and JSON have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is not a direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDirection(pub String);

impl fmt::Display for NoDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected \"down\" or \"up\", got ")?;
        f.write_str(&quoted(&self.0))
    }
}

impl core::error::Error for NoDirection {}

impl FromStr for Direction {
    type Err = NoDirection;

    fn from_str(word: &str) -> Result<Self, NoDirection> {
        let found = Self::BOTH
            .into_iter()
            .find(|direction| direction.name() == word);
        found.ok_or_else(|| NoDirection(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_the_word_that_tables_have_and_no_other() {
        for direction in Direction::BOTH {
            assert_eq!(direction.name().parse(), Ok(direction));
            assert_eq!(direction.other().other(), direction);
        }
        let error = "Down".parse::<Direction>().expect_err("a capital");
        assert_eq!(error.to_string(), r#"expected "down" or "up", got "Down""#);
    }
}
