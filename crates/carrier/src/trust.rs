//! Who may speak with whom: TLS 1.3 with raw Ed25519 public keys (RFC 7250), pinned at both ends. There are no certificates, no
//! names, no dates, no tickets and no 0-RTT.

use crate::event::Why;
use crate::identity::{Identity, PublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{
    AlertDescription, CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct,
    DistinguishedName, Error, OtherError, ServerConfig, SignatureScheme, SupportedCipherSuite,
};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// TLS wants a name of the server. It is not sent and not checked: the key is.
pub(crate) const SERVER_NAME: &str = "bentpipe";

/// The near end's side: it is `own`, and expects the far end to be `far`.
pub(crate) fn near(own: &Identity, far: PublicKey) -> ClientConfig {
    let provider = provider();
    let certified = certified(own, &provider);
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(NoTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned(far)))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![crate::PROTOCOL.as_bytes().to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config
}

/// The far end's side: it is `own`, and lets in whoever has one of the keys `allowed`.
pub(crate) fn far(own: &Identity, allowed: BTreeSet<PublicKey>) -> ServerConfig {
    far_with(own, Allowed(Some(allowed)))
}

/// The far end's side while it waits for a near end that it does not know: whoever proves to have a key gets in.
pub(crate) fn far_for_any(own: &Identity) -> ServerConfig {
    far_with(own, Allowed(None))
}

fn far_with(own: &Identity, allowed: Allowed) -> ServerConfig {
    let provider = provider();
    let certified = certified(own, &provider);
    let mut config = ServerConfig::builder_with_details(provider, Arc::new(NoTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .with_client_cert_verifier(Arc::new(allowed))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![crate::PROTOCOL.as_bytes().to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    config
}

/// AES-128-GCM comes first: it is as safe here as AES-256-GCM, and costs less.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    let is_first =
        |suite: &SupportedCipherSuite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256;
    provider.cipher_suites.sort_by_key(|suite| !is_first(suite));
    Arc::new(provider)
}

fn certified(own: &Identity, provider: &CryptoProvider) -> Arc<CertifiedKey> {
    let signing = provider
        .key_provider
        .load_private_key(own.private_der())
        .expect("an Ed25519 key");
    Arc::new(CertifiedKey::new(
        vec![CertificateDer::from(own.public().spki())],
        signing,
    ))
}

/// The key that the other end has proved to have.
pub(crate) fn key_of(certificates: &[CertificateDer<'_>]) -> Option<PublicKey> {
    PublicKey::from_spki(certificates.first()?)
}

/// Raw keys do not expire, so the clock is not read.
#[derive(Debug)]
struct NoTime;

impl TimeProvider for NoTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::ZERO))
    }
}

/// A key was refused; it says which. It travels through rustls as an error, and reaches the other end as the alert
/// `certificate_unknown`.
#[derive(Clone, Debug)]
struct Refused(Why);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

fn refused(why: Why) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Refused(why)))))
}

/// What an error of rustls means to a reader.
pub(crate) fn why(error: &Error) -> Why {
    match error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
            match inner.downcast_ref::<Refused>() {
                Some(Refused(why)) => why.clone(),
                None => Why::Transport(error.to_string()),
            }
        }
        Error::AlertReceived(alert) => why_alert(*alert),
        Error::NoApplicationProtocol | Error::PeerIncompatible(_) => Why::OtherVersion,
        other => Why::Transport(other.to_string()),
    }
}

/// What an alert of the other end means to a reader.
pub(crate) fn why_alert(alert: AlertDescription) -> Why {
    match alert {
        AlertDescription::CertificateUnknown => Why::KeyNotAllowed,
        AlertDescription::NoApplicationProtocol
        | AlertDescription::ProtocolVersion
        | AlertDescription::HandshakeFailure => Why::OtherVersion,
        other => Why::Transport(format!(
            "the other end broke off with the TLS alert {other:?}"
        )),
    }
}

fn presented(end_entity: &CertificateDer<'_>) -> Result<PublicKey, Error> {
    PublicKey::from_spki(end_entity).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))
}

fn signature(
    message: &[u8],
    key: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let spki = SubjectPublicKeyInfoDer::from(key.as_ref());
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    verify_tls13_signature_with_raw_key(message, &spki, signed, &algorithms)
}

fn no_tls12() -> Error {
    Error::General("TLS 1.2 is not spoken here".into())
}

/// The near end's verifier: only this key.
#[derive(Debug)]
struct Pinned(PublicKey);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = presented(end_entity)?;
        if found == self.0 {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(refused(Why::WrongFarKey {
                found,
                expected: self.0,
            }))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// The far end's verifier: any of these keys, or any key at all.
#[derive(Debug)]
struct Allowed(Option<BTreeSet<PublicKey>>);

impl ClientCertVerifier for Allowed {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let found = presented(end_entity)?;
        if self.0.as_ref().is_none_or(|keys| keys.contains(&found)) {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(refused(Why::UnknownNearKey { found }))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
