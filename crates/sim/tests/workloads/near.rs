//! A host between client and path that forwards.

use super::{Flows, assert_near, end_s, http::http, pipe, spec};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::near::NearConfig;
use bentpipe_sim::network::Side;
use bentpipe_sim::simulation::{SimSpec, Simulation};
use bentpipe_sim::sink::{PingRow, Sink};
use bentpipe_sim::workload::WorkloadSpec;

/// A LAN of 20 ms before a path of 200 ms.
fn behind_near(work: WorkloadSpec, rate_bit_s: Option<u64>) -> SimSpec {
    let spec = spec(pipe(0, 100, 0), work, None);
    SimSpec {
        near: Some(NearConfig {
            host: spec.client.clone(),
            rtt_ns: Nanos::from_millis(20),
            rate_bit_s,
        }),
        ..spec
    }
}

#[derive(Default)]
struct Pings(Vec<PingRow>);

impl Sink for Pings {
    fn ping(&mut self, row: &PingRow) {
        self.0.push(*row);
    }
}

#[test]
fn the_round_trip_is_the_sum_of_the_lan_and_the_path() {
    let work = WorkloadSpec::Ping {
        start_ns: Time::ZERO,
        count: 3,
        interval_ns: Nanos::from_millis(50),
        payload_bytes: 56,
    };
    let mut pings = Pings::default();
    Simulation::new(behind_near(work, None))
        .expect("valid")
        .run(&mut pings);
    let found: Vec<_> = pings.0.iter().map(|row| row.rtt).collect();
    assert_eq!(found, [Some(Nanos::from_millis(220)); 3]);
}

#[test]
fn a_fetch_over_lan_and_path_takes_the_rounds_of_their_sum() {
    let mut flows = Flows::default();
    Simulation::new(behind_near(WorkloadSpec::Http(http(20_000)), None))
        .expect("valid")
        .run(&mut flows);
    assert_near(end_s(&flows.0[0]), 3.0 * 0.22, "14 segments");
}

#[test]
fn a_slow_lan_carries_no_more_than_its_rate_and_the_path_no_more_than_the_lan_lets_through() {
    let size = 5_000_000;
    let bulk = |down| WorkloadSpec::Bulk {
        start_ns: Time::ZERO,
        down,
        streams: 1,
        size_bytes: Some(size),
        time_ns: None,
        omit_ns: Nanos::ZERO,
    };
    for down in [true, false] {
        let mut flows = Flows::default();
        let summary = Simulation::new(behind_near(bulk(down), Some(10_000_000)))
            .expect("valid")
            .run(&mut flows);
        let rate = size as f64 * 8.0 / end_s(&flows.0[0]);
        assert!((7e6..10e6).contains(&rate), "{rate} bit/s, down: {down}");
        let data = if down { Side::Client } else { Side::Server };
        let carried = summary.totals[data as usize].delivered.bytes;
        assert!(carried > size, "{carried} bytes over the path");
    }
}
