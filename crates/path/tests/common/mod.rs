//! A packet to send through pipes, and the way through.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod any;

use bentpipe_path::config::{QueueLimit, ShaperConfig};
use bentpipe_path::{Ecn, FlowKey, Nanos, Packet, Pipe, PipeConfig, SequenceRange, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    pub id: u64,
    pub bytes: u32,
    pub flow: u64,
    pub ecn: Ecn,
    pub segment: Option<SequenceRange>,
    pub corrupted: bool,
    pub repair: bool,
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

    pub fn repair(id: u64, bytes: u32) -> Self {
        Self {
            repair: true,
            ..Self::new(id, bytes)
        }
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
    fn segment(&self) -> Option<SequenceRange> {
        self.segment
    }
    fn is_repair(&self) -> bool {
        self.repair
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

pub const MS: i64 = 1_000_000;
/// 1500 bytes take 1 ms.
pub const RATE: u64 = 12_000_000;

pub fn shaped_by(shaper: ShaperConfig) -> PipeConfig {
    PipeConfig {
        shaper,
        ..PipeConfig::default()
    }
}

pub fn fixed(limit: QueueLimit, delay_ms: i64) -> PipeConfig {
    let mut config = shaped_by(ShaperConfig::Fixed { rate_bit_s: RATE });
    config.queue.limit = limit;
    config.propagation.delay_ns = Nanos(delay_ms * MS);
    config
}
