//! What is known of a host's packet while it is in the tunnel. Its bytes are in the code.

use crate::datapath::packet::LivePacket;
use bentpipe_path::packet::{Ecn, FlowKey, Packet, SequenceRange};
use bentpipe_path::time::Nanos;

#[derive(Clone, Copy, Debug)]
pub struct InnerPacket {
    wire_bytes: u32,
    flow: FlowKey,
    segment: Option<SequenceRange>,
    ecn: Ecn,
    /// The frame that carried it was marked on the way.
    pub is_marked: bool,
    /// It came at most this much earlier than the model was told.
    pub late_read: Nanos,
}

impl InnerPacket {
    pub fn of(packet: &LivePacket) -> Self {
        Self {
            wire_bytes: packet.wire_bytes(),
            flow: packet.flow(),
            segment: packet.segment(),
            ecn: packet.ecn(),
            is_marked: false,
            late_read: packet.whole().late_read,
        }
    }
}

impl Packet for InnerPacket {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn flow(&self) -> FlowKey {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.is_marked = true;
    }

    fn segment(&self) -> Option<SequenceRange> {
        self.segment
    }
}
