//! A host between the client and the path, and the LAN that joins it to the client: two pipes. What is not
//! for itself it forwards, as a kernel does: as soon as it has looked, with no queue but the next pipe's.
//!
//! 1. The time to live of what it forwards stays as it was.
//! 2. Arrivals that are forwarded are never joined (GRO), whatever the host's coalescing.

use crate::host::HostConfig;
use crate::network::{Event, Host, Network, Side};
use crate::packet::Packet;
use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_path::{ConfigError, Pipe};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearConfig {
    #[serde(default)]
    pub host: HostConfig,
    /// The LAN's pipes, to the client and from it.
    #[serde(default)]
    pub down: PipeConfig,
    #[serde(default)]
    pub up: PipeConfig,
    /// What the web cache of each workload holds there; none if `None`.
    pub cache_bytes: Option<u64>,
}

pub(crate) struct Near {
    /// By the side that a pipe leads to: the client, or near.
    lan: [Pipe<Packet>; 2],
    /// When the queue of events will look at each.
    expected: [Time; 2],
    pub cache_bytes: Option<u64>,
}

impl Near {
    pub fn new(config: &NearConfig, mtu: u32, seed: u64, bin: Nanos) -> Result<Self, ConfigError> {
        let pipe = |pipe, place| Pipe::new(pipe, mtu, seed, place, bin);
        Ok(Self {
            lan: [pipe(&config.down, "lan-down")?, pipe(&config.up, "lan-up")?],
            expected: [Time::NEVER; 2],
            cache_bytes: config.cache_bytes,
        })
    }

    /// The LAN is not metered: what its pipes counted is dropped.
    pub fn forget_bins(&mut self) {
        for pipe in &mut self.lan {
            pipe.take_bins();
        }
    }
}

impl Network {
    pub(crate) fn enter_lan(&mut self, now: Time, to: Side, packet: Packet) {
        if let Some(near) = &mut self.near {
            near.lan[to as usize].push(now, packet);
            self.expect_lan(to);
        }
    }

    /// Sees that the next packet's leaving is in the queue of events.
    fn expect_lan(&mut self, to: Side) {
        let Some(near) = &mut self.near else {
            return;
        };
        if let Some(at) = near.lan[to as usize].next_time()
            && at < near.expected[to as usize]
        {
            near.expected[to as usize] = at;
            self.events.push(at, Event::Lan(to));
        }
    }

    /// Packets may have come to this end of the LAN.
    pub(crate) fn leave_lan(&mut self, to: Side) {
        let (now, host) = match to {
            Side::Client => (self.now, Host::Client),
            Side::Server => (self.now, Host::Near),
        };
        let Some(near) = self.near.as_mut() else {
            return;
        };
        if near.expected[to as usize] > now {
            return;
        }
        near.expected[to as usize] = Time::NEVER;
        if let Some((_, packet)) = near.lan[to as usize].pop(now) {
            self.arrive(host, to, packet);
        }
        self.expect_lan(to);
    }

    /// A packet leaves the path.
    pub(crate) fn leave_path(&mut self, to: Side, packet: Packet) {
        let host = match to {
            Side::Client if self.near.is_some() => Host::Near,
            _ => to.into(),
        };
        self.arrive(host, to, packet);
    }
}
