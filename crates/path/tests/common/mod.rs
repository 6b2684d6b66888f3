//! A packet to send through pipes, and the way through.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use bentpipe_path::{Ecn, FlowKey, Nanos, Packet, Pipe, PipeConfig, Segment, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    pub id: u64,
    pub bytes: u32,
    pub flow: u64,
    pub ecn: Ecn,
    pub segment: Option<Segment>,
    pub corrupted: bool,
}

impl Parcel {
    pub fn new(id: u64, bytes: u32) -> Self {
        Self {
            id,
            bytes,
            ..Self::default()
        }
    }

    pub fn of_flow(self, flow: u64) -> Self {
        Self { flow, ..self }
    }

    pub fn capable(self) -> Self {
        Self {
            ecn: Ecn::Ect0,
            ..self
        }
    }
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn corrupt(&mut self, _draw: u64) {
        self.corrupted = true;
    }
    fn segment(&self) -> Option<Segment> {
        self.segment
    }
}

pub const BIN: Nanos = Nanos::from_millis(100);

pub fn pipe(config: &PipeConfig) -> Pipe<Parcel> {
    Pipe::new(config, 1500, 1, "down", BIN).expect("the configuration is valid")
}

/// Everything that is still to leave.
pub fn drain(pipe: &mut Pipe<Parcel>) -> Vec<(Time, Parcel)> {
    std::iter::from_fn(|| pipe.pop(Time::NEVER)).collect()
}
