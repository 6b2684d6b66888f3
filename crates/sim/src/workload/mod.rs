//! What the hosts do. A workload opens connections, writes, and is told what its sockets did; each kind is one file and
//! one line in [`build`].

mod bulk;
mod call;
mod channels;
mod http;
mod interactive;
mod iperf3;
mod ping;

pub use bulk::Bulk;
pub use call::{Call, CallSpec};
pub use channels::{Channels, ChannelsSpec};
pub use http::{Http, HttpSpec, PopularitySpec};
pub use interactive::{Interactive, InteractiveSpec};
pub use iperf3::Iperf3;
pub use ping::Ping;

use crate::packet::ConnectionId;
use crate::seat::Side;
use crate::spec_error::SpecError;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::congestion::Choice;
use bentpipe_tcp::{Config, Notice};
use serde::Serialize;

/// A workload in plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// TCP as fast as it goes, by iperf3. With a size the streams share it equally.
    Iperf3 {
        start_ns: Time,
        direction: Direction,
        streams: u32,
        /// In all streams together; with neither this nor a time it lasts to the run's end.
        size_bytes: Option<u64>,
        /// After `omit_ns`.
        time_ns: Option<Nanos>,
        omit_ns: Nanos,
        /// Of its connections' both ends; the hosts' if `None`.
        congestion_control: Option<Choice>,
        /// `SO_MAX_PACING_RATE` of each stream, a rate of payload (iperf3's `--fq-rate`).
        max_pacing_rate_bit_s: Option<u64>,
    },
    /// TCP as fast as it goes, with no tool around it.
    Bulk {
        start_ns: Time,
        direction: Direction,
        streams: u32,
        /// In all streams together; with neither this nor a time it lasts to the run's end.
        size_bytes: Option<u64>,
        time_ns: Option<Nanos>,
        omit_ns: Nanos,
    },
    Ping {
        start_ns: Time,
        count: u32,
        interval_ns: Nanos,
        payload_bytes: u32,
    },
    /// Datagrams both ways at a constant rate.
    Call(CallSpec),
    /// Small messages over one connection, each answered with as many bytes.
    Interactive(InteractiveSpec),
    /// Fetches from a web server.
    Http(HttpSpec),
    /// Clients with one connection after another.
    Channels(ChannelsSpec),
}

const BLANK: WorkloadSpec = WorkloadSpec::Ping {
    start_ns: Time::ZERO,
    count: 0,
    interval_ns: Nanos::ZERO,
    payload_bytes: 0,
};

bentpipe_reading::read_tagged!(WorkloadSpec, "kind", BLANK, {
    "iperf3" => Iperf3 { start_ns, direction, streams, size_bytes, time_ns, omit_ns, congestion_control, max_pacing_rate_bit_s },
    "bulk" => Bulk { start_ns, direction, streams, size_bytes, time_ns, omit_ns },
    "ping" => Ping { start_ns, count, interval_ns, payload_bytes },
    "call" => Call(CallSpec),
    "interactive" => Interactive(InteractiveSpec),
    "http" => Http(HttpSpec),
    "channels" => Channels(ChannelsSpec),
});

impl WorkloadSpec {
    pub fn start(&self) -> Time {
        match self {
            Self::Bulk { start_ns, .. }
            | Self::Iperf3 { start_ns, .. }
            | Self::Ping { start_ns, .. } => *start_ns,
            Self::Call(call) => call.start_ns,
            Self::Interactive(interactive) => interactive.start_ns,
            Self::Http(http) => http.start_ns,
            Self::Channels(channels) => channels.start_ns,
        }
    }

    /// What it sets its own sockets to.
    pub(crate) fn set(&self, tcp: &mut Config) {
        if let Self::Iperf3 {
            congestion_control,
            max_pacing_rate_bit_s,
            ..
        } = self
        {
            if let Some(control) = congestion_control {
                tcp.congestion_control.clone_from(control);
            }
            tcp.max_pacing_rate_bit_s = *max_pacing_rate_bit_s;
        }
    }

    pub(crate) fn has_own_settings(&self) -> bool {
        matches!(
            self,
            Self::Iperf3 { congestion_control, max_pacing_rate_bit_s, .. }
                if congestion_control.is_some() || max_pacing_rate_bit_s.is_some()
        )
    }

    pub(crate) fn congestion_control_mut(&mut self) -> Option<&mut Choice> {
        match self {
            Self::Iperf3 {
                congestion_control, ..
            } => congestion_control.as_mut(),
            _ => None,
        }
    }
}

/// A running workload.
pub trait Workload {
    /// At its start.
    fn on_start(&mut self, world: &mut World);

    /// Something happened at one of its sockets.
    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        let _ = (world, id, side, notice);
    }

    /// A time asked for by [`World::call_at`] has come; `u64::MAX` is the start.
    fn on_timer(&mut self, world: &mut World, token: u64) {
        let _ = (world, token);
    }

    /// The answer to [`World::ping`] has come.
    fn on_echo(&mut self, world: &mut World, sequence: u32) {
        let _ = (world, sequence);
    }

    /// A datagram of [`World::send_datagram`] has come to this side.
    fn on_datagram(&mut self, world: &mut World, to: Side, sequence: u32) {
        let _ = (world, to, sequence);
    }

    /// The run ends: report what is unfinished.
    fn on_end(&mut self, world: &mut World) {
        let _ = world;
    }

    fn is_done(&self) -> bool;
}

pub(crate) fn build(
    world: &mut World,
    place: usize,
    spec: &WorkloadSpec,
) -> Result<Box<dyn Workload>, SpecError> {
    Ok(match spec {
        WorkloadSpec::Iperf3 {
            direction,
            streams,
            size_bytes,
            time_ns,
            omit_ns,
            max_pacing_rate_bit_s,
            ..
        } => Box::new(Iperf3::new(
            place,
            *direction,
            *streams,
            *size_bytes,
            *time_ns,
            *omit_ns,
            max_pacing_rate_bit_s.is_some(),
        )),
        WorkloadSpec::Bulk {
            direction,
            streams,
            size_bytes,
            time_ns,
            omit_ns,
            ..
        } => Box::new(Bulk::new(
            place,
            *direction,
            *streams,
            *size_bytes,
            *time_ns,
            *omit_ns,
        )),
        WorkloadSpec::Ping {
            count,
            interval_ns,
            payload_bytes,
            ..
        } => Box::new(Ping::new(place, *count, *interval_ns, *payload_bytes)),
        WorkloadSpec::Call(call) => Box::new(Call::new(place, call)?),
        WorkloadSpec::Interactive(interactive) => {
            Box::new(Interactive::new(world, place, interactive)?)
        }
        WorkloadSpec::Http(http) => Box::new(Http::new(world, place, http)?),
        WorkloadSpec::Channels(channels) => Box::new(Channels::new(world, place, channels)?),
    })
}
