//! How messages are cut out of a byte stream: the control stream of a QUIC connection, or TLS over TCP.
//!
//! A frame is one byte of kind, two bytes of length (big endian), and the body. docs/gateway-carriers.md is its specification.

use bytes::{Buf, Bytes, BytesMut};
use std::fmt;

/// The longest body of a frame, in bytes.
pub const MAX_BODY_BYTES: usize = 16 * 1024;
/// The kind and the length in front of every body.
pub const HEADER_BYTES: usize = 3;
/// The longest reason in a close frame, in bytes.
pub const MAX_REASON_BYTES: usize = 256;
/// The error code in front of a close frame's reason.
const CODE_BYTES: usize = 8;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// No body. It opens the control stream of a QUIC connection, and is ignored.
    Open = 0,
    /// A control message.
    Control = 1,
    /// A datagram. Only on TLS: QUIC has frames of its own for it.
    Datagram = 2,
    /// The sender closes: an error code of 8 bytes (big endian) and a reason in UTF-8. Only on TLS.
    Close = 3,
}

impl Kind {
    fn read(byte: u8) -> Option<Self> {
        [Self::Open, Self::Control, Self::Datagram, Self::Close]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    /// The shortest and the longest body, in bytes.
    fn bounds(self) -> (usize, usize) {
        match self {
            Self::Open => (0, 0),
            Self::Control | Self::Datagram => (1, MAX_BODY_BYTES),
            Self::Close => (CODE_BYTES, CODE_BYTES + MAX_REASON_BYTES),
        }
    }
}

/// Which carrier the bytes come from: it decides which kinds are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The control stream of a QUIC connection.
    QuicControl,
    /// The whole of a TLS connection.
    Tls,
}

impl Stream {
    fn allows(self, kind: Kind) -> bool {
        self == Self::Tls || matches!(kind, Kind::Open | Kind::Control)
    }
}

/// A frame as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Open,
    Control(Bytes),
    Datagram(Bytes),
    Close {
        code: u64,
        /// Bytes that are not UTF-8 are replaced.
        reason: String,
    },
}

/// Why bytes are not frames. The stream cannot be read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    UnknownKind(u8),
    /// A kind that this stream does not carry.
    NotAllowed(Kind),
    /// A length that this kind cannot have, in bytes.
    Length(Kind, usize),
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(kind) => write!(f, "unknown frame kind {kind}"),
            Self::NotAllowed(kind) => {
                write!(f, "a frame of kind {kind:?} is not allowed on this stream")
            }
            Self::Length(kind, bytes) => {
                let (least, most) = kind.bounds();
                write!(
                    f,
                    "a frame of kind {kind:?} has {bytes} bytes, expected {least} to {most}"
                )
            }
        }
    }
}

impl std::error::Error for FramingError {}

/// Appends a frame.
///
/// # Panics
/// If the body has a length that `kind` cannot have.
pub fn write(kind: Kind, body: &[u8], out: &mut BytesMut) {
    let (least, most) = kind.bounds();
    assert!(
        (least..=most).contains(&body.len()),
        "the caller checks lengths"
    );
    out.reserve(HEADER_BYTES + body.len());
    out.extend_from_slice(&[kind as u8]);
    out.extend_from_slice(
        &u16::try_from(body.len())
            .expect("at most 16 KiB")
            .to_be_bytes(),
    );
    out.extend_from_slice(body);
}

/// Appends a close frame. A reason that is too long is cut.
pub fn write_close(code: u64, reason: &str, out: &mut BytesMut) {
    let mut body = code.to_be_bytes().to_vec();
    body.extend_from_slice(cut(reason).as_bytes());
    write(Kind::Close, &body, out);
}

/// The reason, or as many of its first characters as a close frame has room for.
pub(crate) fn cut(reason: &str) -> &str {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

/// Cuts frames out of a stream. It never holds more than one frame of the greatest length.
#[derive(Debug)]
pub struct Reader {
    stream: Stream,
    held: BytesMut,
    failed: Option<FramingError>,
}

impl Reader {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            held: BytesMut::new(),
            failed: None,
        }
    }

    /// Takes the first bytes of `bytes`, as many as there is room for, and returns their number. There is room again when
    /// `next` has returned `None`.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let room = HEADER_BYTES + MAX_BODY_BYTES - self.held.len();
        let taken = room.min(bytes.len());
        self.held.extend_from_slice(&bytes[..taken]);
        taken
    }

    /// The next frame, or `None` until more bytes have been pushed. After an error it returns only that error.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FramingError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let frame = self.read();
        self.failed = frame.as_ref().err().copied();
        frame
    }

    /// Bytes of a frame that is not yet complete, or not yet taken.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    fn read(&mut self) -> Result<Option<Frame>, FramingError> {
        let &[kind, ref length @ ..] = &self.held[..] else {
            return Ok(None);
        };
        // A wrong kind is refused at once, without waiting for its length.
        let kind = Kind::read(kind).ok_or(FramingError::UnknownKind(kind))?;
        if !self.stream.allows(kind) {
            return Err(FramingError::NotAllowed(kind));
        }
        let &[high, low, ref body @ ..] = length else {
            return Ok(None);
        };
        let bytes = usize::from(u16::from_be_bytes([high, low]));
        let (least, most) = kind.bounds();
        if !(least..=most).contains(&bytes) {
            return Err(FramingError::Length(kind, bytes));
        }
        if body.len() < bytes {
            return Ok(None);
        }
        self.held.advance(HEADER_BYTES);
        let mut body = self.held.split_to(bytes).freeze();
        Ok(Some(match kind {
            Kind::Open => Frame::Open,
            Kind::Control => Frame::Control(body),
            Kind::Datagram => Frame::Datagram(body),
            Kind::Close => Frame::Close {
                code: body.get_u64(),
                reason: String::from_utf8_lossy(&body).into_owned(),
            },
        }))
    }
}
