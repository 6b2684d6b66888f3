use core::fmt;

/// Where a capture is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureError {
    /// Byte of the file at which the faulty structure begins.
    pub offset: u64,
    pub what: &'static str,
    pub expected: &'static str,
    pub found: String,
    /// The file ends within the structure: everything before it is sound.
    pub cut_off: bool,
}

impl CaptureError {
    pub(crate) fn invalid(
        offset: u64,
        what: &'static str,
        expected: &'static str,
        found: impl fmt::Display,
    ) -> Self {
        Self {
            offset,
            what,
            expected,
            found: found.to_string(),
            cut_off: false,
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            what,
            expected,
            found,
            ..
        } = self;
        write!(f, "byte {offset}: {what}: expected {expected}, got {found}")
    }
}

impl core::error::Error for CaptureError {}
