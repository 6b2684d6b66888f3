//! How a gateway is set.

use bentpipe_base::Nanos;
use bentpipe_fec::{PACKET_MAX_BYTES, Policy};
use core::fmt;
use serde::{Deserialize, Serialize};

/// The control law: how fast a gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// A rate that is known to be free, in bits of IP packets per second: it is used from the first packet on.
    Fixed(u64),
}

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
    /// Bytes of a flow that wait to be sent.
    pub send_buffer: u64,
    /// Flows that the other gateway may have opened.
    pub max_flows: u32,
    /// At most one report of what has come in so long.
    pub report_every: Nanos,
    /// A missing packet is asked for after this at the earliest. The time grows where packets overtake each other.
    pub patience: Nanos,
    /// A session without a carrier ends after this.
    pub session_timeout: Nanos,
}

impl Config {
    /// At a fixed rate, over datagrams with so many bytes around them.
    pub fn fixed(bit_s: u64, outer_bytes: u32) -> Self {
        // Packets of six seconds, full ones: at 600 ms and 5 % of loss one in a hundred thousand is asked for five times.
        let in_six_seconds = bit_s * 6 / 8 / 1400;
        Self {
            rate: Rate::Fixed(bit_s),
            outer_bytes,
            redundancy: Policy::Adaptive {
                residual: 0.01,
                initial_loss: 0.02,
                max_ratio: 0.5,
            },
            window_packets: 256,
            kept_packets: in_six_seconds.clamp(1024, 1 << 20) as u32,
            session_window: 64 << 20,
            flow_window: 16 << 20,
            flow_start_window: (bit_s * 6 / 8).clamp(1 << 20, 16 << 20),
            send_buffer: 256 << 10,
            max_flows: 16_384,
            report_every: Nanos::from_millis(20),
            patience: Nanos::from_millis(5),
            session_timeout: Nanos::from_secs(900),
        }
    }

    /// The most memory that packets and waiting bytes take, without the few hundred bytes that a flow has of its own.
    pub fn memory_bytes(&self, packet_max_bytes: u32) -> u64 {
        let packets = 2 * u64::from(self.kept_packets) * u64::from(packet_max_bytes);
        packets + self.session_window + u64::from(self.max_flows) * self.send_buffer
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let check = |right: bool, what, expected| {
            if right {
                Ok(())
            } else {
                Err(ConfigError { what, expected })
            }
        };
        let Rate::Fixed(rate) = self.rate;
        check(
            (1_000..=1_000_000_000_000).contains(&rate),
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
