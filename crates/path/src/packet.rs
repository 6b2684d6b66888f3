//! What a pipe needs to know of a packet. The live engine's packets are slices of real buffers, the
//! simulator's are small values; the pipe is the same for both.

pub use bentpipe_base::Ecn;

/// Names a flow: equal for packets of one direction of one connection. Any well-mixed 64-bit hash of the
/// five-tuple will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// The part of TCP's sequence space that a packet carries, for counting goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceRange {
    /// Sequence number of the first payload byte (that of the SYN plus one where the packet carries SYN).
    pub seq: u32,
    /// Payload bytes; 0 for a pure acknowledgement.
    pub payload_bytes: u32,
    /// A SYN opens a new sequence space for its flow key, as when a port is used again.
    pub syn: bool,
}

/// A packet as the pipe sees it.
///
/// `Clone` is used only for duplication, so a handle whose clone shares the bytes is enough; but a corrupted
/// clone must not change its twin.
pub trait Packet: Clone {
    /// Length of the IP packet in bytes, header included.
    fn wire_bytes(&self) -> u32;

    /// For fair queueing and for goodput per flow.
    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Sets the CE codepoint. Called only where [`Packet::ecn`] says that the packet is capable.
    fn mark_ce(&mut self) {}

    /// Flips one bit beyond the IP header, chosen by `draw` (uniform over 64 bits), so that the receiver's
    /// checksum fails.
    fn corrupt(&mut self, draw: u64) {
        let _ = draw;
    }

    /// Whether it is a repair of a coded tunnel, which a queue may let wait: see [`crate::config::TitrationConfig`].
    fn is_repair(&self) -> bool {
        false
    }

    /// The TCP sequence space carried, or `None` where the packet is not TCP.
    fn segment(&self) -> Option<SequenceRange> {
        None
    }
}
