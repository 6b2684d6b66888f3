//! Which packets have a damaged IPv4 header. A wrong checksum alone does not say so: captures whose addresses were replaced have only
//! wrong ones, and a network card may fill it in behind the capture. So it is wrong only where those of most packets between the same
//! addresses are right. A packet with a damaged address is not told.

use bentpipe_wire::Ipv4Header;

/// Right checksums for each wrong one, where packets have theirs.
const RIGHT_PER_WRONG: u32 = 2;
/// A power of two. Pairs of addresses beyond so many share their places.
const PAIRS: usize = 1024;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    right: u32,
    wrong: u32,
}

#[derive(Debug)]
pub struct IpChecksums {
    pairs: Vec<Counts>,
}

impl Default for IpChecksums {
    fn default() -> Self {
        Self {
            pairs: vec![Counts::default(); PAIRS],
        }
    }
}

impl IpChecksums {
    #[inline]
    pub fn says_damaged(&mut self, ip: &[u8]) -> bool {
        let Some(fixed) = ip.first_chunk::<20>() else {
            return false;
        };
        let is_whole_v4 = fixed[0] >> 4 == 4 && ip.len() >= usize::from(fixed[0] & 15) * 4;
        if !is_whole_v4 || Ipv4Header::checksum_of(ip) == 0 {
            return false;
        }
        let pair = &mut self.pairs[place_of_pair(fixed)];
        if Ipv4Header::is_checksum_right(ip) {
            pair.right = pair.right.saturating_add(1);
            return false;
        }
        pair.wrong = pair.wrong.saturating_add(1);
        pair.right >= RIGHT_PER_WRONG.saturating_mul(pair.wrong)
    }
}

/// By the addresses in their order (a multiplicative hash).
#[inline]
fn place_of_pair(fixed: &[u8; 20]) -> usize {
    let word =
        |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let pair = u64::from(word(12)) << 32 | u64::from(word(16));
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % PAIRS
}
