//! What the gateways did, and what the machine kept them from.

use crate::clock::monotonic_ns;
use bentpipe_gateway::GatewayFigures;
use bentpipe_gateway_host::Report;
use serde::Serialize;
use std::time::Instant;

/// Something that each gateway has one of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerGateway<T> {
    pub near: T,
    pub far: T,
}

/// What the machine kept a gateway from: part of the engine's own error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GatewayError {
    /// When the session was established, in seconds of run time. `None`: never.
    pub established_s: Option<f64>,
    /// How long it could not send although it was due, beyond what its pacer makes up for (2 ms each time), and the share of its time.
    pub held_up_s: f64,
    pub held_up_share: f64,
    /// UDP packets that found the receive buffer full, hosts' datagrams with them, and packets that the kernel did not send.
    pub udp_overflow: u64,
    pub udp_unsent: u64,
    /// As the kernel counts: twice the bytes that a program asks for.
    pub udp_receive_buffer_bytes: u64,
    pub udp_send_buffer_bytes: u64,
    /// Datagrams that the carrier dropped, as it found no room.
    pub datagrams_dropped: u64,
    /// Connections of QUIC that carried the session. More than one: it was lost in between.
    pub carriers: u64,
    pub connect_failures: u64,
    pub open_at_once_max: u64,
}

/// What both gateways say at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaysReport {
    pub figures: PerGateway<GatewayFigures>,
    pub errors: PerGateway<GatewayError>,
}

/// The run's time zero on the clock that gateways have.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunZero {
    some_time: Instant,
    then_ns: i64,
}

impl RunZero {
    pub fn new(zero_monotonic_ns: i64) -> Self {
        Self {
            some_time: Instant::now(),
            then_ns: monotonic_ns() - zero_monotonic_ns,
        }
    }

    fn run_time_s(&self, at: Instant) -> f64 {
        let since = match at.checked_duration_since(self.some_time) {
            Some(later) => later.as_secs_f64(),
            None => -self.some_time.duration_since(at).as_secs_f64(),
        };
        self.then_ns as f64 / 1e9 + since
    }
}

impl GatewaysReport {
    pub(super) fn new([near, far]: [Report; 2], zero: RunZero) -> Self {
        Self {
            figures: PerGateway {
                near: near.session.into(),
                far: far.session.into(),
            },
            errors: PerGateway {
                near: GatewayError::of(&near, zero),
                far: GatewayError::of(&far, zero),
            },
        }
    }
}

impl GatewayError {
    fn of(report: &Report, zero: RunZero) -> Self {
        let held_up_s = report.held_up.as_secs_f64();
        let ran_s = report.ran.as_secs_f64();
        Self {
            established_s: report.established.map(|at| zero.run_time_s(at)),
            held_up_s,
            held_up_share: if ran_s > 0.0 { held_up_s / ran_s } else { 0.0 },
            udp_overflow: report.udp.overflow + report.associations.overflow,
            udp_unsent: report.udp.unsent,
            udp_receive_buffer_bytes: report.udp.receive_buffer_bytes,
            udp_send_buffer_bytes: report.udp.send_buffer_bytes,
            datagrams_dropped: report.carrier.datagrams_dropped,
            carriers: report.carrier.connections,
            connect_failures: report.connect_failures,
            open_at_once_max: report.open_at_once_max,
        }
    }
}
