//! Writing the sequences of an LZ4 block: literals, then a match that lies so far back.

/// The length of the shortest match.
const LEAST: usize = 4;
/// What a length begins with in the token.
const NIBBLE: usize = 15;

pub(super) fn sequence(out: &mut Vec<u8>, literals: &[u8], offset: u16, length: usize) {
    let matched = length - LEAST;
    if let Ok(&[a, b, c, d, e, f, g, h]) = <&[u8; 8]>::try_from(literals) {
        // The usual case, at once.
        let token = (8 << 4 | matched.min(NIBBLE)) as u8;
        let [low, high] = offset.to_le_bytes();
        out.extend_from_slice(&[token, a, b, c, d, e, f, g, h, low, high]);
        rest(out, matched);
        return;
    }
    out.push((literals.len().min(NIBBLE) << 4 | matched.min(NIBBLE)) as u8);
    rest(out, literals.len());
    out.extend_from_slice(literals);
    out.extend_from_slice(&offset.to_le_bytes());
    rest(out, matched);
}

/// The block's end: literals only. Of the bytes behind the last match at least five are literals, and it begins at
/// least twelve before the end; a match of 8 bytes and a literal of 8 see to both.
pub(super) fn last_literals(out: &mut Vec<u8>, literals: &[u8]) {
    out.push((literals.len().min(NIBBLE) << 4) as u8);
    rest(out, literals.len());
    out.extend_from_slice(literals);
}

/// The same bytes as a block that a library made: of one that ends with a match, which decoders refuse.
pub(super) fn again(block: &[u8], bytes: usize) -> Vec<u8> {
    let bytes = lz4_flex::block::decompress(block, bytes).expect("what was written here");
    lz4_flex::block::compress(&bytes)
}

/// Of a length that does not fit in the token.
fn rest(out: &mut Vec<u8>, length: usize) {
    if let Some(rest) = length.checked_sub(NIBBLE) {
        out.resize(out.len() + rest / 255, 255);
        out.push((rest % 255) as u8);
    }
}
