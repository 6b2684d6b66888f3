//! Numbers as texts say them.

/// A whole number as it is, and any other number by the fewest digits that tell it from its neighbours. Rust's own way to write a
/// floating-point number takes 20 kB of WebAssembly, and the one that JSON is written with is there anyway.
pub fn in_words(number: f64) -> String {
    const MOST: f64 = 1e18;
    if number.fract() == 0.0 && number.abs() < MOST {
        (number as i64).to_string()
    } else {
        zmij::Buffer::new().format(number).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_number_is_written_as_one_would_write_it() {
        for (number, words) in [
            (0.0, "0"),
            (-3.0, "-3"),
            (1e12, "1000000000000"),
            (0.1, "0.1"),
            (-0.95, "-0.95"),
            (1e-9, "1e-9"),
            (1e300, "1e+300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(in_words(number), words);
        }
    }
}
