//! What a socket has counted since it was opened.

use bentpipe_base::time::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub syn_sent_at: Option<Time>,
    pub segments_in: u64,
    pub segments_out: u64,
    pub data_segments_out: u64,
    pub bytes_sent: u64,
    pub bytes_retransmitted: u64,
    pub retransmits: u64,
    pub lost_retransmissions: u64,
    pub dsack_duplicates: u64,
    pub reordering_events: u64,
    pub loss_probes: u64,
    pub timeouts: u64,
    pub recoveries: u64,
    pub undone: u64,
}
