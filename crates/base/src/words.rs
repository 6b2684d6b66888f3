//! Words for messages. They are written without the formatting of `Debug`, which the simulator's WebAssembly module does without.

/// A text in double quotes. What would end it, or cannot be seen, is escaped as in Rust.
pub fn quoted(text: &str) -> String {
    let mut words = String::from("\"");
    for letter in text.chars() {
        if letter.is_control() || letter == '"' || letter == '\\' {
            words.extend(letter.escape_default());
        } else {
            words.push(letter);
        }
    }
    words.push('"');
    words
}

/// The words with this between them.
pub fn joined(words: &[&str], between: &str) -> String {
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push_str(between);
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quoted_text_has_its_letters_and_no_quote_of_its_own() {
        assert_eq!(quoted("cübic"), "\"cübic\"");
        assert_eq!(quoted("a \"b\"\n\\"), r#""a \"b\"\n\\""#);
    }

    proptest! {
        #[test]
        fn words_are_joined_as_the_standard_library_joins_them(words: Vec<String>, between: String) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            prop_assert_eq!(joined(&words, &between), words.join(&between));
        }

        #[test]
        fn ascii_is_quoted_as_debug_quotes_it(text in "[ -&(-~\\n\\t\\r]*") {
            prop_assert_eq!(quoted(&text), format!("{text:?}"));
        }
    }
}
