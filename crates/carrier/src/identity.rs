//! An end's Ed25519 key pair, and its text forms: the public key as base64, the private one as PKCS#8 in PEM.

use crate::base64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use std::str::FromStr;

/// Bytes of a public key, and of the seed of a private one.
const KEY_BYTES: usize = 32;
/// RFC 8410: what stands before the 32 bytes of a public key in a `SubjectPublicKeyInfo`.
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// RFC 8410, section 7: what stands before the seed in PKCS#8, version 1. `openssl genpkey -algorithm ed25519` writes the same.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";

/// The raw 32 bytes of an Ed25519 public key. Its text is their base64, 44 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The key of a DER `SubjectPublicKeyInfo`, if it is an Ed25519 key in its only form.
    pub(crate) fn from_spki(der: &[u8]) -> Option<Self> {
        let bytes = der.strip_prefix(&SPKI_PREFIX)?;
        Some(Self(bytes.try_into().ok()?))
    }

    pub(crate) fn spki(&self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0].concat()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&base64::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// Reads 44 characters of base64, with or without white space around them.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        if text.contains("-----BEGIN") {
            return Err(KeyError::PemWhereKey);
        }
        let bytes = base64::decode(text.trim()).ok_or(KeyError::Base64)?;
        let found = bytes.len();
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| KeyError::Length { found })
    }
}

/// What is wrong with the text of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    Base64,
    /// The number of bytes found where 32 were expected.
    Length {
        found: usize,
    },
    /// A PEM block where a public key was expected.
    PemWhereKey,
    NoPem,
    /// Another algorithm or another encoding.
    NotEd25519,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64 => write!(
                f,
                "invalid base64: expected a public key of 44 characters that ends in '='"
            ),
            Self::Length { found } => {
                write!(f, "expected a public key of 32 bytes, got {found} bytes")
            }
            Self::PemWhereKey => {
                write!(f, "expected a public key of 44 characters, got a PEM block")
            }
            Self::NoPem => write!(
                f,
                "expected a private key between \"{PEM_BEGIN}\" and \"{PEM_END}\""
            ),
            Self::NotEd25519 => {
                write!(
                    f,
                    "expected an Ed25519 private key in PKCS#8, as `openssl genpkey -algorithm ed25519` writes it"
                )
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// A key pair: what an end proves itself with.
#[derive(Clone)]
pub struct Identity {
    seed: [u8; KEY_BYTES],
    public: PublicKey,
}

impl Identity {
    /// A new key pair from the operating system's randomness.
    ///
    /// # Panics
    /// If the operating system gives no random bytes.
    pub fn generate() -> Self {
        let mut seed = [0; KEY_BYTES];
        SystemRandom::new()
            .fill(&mut seed)
            .expect("the operating system gives random bytes");
        Self::from_seed(seed)
    }

    /// The key pair of these 32 secret bytes (RFC 8032, section 5.1.5).
    pub fn from_seed(seed: [u8; KEY_BYTES]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("32 bytes are a seed");
        let public = pair.public_key().as_ref().try_into().expect("32 bytes");
        Self {
            seed,
            public: PublicKey(public),
        }
    }

    /// Reads a private key: PKCS#8 in PEM. Text around the block is ignored.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let (_, rest) = text.split_once(PEM_BEGIN).ok_or(KeyError::NoPem)?;
        let (block, _) = rest.split_once(PEM_END).ok_or(KeyError::NoPem)?;
        let block: String = block.split_ascii_whitespace().collect();
        let der = base64::decode(&block).ok_or(KeyError::NotEd25519)?;
        let seed = match der.strip_prefix(&PKCS8_PREFIX) {
            Some(seed) => seed,
            // Version 2 also holds the public key, after the seed.
            None => pkcs8_version_2(&der).ok_or(KeyError::NotEd25519)?,
        };
        Ok(Self::from_seed(
            seed.try_into().map_err(|_| KeyError::NotEd25519)?,
        ))
    }

    /// The private key as PKCS#8 in PEM. Keep it from others: whoever has it is this end.
    pub fn to_pem(&self) -> String {
        format!(
            "{PEM_BEGIN}\n{}\n{PEM_END}\n",
            base64::encode(&self.pkcs8())
        )
    }

    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn private_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.pkcs8()))
    }

    /// 32 secret bytes for another purpose, always the same for the same key pair and purpose.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        derive(&self.seed, purpose)
    }

    fn pkcs8(&self) -> Vec<u8> {
        [&PKCS8_PREFIX[..], &self.seed].concat()
    }
}

/// HMAC-SHA256 of the purpose under the secret.
pub(crate) fn derive(secret: &[u8], purpose: &str) -> [u8; KEY_BYTES] {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let tag = ring::hmac::sign(&key, purpose.as_bytes());
    tag.as_ref().try_into().expect("SHA-256 gives 32 bytes")
}

/// The seed in RFC 5958's version 2, which ring writes: the version is 1, and the public key follows.
fn pkcs8_version_2(der: &[u8]) -> Option<&[u8]> {
    Ed25519KeyPair::from_pkcs8(der).ok()?;
    der.get(PKCS8_PREFIX.len()..PKCS8_PREFIX.len() + KEY_BYTES)
        .filter(|_| der[5..PKCS8_PREFIX.len()] == PKCS8_PREFIX[5..])
}

impl fmt::Debug for Identity {
    /// Only the public key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}
