use core::fmt;

/// Why bytes are not what they should be, or why a header cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The bytes end too early, or the buffer has too little room.
    TooShort {
        what: &'static str,
        needed: usize,
        found: usize,
    },
    /// A field has a value that it may not have.
    Invalid {
        what: &'static str,
        found: usize,
        expected: &'static str,
    },
}

impl WireError {
    /// `Ok` where there are enough bytes for `what`.
    #[inline]
    pub(crate) fn unless_long_enough(
        what: &'static str,
        found: usize,
        needed: usize,
    ) -> Result<(), Self> {
        if found < needed {
            return Err(Self::TooShort {
                what,
                needed,
                found,
            });
        }
        Ok(())
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort {
                what,
                needed,
                found,
            } => write!(f, "{what}: expected at least {needed} bytes, got {found}"),
            Self::Invalid {
                what,
                found,
                expected,
            } => write!(f, "{what}: expected {expected}, got {found}"),
        }
    }
}

impl core::error::Error for WireError {}
