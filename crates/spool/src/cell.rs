//! A table's columns and cells, whichever format they are written in: what is not known is left empty, never zero.

use std::fmt::{self, Display};
use std::io::{self, Write};

/// What the cells of a column are, if not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Float,
    Flag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

impl Column {
    pub const fn text(name: &'static str) -> Self {
        let kind = Kind::Text;
        Self { name, kind }
    }

    pub const fn integer(name: &'static str) -> Self {
        let kind = Kind::Integer;
        Self { name, kind }
    }

    pub const fn float(name: &'static str) -> Self {
        let kind = Kind::Float;
        Self { name, kind }
    }

    pub const fn flag(name: &'static str) -> Self {
        let kind = Kind::Flag;
        Self { name, kind }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Nothing,
    Text(&'a str),
    Integer(i64),
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
                Self::Integer(i64::from(number))
            }
        }
    )*};
}
integers!(u8, u16, u32, i64);

/// The tables' integers have a sign; what is past them is their largest.
impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

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
