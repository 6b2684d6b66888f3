//! Lines of CSV. A null is an empty field.

use crate::column::Cell;
use std::fmt::{self, Display};
use std::io::{self, Write};

impl Display for Cell<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
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

/// A line: column names, or a row's cells.
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
            None::<u64>.into(),
            true.into(),
            1.5.into(),
        ];
        line(&mut out, cells).expect("a Vec takes all");
        assert_eq!(out, b"\"a, \"\"b\"\"\",,true,1.5\n");
    }
}
