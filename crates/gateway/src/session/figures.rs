//! What a session has done so far, and how it stands.

use super::{DatagramFigures, Established, Session};
use bentpipe_base::Nanos;
use bentpipe_fec::{ReceiverCounters, SenderCounters};

/// Counts are of the session's whole time; the coded planes' and those of datagrams begin anew with each new session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub sender: SenderCounters,
    pub receiver: ReceiverCounters,
    pub round_trip: Option<Nanos>,
    /// The share that the channel loses, as the other gateway's reports say. `None`: they told of too few packets yet.
    pub channel_loss: Option<f64>,
    /// A missing packet is asked for after this.
    pub patience: Nanos,
    /// Packets that are not reported yet.
    pub outstanding: u64,
    pub flows: u64,
    /// Bytes that hosts gave, and that they took.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// Flows that were opened from here, and from the other gateway.
    pub opened: u64,
    pub accepted: u64,
    pub resets: u64,
    pub probes: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Datagrams that came without a session, or that no gateway sends.
    pub strays: u64,
    pub malformed: u64,
    pub datagrams: DatagramFigures,
}

impl Session {
    pub fn figures(&self) -> Figures {
        self.established
            .as_ref()
            .map_or(self.figures, |it| Self::sum(self.figures, it))
    }

    pub(super) fn sum(mut figures: Figures, it: &Established) -> Figures {
        figures.sender = it.plane.sender.counters();
        figures.receiver = it.plane.receiver.counters();
        figures.round_trip = it.plane.probe.round_trip();
        figures.channel_loss = it.plane.sender.estimate().reported_loss_rate();
        figures.patience = it.plane.patience();
        figures.outstanding = it.plane.outstanding();
        figures.flows = it.flows.len() as u64;
        figures.sent_bytes += it.flows.sent_bytes();
        figures.delivered_bytes += it.flows.taken_bytes();
        figures.opened += it.flows.opened();
        figures.accepted += it.flows.accepted();
        figures.resets += it.flows.resets_seen;
        figures.probes += it.plane.probes;
        figures.datagrams = it.flows.datagrams.figures();
        if let Some(lossy) = &it.lossy {
            let (sender, receiver) = (lossy.sender.counters(), lossy.receiver.counters());
            figures.datagrams.packets = sender.sources;
            figures.datagrams.repairs = sender.repairs;
            figures.datagrams.recovered = receiver.recovered;
            figures.datagrams.left_out = receiver.expired + receiver.implausible;
        }
        figures
    }
}
