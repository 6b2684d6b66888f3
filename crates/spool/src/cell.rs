//! A cell of a table's CSV: what is not known is left empty, never zero.

use std::fmt::{self, Display};
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Nothing,
    Text(&'a str),
    Integer(i128),
    Float(f64),
    Flag(bool),
}

impl Display for Cell<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                write!(out, "\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => out.write_str(text),
            Self::Integer(number) => number.fmt(out),
            Self::Float(number) => number.fmt(out),
            Self::Flag(flag) => flag.fmt(out),
        }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

macro_rules! integers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Cell<'_> {
            fn from(number: $kind) -> Self {
                Self::Integer(i128::from(number))
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, i64);

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

/// A line of the CSV: column names, or a row's cells.
pub fn line<T: Display>(
    out: &mut impl Write,
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let mut values = values.into_iter();
    if let Some(first) = values.next() {
        write!(out, "{first}")?;
    }
    for value in values {
        write!(out, ",{value}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_a_comma_is_quoted_and_what_is_not_known_is_empty() {
        let mut out = Vec::new();
        let cells: [Cell; 4] = [
            "a, \"b\"".into(),
            None::<u32>.into(),
            true.into(),
            1.5.into(),
        ];
        line(&mut out, cells).expect("a Vec takes all");
        assert_eq!(out, b"\"a, \"\"b\"\"\",,true,1.5\n");
    }
}
