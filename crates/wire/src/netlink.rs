//! Netlink's framing (`netlink(7)`): messages one after another, and attributes within one.

use crate::bytes::{native16, native32};

/// `nlmsghdr`: length, type, flags, sequence number, port.
pub const HEADER_BYTES: usize = 16;
/// `nlattr`: length and type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;

pub const NLMSG_ERROR: u16 = 2;
pub const NLMSG_DONE: u16 = 3;
pub const NLM_F_REQUEST: u16 = 0x1;
pub const NLM_F_DUMP: u16 = 0x300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u16,
    /// Of the request that this answers.
    pub sequence: u32,
    pub body: &'a [u8],
}

impl Message<'_> {
    /// The kernel's error number, of a message of the kind [`NLMSG_ERROR`].
    pub fn error(&self) -> Option<i32> {
        native32(self.body, 0).map(|code| (code as i32).wrapping_neg())
    }
}

/// Splits what was received into messages. Ends at the first that is cut off.
pub fn messages(received: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = received;
    core::iter::from_fn(move || {
        let length = native32(rest, 0)? as usize;
        let message = Message {
            kind: native16(rest, 4)?,
            sequence: native32(rest, 8)?,
            body: rest.get(HEADER_BYTES..length)?,
        };
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes of a message: type and value. Ends at the first that is cut off.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let (length, kind) = (usize::from(native16(rest, 0)?), native16(rest, 2)?);
        let value = rest.get(ATTRIBUTE_HEADER_BYTES..length)?;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Messages and attributes begin at multiples of 4.
pub fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The header of a request with a body of `body_bytes`.
pub fn request_header(
    kind: u16,
    flags: u16,
    sequence: u32,
    body_bytes: usize,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..4].copy_from_slice(&((HEADER_BYTES + body_bytes) as u32).to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&flags.to_ne_bytes());
    header[8..12].copy_from_slice(&sequence.to_ne_bytes());
    header
}
