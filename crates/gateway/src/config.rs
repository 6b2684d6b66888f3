//! How a gateway is set.

use crate::flow::{EARLY_PIECE_BYTES, FLOW_BYTES, MEMORY_FACTOR, Pieces};
use bentpipe_base::Nanos;
use bentpipe_fec::{PACKET_MAX_BYTES, Policy};
use core::fmt;
use serde::Serialize;

/// The control law: how fast a gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// A rate that is known to be free, in bits of IP packets per second: it is used from the first packet on.
    Fixed(u64),
    /// As [`Self::Fair`], and never more than so many bits of IP packets per second.
    Capped(u64),
    /// What the path delivers, shared with other traffic.
    Fair,
}

bentpipe_reading::read_variants!(Rate { "fair" => Fair, "fixed" => Fixed(bit_s), "capped" => Capped(bit_s) });

impl Rate {
    /// The rate that is known in bits per second.
    pub fn known_bit_s(self) -> Option<u64> {
        match self {
            Self::Fixed(bit_s) | Self::Capped(bit_s) => Some(bit_s),
            Self::Fair => None,
        }
    }
}

/// What memory is for where no rate is known, in bits per second.
const MEMORY_BIT_S: u64 = 100_000_000;

/// A gateway's settings. Memory is bounded by them: see [`Self::memory_bytes`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub rate: Rate,
    /// What each datagram has on the path beside its own bytes, in bytes: headers of IP, UDP and the carrier, and its tag.
    pub outer_bytes: u32,
    /// Repairs that are sent before anything is known to be lost.
    pub redundancy: Policy,
    /// A repair covers so many packets, and of the packets sent so many are kept until the other gateway has them.
    pub window_packets: u32,
    pub kept_packets: u32,
    /// Bytes that have come and that hosts have not taken: of all flows together, and of one flow.
    pub session_window: u64,
    pub flow_window: u64,
    /// The window of a flow that begins. It doubles, up to `flow_window`, as the host takes what comes.
    pub flow_start_window: u64,
    /// Bytes of a flow that wait to be sent, at most. Those of all flows together are about `session_window` at most: a flow has less room
    /// where others have much, but never less than [`Self::LEAST_SEND_BUFFER`].
    pub send_buffer: u64,
    /// Flows that are open, or reset with a RESET still to be sent: so many that the other gateway has opened, and so many from here.
    pub max_flows: u32,
    /// At most one report of what has come in so long.
    pub report_every: Nanos,
    /// A missing packet is asked for after this at the earliest. The time grows where packets overtake each other.
    pub patience: Nanos,
    /// A session without a carrier ends after this.
    pub session_timeout: Nanos,
    /// Whether the other gateway may open UDP associations, and channels for whole IP packets.
    pub takes_udp: bool,
    pub takes_ip: bool,
    /// Whether the other gateway may open TCP connections to names, which this one resolves.
    pub takes_names: bool,
    /// Bytes of datagrams that wait to be sent, of all together, each with 96 more. The same holds for those that have come and were not taken,
    /// for those that have come in pieces, and for those whose association is not known yet. Beyond them the oldest are dropped.
    pub datagram_buffer: u64,
    /// A datagram that has waited so long to be sent is dropped.
    pub datagram_wait: Nanos,
    /// Packets with datagrams are kept while they are among so many newest ones, at most 2^16. 0: no datagrams.
    pub datagram_packets: u32,
    /// A repair covers packets with datagrams that were sent within so long.
    pub datagram_repair: Nanos,
    /// An association without a datagram in either direction is over after this; RFC 4787 asks for 2 minutes at least.
    pub association_idle: Nanos,
}

/// What a kept packet takes beside its bytes.
const PACKET_RECORD_BYTES: u64 = 128;

impl Config {
    /// A flow has room for so many bytes, or for its `send_buffer` if that is less, however many others wait to be sent.
    pub const LEAST_SEND_BUFFER: u64 = 2048;

    /// At a fixed rate, over datagrams with so many bytes around them.
    pub fn fixed(bit_s: u64, outer_bytes: u32) -> Self {
        Self::with_rate(Rate::Fixed(bit_s), outer_bytes)
    }

    /// With this control law. Without a known rate, packets are kept and flows begin as at 100 Mbit/s.
    pub fn with_rate(rate: Rate, outer_bytes: u32) -> Self {
        let bit_s = rate.known_bit_s().unwrap_or(MEMORY_BIT_S);
        // Packets of six seconds, full ones: at 600 ms and 5 % of loss one in a hundred thousand is asked for five times. From 4 Gbit/s
        // on they are fewer, for their memory: at 10 Gbit/s those of 2.3 s.
        let bytes_in = |millis: u64| (bit_s / 8_000).saturating_mul(millis);
        let in_six_seconds = bytes_in(6000) / 1400;
        // Two and four round trips of 600 ms.
        let flow_window = bytes_in(1200).clamp(16 << 20, 1 << 49);
        let session_window = bytes_in(2400).clamp(64 << 20, 1 << 50);
        Self {
            rate,
            outer_bytes,
            redundancy: Policy::Adaptive {
                residual: 0.01,
                initial_loss: 0.02,
                max_ratio: 0.5,
            },
            window_packets: 256,
            kept_packets: in_six_seconds.clamp(1024, 1 << 21) as u32,
            session_window,
            flow_window,
            flow_start_window: bytes_in(6000).clamp(1 << 20, flow_window),
            send_buffer: 256 << 10,
            max_flows: 16_384,
            // A report asks for 64 runs of packets at most: at 500 Mbit/s and 5 % of loss it has room for all of 20 ms.
            report_every: Nanos(
                (10_000_000_000_000_000 / bit_s.max(1)).clamp(1_000_000, 20_000_000) as i64,
            ),
            patience: Nanos::from_millis(5),
            session_timeout: Nanos::from_secs(900),
            takes_udp: false,
            takes_ip: false,
            takes_names: false,
            datagram_buffer: bytes_in(500).clamp(256 << 10, 64 << 20),
            datagram_wait: Nanos::from_millis(500),
            datagram_packets: (bytes_in(1000) / 1400).clamp(256, 1 << 15) as u32,
            datagram_repair: Nanos::from_millis(100),
            association_idle: Nanos::from_secs(300),
        }
    }

