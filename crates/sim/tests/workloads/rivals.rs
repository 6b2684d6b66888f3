//! Transfers side by side, each with a congestion control of its own.

use super::{pipe, spec};
use bentpipe_base::Direction;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::SocketRow;
use bentpipe_sim::seat::Seat;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::spec_error::SpecError;
use bentpipe_sim::workload::WorkloadSpec;
use bentpipe_tcp::congestion::ControlError;
use std::collections::BTreeSet;

/// Who used what: the host, its end's port if it is a server's, the congestion control.
#[derive(Default)]
struct Controls(BTreeSet<(bool, u16, &'static str)>);

impl Sink for Controls {
    fn socket(&mut self, row: &SocketRow) {
        let sends = row.host == Seat::Server;
        let client_port = if sends {
            row.remote_port
        } else {
            row.local_port
        };
        self.0
            .insert((sends, client_port, row.sample.congestion_control));
    }
}

fn transfer(control: Option<&str>) -> WorkloadSpec {
    WorkloadSpec::Iperf3 {
        start_ns: Time::ZERO,
        direction: Direction::Down,
        streams: 1,
        size_bytes: None,
        time_ns: Some(Nanos::from_secs(2)),
        omit_ns: Nanos::ZERO,
        congestion_control: control.map(Into::into),
        max_pacing_rate_bit_s: None,
    }
}

fn rivals(own: &str) -> SimSpec {
    let first = spec(pipe(10_000_000, 20, 100_000), transfer(None), None);
    SimSpec {
        workloads: vec![transfer(None), transfer(Some(own))],
        sample_interval_ns: Some(Nanos::from_millis(100)),
        ..first
    }
}

#[test]
fn a_transfer_has_its_own_congestion_control_at_both_ends_and_its_rival_the_hosts() {
    let mut found = Controls::default();
    Simulation::new(rivals("bbr"))
        .expect("valid")
        .run(&mut found);
    for control in ["reno", "bbr"] {
        for sends in [true, false] {
            let used = |&&(at, _, name): &&(bool, u16, &str)| at == sends && name == control;
            // A stream and its control connection.
            assert_eq!(
                found.0.iter().filter(used).count(),
                2,
                "{control}: {:?}",
                found.0
            );
        }
    }
}

#[test]
fn a_congestion_control_that_is_not_there_is_refused_by_name() {
    let refused = Simulation::new(rivals("no-such-control")).err();
    assert!(matches!(
        refused,
        Some(SpecError::CongestionControl(ControlError::UnknownName { name, .. })) if name == "no-such-control"
    ));
}
