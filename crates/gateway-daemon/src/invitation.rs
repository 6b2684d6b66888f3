//! An invitation: what near needs to find far, to know it, and to be let in once. One word, which can be pasted into a shell:
//!
//! ```text
//! bentpipe1,far.example.net:4433,PUBLIC KEY OF FAR,SECRET
//! ```
//!
//! The secret is 32 random bytes in hexadecimal. Whoever has the invitation first can become near.

use bentpipe_carrier::identity::PublicKey;
use std::fmt;
use std::str::FromStr;

/// A kind of invitation that is not known is refused by its first word.
const KIND: &str = "bentpipe1";
pub const SECRET_BYTES: usize = 32;
/// A name has 253 bytes at most.
const LONGEST: usize = 512;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; SECRET_BYTES]);

impl Secret {
    /// Takes the same time for every wrong one.
    pub fn is(&self, other: &[u8]) -> bool {
        let differs = self
            .0
            .iter()
            .zip(other)
            .fold(0, |differs, (a, b)| differs | (a ^ b));
        other.len() == SECRET_BYTES && std::hint::black_box(differs) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Where near finds far: a name or an address, and a port.
    pub address: String,
    pub key: PublicKey,
    pub secret: Secret,
}

/// The name or address and the port of a text, if it is "HOST:PORT" of characters that a host has.
pub fn port_of(address: &str) -> Option<u16> {
    let (host, port) = address.rsplit_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let right = !host.is_empty() && address.len() <= 300 && host.chars().all(plain);
    port.parse().ok().filter(|&port| right && port > 0)
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND},{},{},", self.address, self.key)?;
        self.secret
            .0
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Invitation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let cut = || {
            "the invitation is cut short or changed: expected the whole word that `bentpipe-gateway pair --invite` printed".to_owned()
        };
        let mut parts = text.split(',');
        if text.len() > LONGEST || parts.next() != Some(KIND) {
            return Err(format!(
                "this is no invitation: expected a word that begins with {KIND},"
            ));
        }
        let (Some(address), Some(key), Some(secret), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(cut());
        };
        port_of(address).ok_or_else(cut)?;
        let key = key.parse().map_err(|_| cut())?;
        let secret = unhex(secret).ok_or_else(cut)?;
        Ok(Self {
            address: address.to_owned(),
            key,
            secret: Secret(secret),
        })
    }
}

fn unhex(text: &str) -> Option<[u8; SECRET_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * SECRET_BYTES {
        return None;
    }
    let mut bytes = [0; SECRET_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |it: u8| char::from(it).to_digit(16).map(|it| it as u8);
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_carrier::identity::Identity;

    fn invitation() -> Invitation {
        Invitation {
            address: "far.example.net:4433".into(),
            key: Identity::from_seed([3; 32]).public(),
            secret: Secret(std::array::from_fn(|at| at as u8 * 7)),
        }
    }

    #[test]
    fn an_invitation_is_read_as_it_was_written_and_no_other_way() {
        let text = invitation().to_string();
        assert_eq!(text.parse(), Ok(invitation()));
        for wrong in [
            &text[..text.len() - 1],
            &text[1..],
            &format!("{text},"),
            &text.replace("4433", "0"),
            &text.replace(".net", ".net\" x"),
            "",
            &text.replace("bentpipe1", "bentpipe2"),
            &"x".repeat(10_000),
        ] {
            assert!(wrong.parse::<Invitation>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_the_same_in_all_its_bytes_or_wrong() {
        let secret = invitation().secret;
        assert!(secret.is(&secret.0));
        for at in 0..SECRET_BYTES {
            let mut other = secret.0;
            other[at] ^= 1;
            assert!(!secret.is(&other));
        }
        assert!(!secret.is(&secret.0[..31]) && !secret.is(&[]));
    }
}
