//! Echo requests from the client at a fixed interval, as ping(8): after the last one it waits for two of the longest round
//! trips that it has seen, or ten seconds if it has seen none (iputils' `ping_common.c`).

use super::Workload;
use crate::rows::PingRow;
use crate::seat::Side;
use crate::world::World;
use bentpipe_path::time::{Nanos, Time};

#[derive(Debug)]
pub struct Ping {
    place: usize,
    count: u32,
    interval: Nanos,
    payload: u32,
    /// Send time by sequence; `None` once answered or given up.
    sent: Vec<Option<Time>>,
    answered: u32,
    longest: Option<Nanos>,
    waited: bool,
}

const SEND: u64 = 0;
const GIVE_UP: u64 = 1;
/// ping's `MAXWAIT`.
const MAX_WAIT: Nanos = Nanos::from_secs(10);

impl Ping {
    pub fn new(place: usize, count: u32, interval: Nanos, payload: u32) -> Self {
        Self {
            place,
            count,
            interval,
            payload,
            sent: Vec::new(),
            answered: 0,
            longest: None,
            waited: false,
        }
    }
}

impl Workload for Ping {
    fn on_start(&mut self, world: &mut World) {
        self.on_timer(world, SEND);
    }

    fn on_timer(&mut self, world: &mut World, token: u64) {
        if token == GIVE_UP {
            self.waited = true;
            return;
        }
        let sequence = self.sent.len() as u32;
        if sequence >= self.count {
            return;
        }
        self.sent.push(Some(world.now()));
        world.ping(Side::Client, self.place, sequence, self.payload);
        if sequence + 1 < self.count {
            world.call_at(world.now() + self.interval, self.place, SEND);
        } else {
            let wait = self.longest.map_or(MAX_WAIT, |rtt| rtt + rtt);
            world.call_at(world.now() + wait, self.place, GIVE_UP);
        }
    }

    fn on_echo(&mut self, world: &mut World, sequence: u32) {
        if let Some(sent) = self.sent.get_mut(sequence as usize).and_then(Option::take) {
            self.answered += 1;
            let rtt = world.now() - sent;
            self.longest = self.longest.max(Some(rtt));
            world.pings.push(PingRow {
                time: sent,
                workload: self.place,
                sequence,
                rtt: Some(rtt),
            });
        }
    }

    fn on_end(&mut self, world: &mut World) {
        for (sequence, sent) in self.sent.iter().enumerate() {
            if let Some(time) = *sent {
                let sequence = sequence as u32;
                world.pings.push(PingRow {
                    time,
                    workload: self.place,
                    sequence,
                    rtt: None,
                });
            }
        }
    }

    fn is_done(&self) -> bool {
        self.answered == self.count || self.waited
    }
}
