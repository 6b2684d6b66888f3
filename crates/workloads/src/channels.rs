//! What the workload `channels` draws: for every flow of every channel its server and its size, and for every server its
//! delay beyond the far end.

use crate::Distribution;
use bentpipe_base::Direction;
use bentpipe_path::time::Nanos;
use bentpipe_path::{ConfigError, Terrestrial, stream};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What one channel's next connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFlow {
    /// From 0.
    pub server: u32,
    pub size_bytes: u64,
}

/// One channel's flows, in their order.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    rng: Xoshiro256PlusPlus,
    servers: u32,
}

impl ChannelPlan {
    /// The channel with this number, from 0, of the workload `name`; `servers` is at least 1.
    pub fn new(seed: u64, name: &str, number: u32, servers: u32) -> Self {
        Self {
            rng: stream(seed, &format!("{name}/channel/{number}")),
            servers,
        }
    }

    pub fn next_flow(&mut self, size: &Distribution) -> PlannedFlow {
        let upper = self.rng.next_u64() >> 32;
        PlannedFlow {
            server: ((upper * u64::from(self.servers)) >> 32) as u32,
            size_bytes: size.draw(&mut self.rng),
        }
    }
}

/// One way from the far end to each server. The first servers' delays do not depend on how many there are.
pub fn server_delays(delay: &Distribution, servers: u32, seed: u64, name: &str) -> Vec<Nanos> {
    let drawn = |server: u32| {
        let mut rng = stream(seed, &format!("{}/delay", server_place(name, server)));
        Nanos(delay.draw(&mut rng).min(i64::MAX as u64 >> 2) as i64)
    };
    (0..servers).map(drawn).collect()
}

/// The servers of one workload, each on a line of its own beyond the far end. Both engines build the lines from it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServersSpec {
    /// The workload's: delays and jitter are drawn under it.
    pub name: String,
    pub servers: u32,
    /// One way, drawn once per server, in nanoseconds.
    pub delay: Distribution,
    /// Its standard deviation, per packet.
    pub jitter: Nanos,
}

impl ServersSpec {
    /// One direction of the lines, in the order of the servers. [`Distribution::check`] must have passed.
    ///
    /// # Errors
    /// If the jitter is out of range.
    pub fn lines(&self, seed: u64, direction: Direction) -> Result<Vec<Terrestrial>, ConfigError> {
        let delays = server_delays(&self.delay, self.servers, seed, &self.name);
        let line = |(delay, server)| {
            let place = terrestrial_place(&self.name, server, direction);
            Terrestrial::new(delay, self.jitter, seed, &place)
        };
        delays.into_iter().zip(0..).map(line).collect()
    }
}

fn server_place(name: &str, server: u32) -> String {
    format!("{name}/server/{server}")
}

/// Where the jitter between the far end and a server is drawn.
fn terrestrial_place(name: &str, server: u32, direction: Direction) -> String {
    format!("{}/{direction}", server_place(name, server))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Distribution = Distribution::BoundedPareto {
        shape: 1.2,
        min: 1_500,
        max: 50_000_000,
    };

    fn first(seed: u64, number: u32) -> [PlannedFlow; 4] {
        let mut channel = ChannelPlan::new(seed, "clients", number, 23);
        [(); 4].map(|()| channel.next_flow(&SIZE))
    }

    #[test]
    fn every_channel_and_seed_has_draws_of_its_own_and_always_the_same() {
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    #[test]
    fn a_seed_means_the_same_on_every_machine_and_in_ten_years() {
        assert_eq!(
            first(1, 0).map(|flow| (flow.server, flow.size_bytes)),
            RECORDED
        );
        let delay = Distribution::Lognormal {
            median: 60_000_000,
            sigma: 0.8,
        };
        assert_eq!(
            server_delays(&delay, 3, 1, "clients"),
            RECORDED_DELAYS.map(Nanos)
        );
    }

    const RECORDED: [(u32, u64); 4] = [(9, 3_677), (9, 104_653), (0, 1_528), (22, 2_589)];
    const RECORDED_DELAYS: [i64; 3] = [58_176_867, 88_566_359, 35_747_549];

    #[test]
    fn servers_are_chosen_evenly_and_keep_their_delay_when_more_are_added() {
        let mut chosen = [0_u32; 23];
        let mut channel = ChannelPlan::new(9, "clients", 3, 23);
        for _ in 0..46_000 {
            chosen[channel.next_flow(&SIZE).server as usize] += 1;
        }
        assert!(chosen.iter().all(|times| (1_800..2_200).contains(times)));
        let delay = Distribution::Lognormal {
            median: 60_000_000,
            sigma: 0.8,
        };
        let few = server_delays(&delay, 5, 1, "clients");
        assert_eq!(few, server_delays(&delay, 23, 1, "clients")[..5]);
    }
}
