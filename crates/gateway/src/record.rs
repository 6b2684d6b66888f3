//! A gateway in a lab, as both engines' setups and records have it.

use crate::session::Figures;
use bentpipe_base::Nanos;
use bentpipe_fec::Policy;
use serde::Serialize;

/// Repairs that are sent before anything is known to be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayRedundancy {
    /// As many as the reported losses need.
    #[default]
    Adaptive,
    /// So many per packet; 0: none.
    Fixed(f64),
}

bentpipe_reading::read_variants!(GatewayRedundancy { "adaptive" => Adaptive, "fixed" => Fixed(ratio) });

impl GatewayRedundancy {
    /// `None`: the policy that [`crate::Config::fixed`] has.
    pub fn policy(self) -> Option<Policy> {
        match self {
            Self::Adaptive => None,
            Self::Fixed(0.0) => Some(Policy::Off),
            Self::Fixed(ratio) => Some(Policy::Fixed { ratio }),
        }
    }
}

/// What one gateway did.

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GatewayFigures {
    /// Connections that this gateway took from hosts, or opened for the other one.
    pub connections: u64,
    /// Of them, those that the other gateway or its hosts reset.
    pub resets: u64,
    /// Payload that its hosts gave, and that they took.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// Packets that it sent: new ones, repairs, and those that were asked for.
    pub packets: u64,
    pub repairs: u64,
    pub exact_repairs: u64,
    /// Of the packets that came: as they were sent, by repairs, and when they were asked for.
    pub came_as_sent: u64,
    pub came_by_repair: u64,
    pub came_when_asked: u64,
    /// Came although they were known: repairs of nothing, and packets that were asked for too early.
    pub useless_repairs: u64,
    pub useless_exact: u64,
    pub reports: u64,
    pub probes: u64,
    /// UDP that its hosts gave, and that they were given. Dropped: too old, or beyond the room for what waits.
    pub datagrams_sent: u64,
    pub datagrams_delivered: u64,
    pub datagrams_dropped: u64,
    /// Packets with datagrams, and repairs of them.
    pub datagram_packets: u64,
    pub datagram_repairs: u64,
    /// As the other gateway's reports say. `None`: they told of too few packets.
    pub channel_loss: Option<f64>,
    pub round_trip_s: Option<f64>,
}

impl From<Figures> for GatewayFigures {
    fn from(of: Figures) -> Self {
        Self {
            connections: of.opened + of.accepted,
            resets: of.resets,
            sent_bytes: of.sent_bytes,
            delivered_bytes: of.delivered_bytes,
            packets: of.sender.sources,
            repairs: of.sender.repairs,
            exact_repairs: of.sender.exact_repairs,
            came_as_sent: of.receiver.sources,
            came_by_repair: of.receiver.recovered,
            came_when_asked: of.receiver.exact_repairs,
            useless_repairs: of.receiver.useless_repairs,
            useless_exact: of.receiver.useless_exact_repairs,
            reports: of.receiver.reports,
            probes: of.probes,
            datagrams_sent: of.datagrams.sent,
            datagrams_delivered: of.datagrams.delivered,
            datagrams_dropped: of.datagrams.dropped_full
                + of.datagrams.dropped_old
                + of.datagrams.dropped_closed,
            datagram_packets: of.datagrams.packets,
            datagram_repairs: of.datagrams.repairs,
            channel_loss: of.channel_loss,
            round_trip_s: of.round_trip.map(Nanos::as_secs_f64),
        }
    }
}
