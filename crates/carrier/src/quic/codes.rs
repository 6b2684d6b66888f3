//! The error codes of a QUIC close, and what a lost connection means to a reader.

use crate::event::Why;
use crate::trust;
use noq_proto::{ConnectionError, TransportError, VarInt};
use rustls::AlertDescription;

/// The carrier's own codes.
pub(super) const FRAMING: VarInt = VarInt::from_u32(1);
pub(super) const HANDSHAKE: VarInt = VarInt::from_u32(2);
pub(super) const REPLACED: VarInt = VarInt::from_u32(3);
/// The session's codes begin here.
const SESSION: u64 = 0x100;

/// The session's code on the wire. One that does not fit becomes the largest.
pub(super) fn of_session(code: u64) -> VarInt {
    let code = code
        .checked_add(SESSION)
        .and_then(|code| VarInt::from_u64(code).ok());
    code.unwrap_or(VarInt::MAX)
}

pub(super) fn why(error: ConnectionError) -> Why {
    match error {
        ConnectionError::TransportError(error) => failed(&error),
        ConnectionError::ConnectionClosed(close) => match alert(close.error_code.into()) {
            Some(alert) => trust::why_alert(alert),
            None => Why::Transport(format!("the other end broke off: {close}")),
        },
        ConnectionError::ApplicationClosed(close) => {
            let reason = String::from_utf8_lossy(&close.reason).into_owned();
            match close.error_code {
                REPLACED => Why::Replaced,
                HANDSHAKE => Why::HandshakeTimedOut,
                code => match u64::from(code).checked_sub(SESSION) {
                    Some(code) => Why::Peer { code, reason },
                    None => Why::Transport(format!("the other end broke off: {reason}")),
                },
            }
        }
        ConnectionError::Reset => Why::Reset,
        ConnectionError::TimedOut => Why::TimedOut,
        ConnectionError::VersionMismatch => Why::OtherVersion,
        ConnectionError::LocallyClosed => Why::Local,
        ConnectionError::CidsExhausted => Why::Transport(error.to_string()),
    }
}

fn failed(error: &TransportError) -> Why {
    let tls = error
        .crypto
        .as_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    tls.map_or_else(|| Why::Transport(error.to_string()), trust::why)
}

/// The TLS alert in a QUIC error code (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<AlertDescription> {
    let alert = u8::try_from(code.checked_sub(0x100)?).ok()?;
    Some(AlertDescription::from(alert))
}
