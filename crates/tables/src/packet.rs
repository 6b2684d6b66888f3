use crate::column::table;

table! {
    /// One row per TCP packet of one connection, as a capture at one host sees it. No run's folder has it: there, packets are
    /// in captures.
    Packet in "packets" {
        /// when the packet passed the host
        time_s: f64,
        /// `down` (towards the client) or `up`
        direction: &'a str,
        /// its sequence number, from the SYN's, which is 0
        seq: u64,
        /// payload
        length_bytes: u64,
        /// what it acknowledges, from the other side's SYN, which is 0; null: it has no ACK flag
        ack: Option<u64>,
        /// receive window that it advertises, scaled
        window_bytes: u64,
        /// whether its sender had sent bytes of it before, as far as the host saw
        retransmission: bool,
        /// first byte of the first SACK block, numbered as `ack`; null: it has none
        sack_1_start: Option<u64>,
        /// first byte behind that block
        sack_1_end: Option<u64>,
        /// of the second SACK block
        sack_2_start: Option<u64>,
        /// of the second SACK block
        sack_2_end: Option<u64>,
        /// of the third SACK block
        sack_3_start: Option<u64>,
        /// of the third SACK block
        sack_3_end: Option<u64>,
        /// of the fourth SACK block
        sack_4_start: Option<u64>,
        /// of the fourth SACK block
        sack_4_end: Option<u64>,
    }
}
