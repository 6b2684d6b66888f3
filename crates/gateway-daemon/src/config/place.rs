//! Where in a file something is wrong, what stands there, and what would be right.

const QUOTES: &str = "Texts stand in quotes and lists in brackets: rate = \"16 Mbit/s\", socks5 = [\"127.0.0.1:1080\"]";
/// What stands at a place is quoted up to this length, in bytes.
const LONGEST: usize = 60;

/// What a library expects, in words for whoever wrote the file.
const EXPECTED: [(&str, &str); 9] = [
    (
        "a sequence",
        "a list in brackets, such as [\"127.0.0.1:1080\"]",
    ),
    ("usize", "a whole number, 0 or more"),
    ("u16", "a whole number from 0 to 65535"),
    ("a nonzero u16", "a whole number from 1 to 65535"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotes"),
    ("path string", "the name of a file, in quotes"),
    (
        "socket address",
        "an address and a port in quotes, such as \"127.0.0.1:1080\"",
    ),
];

/// The key of the line, or the table that it begins.
fn key(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with('[') {
        return line.ends_with(']').then_some(line);
    }
    let key = line.split_once('=')?.0.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(is_plain)).then_some(key)
}

/// A message of a library in plain words. `found` stands at its place.
fn plain(message: &str, found: &str) -> String {
    if message == "invalid socket address syntax" {
        return format!("got {found}, expected an address and a port, such as \"127.0.0.1:1080\"");
    }
    if message == "invalid IP address syntax" {
        return format!(
            "got {found}, expected an address and the length of its network, such as \"10.1.0.0/16\""
        );
    }
    let expected = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "));
    let Some((_, expected)) = expected else {
        return message.to_owned();
    };
    let words = EXPECTED.iter().find(|(name, _)| *name == expected);
    let words = words.map_or(expected, |(_, words)| words);
    let words = if words.starts_with("struct ") {
        "a table"
    } else {
        words
    };
    format!("got {found}, expected {words}")
}

/// ":line: key: what is wrong", in one line.
pub(super) fn place(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim().replace('\n', " ");
    let Some(span) = error.span() else {
        return format!(": {message}");
    };
    let start = span.start.min(text.len());
    let number = 1 + text[..start].matches('\n').count();
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let key = key(line).filter(|key| !message.contains(&format!("`{key}`")));
    let key = key.map_or_else(String::new, |key| format!("{key}: "));
    let message = if message == "duplicate key" {
        "it stands here for the second time".to_owned()
    } else if text.parse::<toml::Table>().is_err() {
        format!("this is no TOML: {message}. {QUOTES}")
    } else {
        let found = text.get(start..span.end).unwrap_or_default();
        let is_short = found.len() <= LONGEST && !found.contains('\n') && !found.is_empty();
        plain(&message, if is_short { found } else { "something else" })
    };
    format!(":{number}: {key}{message}")
}
