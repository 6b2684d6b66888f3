//! The configurations that pages and the package show are right.

use bentpipe_carrier::identity::Identity;
use bentpipe_gateway_daemon::config::File;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text as a reader completes it: a public key where a word stands for one.
fn completed(text: &str) -> String {
    let key = Identity::from_seed([7; 32]).public().to_string();
    [
        "NEAR_KEY",
        "FAR_KEY",
        "NEAR'S PUBLIC KEY",
        "FAR'S PUBLIC KEY",
    ]
    .iter()
    .fold(text.to_owned(), |text, word| text.replace(word, &key))
}

#[test]
fn the_configurations_of_pages_parse() {
    let mut found = 0;
    for page in fs::read_dir(root().join("docs/gateway")).unwrap() {
        let path = page.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            // Others are parts of one.
            if block.starts_with("role") {
                found += 1;
                let parsed = File::parse(&completed(block));
                assert!(parsed.is_ok(), "{}{parsed:?}", path.display());
            }
        }
    }
    assert!(found >= 2, "{found}");
}

#[test]
fn the_examples_of_the_package_parse_with_and_without_what_is_commented_out() {
    for name in ["near", "far"] {
        let text = fs::read_to_string(root().join(format!("packaging/examples/{name}.toml")));
        let text = completed(&text.unwrap());
        let is_key = |line: &str| line.contains(" = ") || line.starts_with('[');
        let with_all: Vec<&str> = text
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|rest| is_key(rest))
                    .unwrap_or(line)
            })
            .collect();
        assert!(
            with_all.join("\n") != text.trim_end(),
            "{name}: nothing is commented out"
        );
        for text in [text.clone(), with_all.join("\n")] {
            let parsed = File::parse(&text);
            assert!(parsed.is_ok(), "{name}: {parsed:?}");
        }
    }
}
