//! Quantities with their units, written as in labs: `"16 Mbit/s"`, `"500 MB"`.

use std::fmt;

/// A text that is no quantity of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    text: String,
    expected: &'static str,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "got \"{}\", expected {}", self.text, self.expected)
    }
}

impl std::error::Error for QuantityError {}

/// Sizes: kB, MB and GB are powers of 1000; KiB, MiB and GiB of 1024.
const SIZES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];
const RATES: [(&str, f64); 7] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
];

fn parse(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = (&text[..unit], text[unit..].trim_start());
    let number: f64 = number.parse().ok()?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number * factor)
}

/// Bits per second, 1 or more.
pub fn rate(text: &str) -> Result<u64, QuantityError> {
    let found = parse(text, &RATES).filter(|rate| (1.0..=1e12).contains(rate));
    found.map(|rate| rate as u64).ok_or(QuantityError {
        text: text.to_owned(),
        expected: "a rate such as \"16 Mbit/s\"",
    })
}

/// Bytes.
pub fn size(text: &str) -> Result<u64, QuantityError> {
    let found = parse(text, &SIZES).filter(|size| *size <= 1e15);
    found.map(|size| size as u64).ok_or(QuantityError {
        text: text.to_owned(),
        expected: "a size such as \"500 MB\"",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_need_their_unit() {
        assert_eq!(rate("16 Mbit/s"), Ok(16_000_000));
        assert_eq!(rate("1.5Gbit/s"), Ok(1_500_000_000));
        assert_eq!(rate("2 MB/s"), Ok(16_000_000));
        assert_eq!(size("64 MiB"), Ok(67_108_864));
        for wrong in [
            "16",
            "16 Mb/s",
            "fast",
            "",
            "-1 Mbit/s",
            "0 bit/s",
            "1e9 Gbit/s",
            "é",
        ] {
            let error = rate(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a rate"), "{error}");
        }
        assert!(size("64").is_err());
    }
}
