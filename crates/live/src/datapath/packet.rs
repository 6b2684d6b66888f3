//! What the model is given: one entry per wire segment, a handle into the super-packet it came in.

use super::pool::Frame;
use bentpipe_path::packet::{Ecn, FlowKey, Packet, SequenceRange};
use bentpipe_path::time::Nanos;
use bentpipe_wire::super_packet::SegmentRun;
use bentpipe_wire::{SuperPacket, WireError};
use std::num::NonZeroU64;
use std::rc::Rc;

/// A frame that a device handed over.
#[derive(Debug)]
pub struct Arrived {
    pub packet: SuperPacket<Frame>,
    /// It came at most this much earlier than the model was told.
    pub late_read: Nanos,
}

/// One wire segment of a super-packet. A clone shares the bytes; what befalls one of them stands in the handle
/// and is applied to the bytes that leave.
#[derive(Clone, Debug)]
pub struct LivePacket {
    whole: Rc<Arrived>,
    flip: Option<NonZeroU64>,
    wire_bytes: u32,
    index: u16,
    ce: bool,
    frame: Option<FrameOf>,
}

/// What a frame of a tunnel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOf {
    Repair,
    Other,
}

impl LivePacket {
    pub fn new(whole: &Rc<Arrived>, index: u16) -> Self {
        Self {
            wire_bytes: whole.packet.wire_bytes(index),
            whole: Rc::clone(whole),
            flip: None,
            index,
            ce: false,
            frame: None,
        }
    }

    /// A packet that is whole, as a device would hand it over: `frame` begins with an empty virtio-net header of `vnet_bytes`.
    pub fn alone(frame: Vec<u8>, vnet_bytes: usize, late_read: Nanos) -> Result<Self, WireError> {
        let packet = SuperPacket::parse(Frame::from(frame), vnet_bytes)?;
        let whole = Rc::new(Arrived { packet, late_read });
        Ok(Self::new(&whole, 0))
    }

    /// Says that it is a frame of a tunnel.
    pub fn set_frame(&mut self, of: FrameOf) {
        self.frame = Some(of);
    }

    pub fn is_frame(&self) -> bool {
        self.frame.is_some()
    }

    pub fn whole(&self) -> &Rc<Arrived> {
        &self.whole
    }

    /// The bit to flip, if it was corrupted on the way.
    pub fn flip(&self) -> Option<u64> {
        self.flip.map(NonZeroU64::get)
    }

    /// It is no part of a larger one, and nothing befell it on the way.
    pub fn is_as_it_came(&self) -> bool {
        self.whole.packet.segments() == 1 && self.flip.is_none() && !self.ce
    }

    /// It alone, as a run.
    pub fn run(&self) -> SegmentRun {
        SegmentRun {
            first: self.index,
            count: 1,
            ce: self.ce,
        }
    }

    /// Whether it may leave as the next segment of `run`, which holds segments of `whole`.
    pub fn follows(&self, whole: &Rc<Arrived>, run: SegmentRun) -> bool {
        Rc::ptr_eq(&self.whole, whole)
            && self.flip.is_none()
            && self.ce == run.ce
            && u32::from(self.index) == u32::from(run.first) + u32::from(run.count)
    }
}

impl Packet for LivePacket {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn flow(&self) -> FlowKey {
        FlowKey(self.whole.packet.flow_hash())
    }

    fn ecn(&self) -> Ecn {
        if self.ce {
            Ecn::Ce
        } else {
            self.whole.packet.ecn()
        }
    }

    fn mark_ce(&mut self) {
        self.ce = true;
    }

    fn corrupt(&mut self, draw: u64) {
        self.flip = NonZeroU64::new(draw.max(1));
    }

    fn is_repair(&self) -> bool {
        self.frame == Some(FrameOf::Repair)
    }

    fn segment(&self) -> Option<SequenceRange> {
        let range = self.whole.packet.segment(self.index)?;
        Some(SequenceRange {
            seq: range.seq,
            payload_bytes: range.payload_bytes,
            syn: range.syn,
        })
    }
}
