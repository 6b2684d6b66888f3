//! Keys as text.

use bentpipe_carrier::identity::{Identity, KeyError, PublicKey};

/// Written by `openssl genpkey -algorithm ed25519`, and its public key by `openssl pkey -pubout -outform DER | tail -c 32 | base64`.
const OPENSSL_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIDuHP/KIlGJ5FbhlDp//bx+6HSIBinF2nkwmHGWR4clA
-----END PRIVATE KEY-----
";

#[test]
fn a_key_pair_is_read_from_what_was_written() {
    let made = Identity::generate();
    let read = Identity::from_pem(&format!("a comment\n{}\n", made.to_pem())).unwrap();
    assert_eq!(read.public(), made.public());
    assert_eq!(read.to_pem(), made.to_pem());
    let text = made.public().to_string();
    assert_eq!(text.len(), 44);
    assert_eq!(format!(" {text}\n").parse(), Ok(made.public()));
    assert_ne!(made.public(), Identity::generate().public());
}

#[test]
fn the_keys_of_rfc_8032_and_of_openssl_are_understood() {
    // RFC 8032, section 7.1, test 1.
    let seed = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c,
        0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae,
        0x7f, 0x60,
    ];
    let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    assert_eq!(Identity::from_seed(seed).public().to_string(), public);
    let identity = Identity::from_pem(OPENSSL_PRIVATE).unwrap();
    assert_eq!(
        identity.public().to_string(),
        "fdfj/sCbzY6pnvxqkpmovwHJKuKIoktzF6uAZUJ10iU="
    );
    assert_eq!(identity.to_pem(), OPENSSL_PRIVATE);
}

#[test]
fn a_private_key_of_the_second_version_is_read() {
    // RFC 8410, section 10.3, with its attribute; and what ring writes.
    let ring =
        ring::signature::Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = ring::signature::Ed25519KeyPair::from_pkcs8(ring.as_ref()).unwrap();
    let text = base64(ring.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    let read = Identity::from_pem(&pem).unwrap();
    assert_eq!(
        &read.public().as_bytes()[..],
        ring::signature::KeyPair::public_key(&pair).as_ref()
    );
}

/// Base64 by way of a public key's text, 32 bytes at a time: enough for a test.
fn base64(bytes: &[u8]) -> String {
    // 30 bytes are 40 characters without padding.
    let mut text = String::new();
    for chunk in bytes.chunks(30) {
        let mut key = [0; 32];
        key[..chunk.len()].copy_from_slice(chunk);
        let group = PublicKey::from_bytes(key).to_string();
        let characters = (chunk.len() * 4).div_ceil(3);
        text.push_str(&group[..characters]);
        if chunk.len() < 30 {
            text.push_str(&"=".repeat((4 - characters % 4) % 4));
        }
    }
    text
}

#[test]
fn what_is_wrong_with_a_key_is_said() {
    let key = Identity::from_seed([1; 32]);
    for (text, error) in [
        ("", KeyError::Length { found: 0 }),
        ("abc", KeyError::Base64),
        ("AAAA", KeyError::Length { found: 3 }),
        (&key.to_pem()[..], KeyError::PemWhereKey),
    ] {
        assert_eq!(text.parse::<PublicKey>(), Err(error), "{text}");
        assert!(!error.to_string().is_empty());
    }
    for (text, error) in [
        (key.public().to_string(), KeyError::NoPem),
        (key.to_pem().replace("END", "STOP"), KeyError::NoPem),
        (key.to_pem().replace("MC4C", "MC4D"), KeyError::NotEd25519),
        (key.to_pem().replace("MC4CAQ", "!"), KeyError::NotEd25519),
    ] {
        assert_eq!(
            Identity::from_pem(&text).map(|found| found.public()),
            Err(error),
            "{text}"
        );
    }
    assert_eq!(
        format!("{key:?}"),
        format!("Identity({})", key.public()),
        "no secret is printed"
    );
}
