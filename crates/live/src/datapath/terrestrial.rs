//! Beyond the far end: the packets that are under way between it and the servers, each server at its own delay.
//!
//! Whatever comes from a server waits here before it enters the pipe `down`; whatever goes to one, after it has left
//! the pipe `up`. The delays are those that the simulator draws from the same seed. The order between the far end and
//! one server is kept; the packets of several servers overtake each other.
//!
//! Departure from the simulator: a capture at the host `server` is taken at the servers, not at the far end.

use super::packet::LivePacket;
use crate::servers;
use bentpipe_base::{Direction, EventQueue};
use bentpipe_path::Terrestrial;
use bentpipe_path::time::Time;
use bentpipe_workloads::ServersSpec;

/// One direction of the lines to all servers.
#[derive(Debug)]
pub struct ServerLines<P> {
    direction: Direction,
    by_server: Vec<Terrestrial>,
    /// What leaves at the same instant leaves as it came.
    under_way: EventQueue<P>,
}

impl<P> ServerLines<P> {
    /// To the servers of these workloads, which are numbered through. `None` where there are no servers. The error is a sentence.
    pub fn new(
        specs: &[ServersSpec],
        seed: u64,
        direction: Direction,
    ) -> Result<Option<Self>, String> {
        let mut lines = Vec::new();
        for spec in specs {
            let wrong = |why: &dyn std::fmt::Display| format!("servers of {}: {why}", spec.name);
            spec.delay.check().map_err(|error| wrong(&error))?;
            lines.extend(spec.lines(seed, direction).map_err(|error| wrong(&error))?);
        }
        Ok((!lines.is_empty()).then(|| Self {
            direction,
            by_server: lines,
            under_way: EventQueue::default(),
        }))
    }

    /// The number of the server that an IP packet of this direction comes from or goes to.
    pub fn server_of(&self, packet: &[u8]) -> Option<u32> {
        servers::number_in(packet, self.direction)
            .filter(|&at| (at as usize) < self.by_server.len())
    }

    /// Puts a packet on the line of a server that [`ServerLines::server_of`] gave.
    pub fn enter(&mut self, server: u32, now: Time, packet: P) {
        let leaves = self.by_server[server as usize].leaves(now);
        self.under_way.push(leaves, packet);
    }

    /// The next packet that has come to its line's end by `now`, and when; call until `None`.
    pub fn leave(&mut self, now: Time) -> Option<(Time, P)> {
        self.next_time().filter(|next| *next <= now)?;
        self.under_way.pop()
    }

    /// When the next packet comes to its line's end.
    pub fn next_time(&self) -> Option<Time> {
        self.under_way.next_time()
    }
}

/// What the lines of a pipe's thread hold.
pub type LiveServerLines = ServerLines<LivePacket>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;
    use bentpipe_path::time::Nanos;
    use bentpipe_workloads::{Distribution, server_delays};

    const DELAY: Distribution = Distribution::Lognormal {
        median: 60_000_000,
        sigma: 0.8,
    };

    fn lines(jitter: Nanos) -> ServerLines<u32> {
        let specs = [("island", 3), ("mainland", 2)].map(|(name, servers)| ServersSpec {
            name: name.into(),
            servers,
            delay: DELAY,
            jitter,
        });
        let lines = ServerLines::new(&specs, 1, Direction::Up).expect("they are valid");
        lines.expect("there are servers")
    }

    fn all(lines: &mut ServerLines<u32>) -> Vec<(Time, u32)> {
        std::iter::from_fn(|| lines.leave(Time::NEVER)).collect()
    }

    #[test]
    fn a_packet_takes_its_own_servers_delay_as_the_draws_have_it() {
        let mut lines = lines(Nanos::ZERO);
        for server in 0..5 {
            lines.enter(server, Time(1_000), server);
        }
        let mut expected = server_delays(&DELAY, 3, 1, "island");
        expected.extend(server_delays(&DELAY, 2, 1, "mainland"));
        let mut expected: Vec<_> = expected
            .into_iter()
            .zip(0..)
            .map(|(delay, server)| (Time(1_000) + delay, server))
            .collect();
        expected.sort_unstable();
        assert_eq!(lines.next_time(), Some(expected[0].0));
        let early = Time(expected[0].0.0 - 1);
        assert_eq!(lines.leave(early), None, "nothing leaves before its time");
        assert_eq!(all(&mut lines), expected);
    }

    #[test]
    fn one_servers_packets_keep_their_order_however_their_delay_varies() {
        let mut lines = lines(Nanos::from_millis(20));
        for packet in 0..1_000_u32 {
            lines.enter(packet % 5, Time(i64::from(packet) * 10_000), packet);
        }
        let left = all(&mut lines);
        assert_eq!(left.len(), 1_000);
        assert!(left.is_sorted_by_key(|(at, _)| *at));
        for server in 0..5 {
            let of_one: Vec<_> = left
                .iter()
                .map(|(_, packet)| *packet)
                .filter(|packet| packet % 5 == server)
                .collect();
            assert!(of_one.is_sorted());
        }
        assert!(!left.is_sorted_by_key(|(_, packet)| *packet));
    }

    #[test]
    fn only_what_goes_to_a_server_of_the_run_has_a_line() {
        let lines = lines(Nanos::ZERO);
        let mut packet = vec![0x45; 20];
        for (number, expected) in [(4, Some(4)), (5, None)] {
            let std::net::IpAddr::V4(to) = servers::address(number, Family::V4) else {
                panic!("asked for IPv4");
            };
            packet[16..20].copy_from_slice(&to.octets());
            assert_eq!(lines.server_of(&packet), expected);
        }
        assert!(
            ServerLines::<u32>::new(&[], 1, Direction::Up)
                .expect("valid")
                .is_none()
        );
    }
}
