//! Echo requests from the client at a fixed interval, as ping(8).

use super::Workload;
use crate::network::{Network, Side};
use crate::sink::PingRow;
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
}

impl Ping {
    pub fn new(place: usize, count: u32, interval: Nanos, payload: u32) -> Self {
        Self {
            place,
            count,
            interval,
            payload,
            sent: Vec::new(),
            answered: 0,
        }
    }
}

impl Workload for Ping {
    fn on_start(&mut self, network: &mut Network) {
        self.on_timer(network, 0);
    }

    fn on_timer(&mut self, network: &mut Network, _token: u64) {
        let sequence = self.sent.len() as u32;
        if sequence >= self.count {
            return;
        }
        self.sent.push(Some(network.now()));
        network.ping(Side::Client, self.place, sequence, self.payload);
        if sequence + 1 < self.count {
            network.call_at(network.now() + self.interval, self.place, 0);
        }
    }

    fn on_echo(&mut self, network: &mut Network, sequence: u32) {
        if let Some(sent) = self.sent.get_mut(sequence as usize).and_then(Option::take) {
            self.answered += 1;
            let rtt = Some(network.now() - sent);
            network.pings.push(PingRow {
                time: sent,
                workload: self.place,
                sequence,
                rtt,
            });
        }
    }

    fn on_end(&mut self, network: &mut Network) {
        for (sequence, sent) in self.sent.iter().enumerate() {
            if let Some(time) = *sent {
                let sequence = sequence as u32;
                network.pings.push(PingRow {
                    time,
                    workload: self.place,
                    sequence,
                    rtt: None,
                });
            }
        }
    }

    fn is_done(&self) -> bool {
        self.answered == self.count
    }
}