    /// The most memory that a session takes, whatever the other gateway and the hosts do: about half of it where flows are busy.
    pub fn memory_bytes(&self, packet_max_bytes: u32) -> u64 {
        let places = |kept: u32| u64::from(kept).next_power_of_two();
        let places = places(self.kept_packets) + places(self.datagram_packets);
        let packets = 2 * places * (u64::from(packet_max_bytes) + PACKET_RECORD_BYTES);
        let datagrams = 4 * self.datagram_buffer;
        let flows = 2 * u64::from(self.max_flows);
        let received = MEMORY_FACTOR * self.session_window
            + Self::early_pieces(self.session_window) * EARLY_PIECE_BYTES;
        let least = Self::LEAST_SEND_BUFFER.min(self.send_buffer);
        let waiting = (self.session_window + flows * least).min(flows * self.send_buffer);
        let kept = Pieces::MOST_BYTES;
        packets + datagrams + received + MEMORY_FACTOR * waiting + flows * FLOW_BYTES + kept
    }

    /// What came so many packets before the first missing one keeps no memory: no repair is expected to cover it.
    pub(crate) fn coded_back(&self) -> u64 {
        (4 * u64::from(self.window_packets)).max(1024)
    }

    /// Of all flows' bytes, those that wait for bytes before them may be in so many pieces. A gateway that sends in order does not
    /// come near: a piece is made by a packet that is missing.
    pub(crate) fn early_pieces(session_window: u64) -> u64 {
        (session_window / 512).max(1024)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let check = |right: bool, what, expected| {
            if right {
                Ok(())
            } else {
                Err(ConfigError { what, expected })
            }
        };
        let rate = self.rate.known_bit_s();
        check(
            rate.is_none_or(|it| (1_000..=1_000_000_000_000).contains(&it)),
            "rate",
            "1 kbit/s to 1 Tbit/s",
        )?;
        check(
            (1..=65_535).contains(&self.window_packets),
            "window_packets",
            "1 to 65535",
        )?;
        check(
            (self.window_packets..=1 << 26).contains(&self.kept_packets),
            "kept_packets",
            "window_packets to 2^26",
        )?;
        let smallest = PACKET_MAX_BYTES as u64;
        check(
            self.flow_start_window >= smallest && self.flow_start_window <= self.flow_window,
            "flow_start_window",
            "65535 to flow_window",
        )?;
        check(
            self.flow_window <= self.session_window && self.session_window <= 1 << 50,
            "session_window",
            "flow_window to 2^50",
        )?;
        check(self.send_buffer >= 4096, "send_buffer", "4096 or more")?;
        check(self.max_flows >= 1, "max_flows", "1 or more")?;
        check(
            (1 << 17..=1 << 40).contains(&self.datagram_buffer),
            "datagram_buffer",
            "2^17 to 2^40",
        )?;
        check(
            self.datagram_packets <= 1 << 16,
            "datagram_packets",
            "0 to 2^16",
        )?;
        check(
            [
                self.datagram_wait,
                self.datagram_repair,
                self.association_idle,
            ]
            .into_iter()
            .all(|it| it > Nanos::ZERO),
            "datagram_wait",
            "more than 0, as datagram_repair and association_idle",
        )?;
        check(
            self.report_every > Nanos::ZERO && self.patience >= Nanos::ZERO,
            "report_every",
            "more than 0, and a patience of 0 or more",
        )
    }
}

/// Settings that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub what: &'static str,
    pub expected: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}", self.what, self.expected)
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_a_fixed_rate_hold_two_round_trips_of_600_ms_up_to_10_gbit_s() {
        for bit_s in [
            1_000,
            16_000_000,
            300_000_000,
            2_000_000_000,
            10_000_000_000,
        ] {
            let config = Config::fixed(bit_s, 90);
            config.check().unwrap();
            let two_round_trips = bit_s / 8 * 12 / 10;
            assert!(config.flow_start_window >= two_round_trips, "{config:?}");
            assert!(config.flow_window >= two_round_trips, "{config:?}");
            // Half of it may be held by hosts that take nothing.
            assert!(config.session_window >= 2 * two_round_trips, "{config:?}");
            assert!(
                u64::from(config.kept_packets) * 1400 >= two_round_trips,
                "{config:?}"
            );
            // What is lost between two reports has room in one.
            let packets = bit_s as f64 / 8.0 / 1400.0 * config.report_every.as_secs_f64();
            assert!(packets * 0.05 < 64.0, "{packets} packets in a report");
        }
        Config::fixed(1_000_000_000_000, 90).check().unwrap();
    }
}
