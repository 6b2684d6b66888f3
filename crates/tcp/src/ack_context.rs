//! What is gathered while one acknowledgement is processed.

use crate::congestion::AckSample;
use bentpipe_base::time::Time;

/// What one ACK brought (the FLAG_* of `tcp_input.c`).
#[derive(Clone, Copy, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about one ACK"
)]
pub struct Flags {
    /// It carries data.
    pub data: bool,
    pub window_updated: bool,
    /// `snd_una` moved.
    pub advanced: bool,
    /// Never-retransmitted data, or data at all, was cumulatively acknowledged.
    pub data_acked: bool,
    pub retransmitted_acked: bool,
    pub data_sacked: bool,
    /// Data from before the recovery, never retransmitted, was (s)acked: the loss was not total (F-RTO).
    pub original_acked: bool,
    pub ece: bool,
    pub dsack: bool,
    pub dsack_of_probe: bool,
    pub lost_retransmission: bool,
    pub set_timer: bool,
    pub maybe_delayed: bool,
}

impl Flags {
    pub fn is_not_duplicate(&self) -> bool {
        self.data || self.window_updated || self.data_acked || self.retransmitted_acked
    }

    /// The receiver reports loss, reordering or congestion (`FLAG_CA_ALERT`).
    pub fn alerts(&self) -> bool {
        self.data_sacked || self.ece || self.dsack
    }

    pub fn forward_progress(&self) -> bool {
        self.data_acked || self.retransmitted_acked || self.data_sacked
    }
}

/// What is gathered while one ACK is processed.
#[derive(Clone, Copy, Debug)]
pub struct AckContext {
    pub flags: Flags,
    pub sample: AckSample,
    pub prior_snd_una: u64,
    pub prior_highest: u64,
    /// Lowest sequence delivered late.
    pub reordered_from: u64,
    pub first_sacked_at: Option<Time>,
    pub last_sacked_at: Option<Time>,
}

/// What to send after the ACK is digested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    None,
    Lost,
    /// F-RTO: new data, to see whether the timeout was spurious.
    New,
}
