//! What both ends agreed on in the handshake: SACK (RFC 2018), timestamps (RFC 7323) and ECN (RFC 3168, section 6.1.1).

use crate::config::Config;
use crate::segment::{Segment, flag};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
}

impl Agreed {
    /// What this end offers.
    pub fn offer(config: &Config) -> Self {
        Self {
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: config.ecn,
        }
    }

    /// Takes the peer's SYN or SYN-ACK: what both offer holds. `passive`: the peer opened the connection.
    pub fn with(self, syn: &Segment, passive: bool) -> Self {
        let asks = syn.has(flag::ECE) && (syn.has(flag::CWR) || syn.has(flag::ACK));
        Self {
            sack: self.sack && syn.syn.sack_permitted,
            timestamps: self.timestamps && syn.timestamps.is_some(),
            // Linux's default (tcp_ecn = 2) accepts ECN when asked, and so does a host with `ecn`.
            ecn: asks && (self.ecn || passive),
        }
    }

    /// Bytes of options in each segment, without SACK blocks.
    pub fn option_bytes(self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(flags: u8) -> Segment {
        let mut syn = Segment {
            flags: flag::SYN | flags,
            timestamps: Some((1, 0)),
            ..Segment::default()
        };
        syn.syn.sack_permitted = true;
        syn
    }

    fn offer(ecn: bool) -> Agreed {
        Agreed {
            sack: true,
            timestamps: true,
            ecn,
        }
    }

    #[test]
    fn what_one_end_does_not_offer_is_not_used() {
        let mut bare = syn(0);
        bare.timestamps = None;
        bare.syn.sack_permitted = false;
        let none = offer(false).with(&bare, true);
        assert!(!none.sack && !none.timestamps && none.option_bytes() == 0);
        let unwilling = Agreed {
            sack: false,
            timestamps: false,
            ecn: false,
        };
        assert_eq!(unwilling.with(&syn(0), true), unwilling);
        let both = offer(false).with(&syn(0), true);
        assert!(both.sack && both.timestamps && both.option_bytes() == 12);
    }

    #[test]
    fn ecn_is_asked_by_ece_and_cwr_and_accepted_by_ece_alone() {
        let asks = flag::ECE | flag::CWR;
        let accepts = flag::ECE | flag::ACK;
        for (ours, flags, passive, agreed) in [
            (false, asks, true, true),
            (false, flag::ECE, true, false),
            (true, 0, true, false),
            (true, accepts, false, true),
            (true, flag::ACK, false, false),
            (false, accepts, false, false),
        ] {
            let ecn = offer(ours).with(&syn(flags), passive).ecn;
            assert_eq!(ecn, agreed, "{ours} {flags:#x} {passive}");
        }
    }
}
