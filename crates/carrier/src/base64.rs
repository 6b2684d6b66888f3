//! Base64 with padding (RFC 4648, section 4), for keys: a few lines rather than a dependency.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(group);
        for place in 0..4 {
            text.push(if place <= chunk.len() {
                char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63])
            } else {
                '='
            });
        }
    }
    text
}

/// `None` for anything that `encode` would not write: other characters, missing padding, bits that belong to no byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let digits = group.iter().take_while(|&&c| c != b'=').count();
        let mut bits = 0u32;
        for &digit in &group[..digits] {
            let value = ALPHABET.iter().position(|&c| c == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - digits);
        bytes.extend_from_slice(&bits.to_be_bytes()[1..][..digits.checked_sub(1)?]);
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_4648_are_right_both_ways() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn what_is_not_exactly_base64_is_refused() {
        for text in [
            "Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "Zm9v\n", "Zm9-", "====", "=m9v", "Z=9v",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded(bytes: Vec<u8>) {
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_panics(text: String) {
            decode(&text);
        }
    }
}
