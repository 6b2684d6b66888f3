//! A voice call: each side sends a datagram to the other at a fixed interval, as RTP over UDP does (RFC 3550). Nothing is
//! sent again.
//!
//! 1. Both sides begin at the workload's start. There is no signalling (SIP) before it.
//! 2. There is no silence suppression: the bit rate is constant.
//! 3. A datagram that has not come within `left_out_ns` before the run's end is left out: it may have been on the way.
//!    With a time of its own the call ends so long after its last datagram, or when all have come.

use super::Workload;
use crate::rows::DatagramRow;
use crate::seat::Side;
use crate::spec_error::SpecError;
use crate::world::World;
use bentpipe_path::time::{Nanos, Time};
use serde::Serialize;

/// A call in plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSpec {
    pub name: String,
    pub start_ns: Time,
    /// Without it the call lasts to the run's end.
    pub time_ns: Option<Nanos>,
    /// Between two datagrams of a side.
    pub interval_ns: Nanos,
    /// Of a datagram, behind its UDP header.
    pub payload_bytes: u32,
    pub left_out_ns: Nanos,
}

bentpipe_reading::read_struct!(CallSpec {
    name,
    start_ns,
    time_ns,
    interval_ns,
    payload_bytes,
    left_out_ns,
});

#[derive(Debug)]
pub struct Call {
    place: usize,
    spec: CallSpec,
    sent: Vec<Time>,
    /// By the side that it went to: whether each datagram has come.
    came: [Vec<bool>; 2],
    missing: usize,
    over: bool,
}

const SEND: u64 = 0;
const GIVE_UP: u64 = 1;

impl Call {
    pub fn new(place: usize, spec: &CallSpec) -> Result<Self, SpecError> {
        if spec.interval_ns <= Nanos::ZERO {
            let why = "interval_ns: expected a time above zero";
            return Err(SpecError::Workload(format!("{}.{why}", spec.name)));
        }
        Ok(Self {
            place,
            spec: spec.clone(),
            sent: Vec::new(),
            came: [Vec::new(), Vec::new()],
            missing: 0,
            over: false,
        })
    }

    fn is_last(&self) -> bool {
        let next = Nanos(self.spec.interval_ns.0 * self.sent.len() as i64);
        self.spec.time_ns.is_some_and(|time| next >= time)
    }
}

impl Workload for Call {
    fn on_start(&mut self, world: &mut World) {
        self.on_timer(world, SEND);
    }

    fn on_timer(&mut self, world: &mut World, token: u64) {
        if token == GIVE_UP {
            self.over = true;
            return;
        }
        let sequence = self.sent.len() as u32;
        self.sent.push(world.now());
        for from in Side::BOTH {
            self.came[from.other() as usize].push(false);
            self.missing += 1;
            world.send_datagram(from, self.place, sequence, self.spec.payload_bytes);
        }
        let (wait, token) = if self.is_last() {
            (self.spec.left_out_ns, GIVE_UP)
        } else {
            (self.spec.interval_ns, SEND)
        };
        world.call_at(world.now() + wait, self.place, token);
    }

    fn on_datagram(&mut self, world: &mut World, to: Side, sequence: u32) {
        let place = sequence as usize;
        let Some(came) = self.came[to as usize].get_mut(place) else {
            return;
        };
        if core::mem::replace(came, true) {
            return; // a duplicate
        }
        self.missing -= 1;
        let sent = self.sent[place];
        world.datagrams.push(DatagramRow {
            workload: self.place,
            to,
            sequence,
            sent,
            delay: Some(world.now() - sent),
        });
    }

    fn on_end(&mut self, world: &mut World) {
        for to in Side::BOTH {
            for (place, &sent) in self.sent.iter().enumerate() {
                if !self.came[to as usize][place] && sent + self.spec.left_out_ns <= world.now() {
                    world.datagrams.push(DatagramRow {
                        workload: self.place,
                        to,
                        sequence: place as u32,
                        sent,
                        delay: None,
                    });
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.over || !self.sent.is_empty() && self.missing == 0 && self.is_last()
    }
}
