//! A call: the delay of each datagram against closed forms, and what is lost.

use super::{pipe, spec};
use bentpipe_path::config::LossConfig;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::DatagramRow;
use bentpipe_sim::seat::Side;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{CallSpec, WorkloadSpec};

#[derive(Default)]
struct Datagrams(Vec<DatagramRow>);

impl Sink for Datagrams {
    fn datagram(&mut self, row: &DatagramRow) {
        self.0.push(*row);
    }
}

/// G.711 with 20 ms: 160 bytes and RTP's 12.
fn call(seconds: Option<i64>) -> WorkloadSpec {
    WorkloadSpec::Call(CallSpec {
        name: "call".into(),
        start_ns: Time::ZERO,
        time_ns: seconds.map(Nanos::from_secs),
        interval_ns: Nanos::from_millis(20),
        payload_bytes: 172,
        left_out_ns: Nanos::from_millis(500),
    })
}

fn seen(spec: SimSpec) -> Vec<DatagramRow> {
    let mut seen = Datagrams::default();
    Simulation::new(spec).expect("valid").run(&mut seen);
    seen.0
}

#[test]
fn on_an_idle_path_a_datagram_takes_the_delay_and_its_own_transmission() {
    // 172 bytes, UDP and IPv4: 200 bytes at 80 kbit/s are 20 ms, which just fits.
    for (rate_bit_s, expected_ns) in [
        (0, 275_000_000),
        (1_000_000, 276_600_000),
        (80_000, 295_000_000),
    ] {
        let rows = seen(spec(pipe(rate_bit_s, 275, 100_000), call(Some(2)), None));
        assert_eq!(rows.len(), 200);
        for row in &rows {
            assert_eq!(row.delay, Some(Nanos(expected_ns)));
            assert_eq!(row.sent, Time(20_000_000 * i64::from(row.sequence)));
        }
        assert_eq!(
            rows.iter().filter(|row| row.to == Side::Client).count(),
            100
        );
    }
}

#[test]
fn a_rate_below_the_calls_fills_the_queue_and_then_drops() {
    // 40 kbit/s carry every other datagram; the queue of 2000 bytes holds ten: 400 ms.
    let mut spec = spec(pipe(40_000, 50, 2_000), call(Some(20)), None);
    spec.up = pipe(0, 50, 0);
    let rows = seen(spec);
    let down: Vec<_> = rows.iter().filter(|row| row.to == Side::Client).collect();
    let lost = down.iter().filter(|row| row.delay.is_none()).count();
    assert!((480..=500).contains(&lost), "{lost} of {}", down.len());
    let longest = down
        .iter()
        .filter_map(|row| row.delay)
        .max()
        .expect("some came");
    assert!(
        (450..=500).contains(&(longest.0 / 1_000_000)),
        "{longest:?}"
    );
    assert!(
        rows.iter()
            .all(|row| row.to == Side::Client || row.delay.is_some())
    );
}

#[test]
fn what_is_lost_is_lost_in_its_own_direction_and_nothing_is_sent_again() {
    let mut spec = spec(pipe(0, 100, 0), call(Some(200)), None);
    spec.down.channel.loss = LossConfig::Bernoulli { p: 0.05 };
    let rows = seen(spec);
    let lost = |to| {
        rows.iter()
            .filter(|row| row.to == to && row.delay.is_none())
            .count()
    };
    // 500 of 10,000, with a deviation of 22.
    assert!(
        (400..=600).contains(&lost(Side::Client)),
        "{}",
        lost(Side::Client)
    );
    assert_eq!(lost(Side::Server), 0);
    assert_eq!(rows.len(), 20_000);
}

#[test]
fn a_duplicate_counts_once_and_what_is_on_the_way_at_the_end_not_at_all() {
    let mut spec = spec(pipe(0, 300, 0), call(None), Some(10));
    spec.down.channel.duplicate = 1.0;
    let rows = seen(spec);
    // Sent until 10 s, and there by then: those of the first 9.7 s.
    for to in Side::BOTH {
        let there: Vec<_> = rows.iter().filter(|row| row.to == to).collect();
        assert_eq!(there.len(), 486, "{to:?}");
        assert!(
            there
                .iter()
                .all(|row| row.delay == Some(Nanos::from_millis(300)))
        );
    }
}
