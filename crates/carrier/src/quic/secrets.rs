//! The random and secret values that noq-proto asks for, and the time of day that it reads to date its Retry tokens.

use super::Config;
use crate::identity::{self, Identity};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey, HmacKey};
use noq_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, HashedConnectionIdGenerator,
    ServerConfig, TimeSource,
};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{aead, hmac};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CONNECTION_ID_BYTES: usize = 8;
const INITIAL_CONNECTION_ID_BYTES: usize = 20;

pub(super) struct Secrets {
    /// Of tests only.
    seed: Option<[u8; 32]>,
    /// Signs stateless resets and marks connection IDs. From the identity, so that an end that restarted can say so: it resets
    /// connections which it no longer knows.
    lasting: [u8; 32],
}

impl Secrets {
    pub fn new(own: &Identity, config: &Config) -> Self {
        let public = own.public();
        Self {
            // Two ends with the same seed still differ.
            seed: config
                .seed
                .map(|seed| identity::derive(&seed.to_be_bytes(), &public.to_string())),
            lasting: own.derive("bentpipe stateless reset"),
        }
    }

    pub fn endpoint(&self, config: &Config) -> EndpointConfig {
        let reset_key: Arc<dyn HmacKey> =
            Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &self.lasting));
        let mut endpoint = EndpointConfig::new(reset_key);
        let lasting = u64::from_be_bytes(
            identity::derive(&self.lasting, "connection IDs")[..8]
                .try_into()
                .expect("8 bytes"),
        );
        let seed = self.seed;
        endpoint
            .cid_generator(Arc::new(move || match seed {
                Some(seed) => Box::new(SeededIds::new(seed, CONNECTION_ID_BYTES))
                    as Box<dyn ConnectionIdGenerator>,
                None => Box::new(HashedConnectionIdGenerator::from_key(lasting)),
            }))
            .rng_seed(seed)
            // Only version 1. A list of versions is the answer to an unknown one, and should be short.
            .supported_versions(vec![1]);
        endpoint
            .max_udp_payload_size(config.most_udp_payload().max(1472))
            .expect("not under 1200");
        endpoint
    }

    /// For the near end: the first connection ID.
    pub fn client(&self, client: &mut ClientConfig) {
        if let Some(seed) = self.seed {
            let ids = Mutex::new(SeededIds::new(seed, INITIAL_CONNECTION_ID_BYTES));
            client.initial_dst_cid_provider(Arc::new(move || {
                ids.lock().expect("no panic in it").generate_cid()
            }));
        }
        client.token_store(Arc::new(noq_proto::NoneTokenStore));
    }

    /// For the far end: what Retry tokens are sealed with.
    pub fn server(
        &self,
        crypto: Arc<dyn noq_proto::crypto::ServerConfig>,
        clock: Arc<Clock>,
    ) -> ServerConfig {
        let mut key = [0; 32];
        match self.seed {
            Some(seed) => key = identity::derive(&seed, "retry tokens"),
            None => SystemRandom::new()
                .fill(&mut key)
                .expect("the operating system gives random bytes"),
        }
        let mut server = ServerConfig::new(crypto, Arc::new(TokenKey(key)));
        server.time_source(clock);
        server
    }
}

/// The time since the endpoint was made, as a time of day: noq-proto asks for one when it writes and reads a Retry token.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    millis: AtomicU64,
}

impl Clock {
    pub fn new(start: Instant) -> Arc<Self> {
        Arc::new(Self {
            start,
            millis: AtomicU64::new(0),
        })
    }

    pub fn set(&self, now: Instant) {
        let millis = u64::try_from(now.saturating_duration_since(self.start).as_millis())
            .unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }
}

impl TimeSource for Clock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// Connection IDs for tests: the same ones for the same seed.
struct SeededIds {
    key: hmac::Key,
    drawn: u64,
    bytes: usize,
}

impl SeededIds {
    fn new(seed: [u8; 32], bytes: usize) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &seed),
            drawn: 0,
            bytes,
        }
    }
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.drawn += 1;
        let tag = hmac::sign(
            &self.key,
            &[self.drawn, self.bytes as u64]
                .map(u64::to_be_bytes)
                .concat(),
        );
        ConnectionId::new(&tag.as_ref()[..self.bytes])
    }

    fn cid_len(&self) -> usize {
        self.bytes
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Seals Retry tokens by AES-256-GCM with a key of each token's own, derived from its nonce.
struct TokenKey([u8; 32]);

impl TokenKey {
    fn of(&self, token_nonce: u128) -> aead::LessSafeKey {
        let key = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, &self.0),
            &token_nonce.to_be_bytes(),
        );
        aead::LessSafeKey::new(
            aead::UnboundKey::new(&aead::AES_256_GCM, key.as_ref()).expect("32 bytes"),
        )
    }
}

/// Each key seals one token, so its nonce need not differ.
fn nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0; 12])
}

impl HandshakeTokenKey for TokenKey {
    fn seal(&self, token_nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let sealed =
            self.of(token_nonce)
                .seal_in_place_append_tag(nonce(), aead::Aad::empty(), data);
        sealed.map_err(|_| CryptoError)
    }

    fn open<'a>(&self, token_nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let opened = self
            .of(token_nonce)
            .open_in_place(nonce(), aead::Aad::empty(), data);
        opened.map(|bytes| &*bytes).map_err(|_| CryptoError)
    }
}
