//! What a carrier tells the session above it.

use crate::framing::FramingError;
use crate::identity::PublicKey;
use bytes::Bytes;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;

/// One connection of an endpoint. A number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u64);

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer {}", self.0)
    }
}

/// What happened to a connection. `Connected` comes first, `Closed` last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The other end proved that it has this key, and messages can be sent.
    ///
    /// At the near end this means that the far end has the pinned key. The far end may still refuse the near end's key: it then
    /// closes one round trip later ([`Why::KeyNotAllowed`]).
    Connected {
        key: PublicKey,
        /// The longest datagram that can be sent now, in bytes.
        max_datagram: usize,
    },
    /// A datagram arrived. Datagrams can be lost, repeated by the session above only, and reordered.
    Datagram(Bytes),
    /// A control message arrived, in order.
    Control(Bytes),
    /// The longest datagram that can be sent has changed, in bytes.
    MaxDatagram(usize),
    /// A send was refused with `Full`, and there is room again.
    Writable,
    /// The connection has ended. Nothing can be sent on it.
    Closed { why: Why },
    /// At the far end: somebody at this address did not get in. No other event comes for this connection.
    Refused { from: SocketAddr, why: Why },
}

/// Why a message was not taken. The carrier keeps nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The queue is full. `Event::Writable` says when there is room.
    Full,
    /// Longer than `max_datagram`, or a control message of more than 16 KiB; or empty.
    Length {
        /// The longest message that could be sent, in bytes.
        most: usize,
    },
    /// There is no such connection, it is not connected yet, or it has ended.
    NotConnected,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the send queue is full"),
            Self::Length { most } => write!(f, "a message needs 1 to {most} bytes"),
            Self::NotConnected => write!(f, "not connected"),
        }
    }
}

impl std::error::Error for SendError {}

/// Why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// `close` was called here.
    Local,
    /// The session at the other end closed, with its own code and reason.
    Peer { code: u64, reason: String },
    /// The far end has another key than the pinned one.
    WrongFarKey {
        found: PublicKey,
        expected: PublicKey,
    },
    /// At the far end: the near end's key is not in the list of allowed keys.
    UnknownNearKey { found: PublicKey },
    /// At the near end: the far end does not allow the near end's key, or at the far end: the near end pinned another key.
    KeyNotAllowed,
    /// The other end does not speak this version of the protocol.
    OtherVersion,
    /// The handshake did not finish in time.
    HandshakeTimedOut,
    /// Nothing arrived for the idle timeout.
    TimedOut,
    /// The other end does not know the connection: it has probably restarted.
    Reset,
    /// A newer connection with the same key took this one's place.
    Replaced,
    /// The other end sent bytes that are not frames.
    Framing(FramingError),
    /// The byte stream under TLS ended without a close frame.
    Cut,
    /// The transport failed; in its own words.
    Transport(String),
}

/// Words that the other end may have chosen, before anybody knew who it is: they come into logs and terminals, so nothing of them controls one.
struct Shown<'a>(&'a str);

/// Longer words are cut, in characters.
const SHOWN_MOST: usize = 300;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        self.0
            .chars()
            .take(SHOWN_MOST)
            .try_for_each(|c| f.write_char(shown(c)))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => write!(f, "closed by this end"),
            Self::Peer { code, reason } => {
                write!(
                    f,
                    "closed by the other end: {} (code {code})",
                    Shown(reason)
                )
            }
            Self::WrongFarKey { found, expected } => write!(
                f,
                "the far end has the key {found}, expected {expected}: a wrong key in the configuration, or somebody between"
            ),
            Self::UnknownNearKey { found } => {
                write!(f, "the key {found} is not in the list of allowed keys")
            }
            Self::KeyNotAllowed => write!(
                f,
                "the other end refused this end's key: check the allowed keys and the pinned key at the other end"
            ),
            Self::OtherVersion => write!(f, "the other end does not speak {}", crate::PROTOCOL),
            Self::HandshakeTimedOut => write!(f, "no complete handshake within the time limit"),
            Self::TimedOut => write!(f, "nothing arrived for the idle timeout"),
            Self::Reset => write!(
                f,
                "the other end does not know this connection: it has probably restarted"
            ),
            Self::Replaced => write!(f, "replaced by a newer connection with the same key"),
            Self::Framing(error) => write!(f, "invalid frame: {error}"),
            Self::Cut => write!(f, "the byte stream ended without a close frame"),
            Self::Transport(words) => write!(f, "{}", Shown(words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_other_end_control_no_terminal() {
        let reason = format!("\u{1b}[2Jgone\nsession  connected{}", "x".repeat(2000));
        for why in [
            Why::Transport(reason.clone()),
            Why::Peer { code: 1, reason },
        ] {
            let said = why.to_string();
            assert!(said.contains("[2Jgone") && said.len() < 400, "{said:?}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}
