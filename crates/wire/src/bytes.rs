//! Numbers in a packet. Where the bytes end too early there is no number.

#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(array(bytes, at)?))
}

#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(array(bytes, at)?))
}

/// In this machine's byte order, as the kernel's own structures are.
#[inline]
pub(crate) fn native16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(array(bytes, at)?))
}

#[inline]
pub(crate) fn native32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(array(bytes, at)?))
}

#[inline]
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
