//! Keystrokes: the delay of each message against closed forms.

use super::{pipe, spec};
use bentpipe_base::Direction;
use bentpipe_path::config::LossConfig;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::{FailureRow, FlowRow, PingRow};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{InteractiveSpec, WorkloadSpec};
use bentpipe_workloads::Gaps;

/// A message's bytes on the wire beyond its payload: IPv4 and TCP with timestamps.
const HEADERS: u64 = 52;

#[derive(Default)]
struct Seen {
    messages: Vec<PingRow>,
    flows: Vec<FlowRow>,
    failures: Vec<FailureRow>,
}

impl Sink for Seen {
    fn ping(&mut self, row: &PingRow) {
        self.messages.push(*row);
    }
    fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row.clone());
    }
    fn failure(&mut self, row: &FailureRow) {
        self.failures.push(*row);
    }
}

fn keys(count: u64) -> InteractiveSpec {
    InteractiveSpec {
        name: "keys".into(),
        start_ns: Time::ZERO,
        count: Some(count),
        time_ns: None,
        interval_ns: Nanos::from_millis(200),
        gaps: Gaps::Fixed,
        size_bytes: 36,
        left_out_ns: Nanos::ZERO,
    }
}

fn seen(spec: SimSpec) -> Seen {
    let mut seen = Seen::default();
    Simulation::new(spec).expect("valid").run(&mut seen);
    seen
}

fn delays_ms(seen: &Seen) -> Vec<f64> {
    let of = |row: &PingRow| row.rtt.expect("answered").as_secs_f64() * 1e3;
    seen.messages.iter().map(of).collect()
}

#[test]
fn on_an_idle_path_a_message_waits_for_a_round_trip_and_its_own_transmission_both_ways() {
    for (rate_bit_s, delay_ms, size_bytes) in
        [(0, 275, 36), (128_000, 275, 36), (1_000_000, 20, 1_000)]
    {
        let work = InteractiveSpec {
            size_bytes,
            ..keys(50)
        };
        let work = WorkloadSpec::Interactive(work);
        let found = seen(spec(pipe(rate_bit_s, delay_ms, 100_000), work, None));
        let bits = (size_bytes + HEADERS) as f64 * 8.0;
        let sent_ms = if rate_bit_s > 0 {
            bits / rate_bit_s as f64 * 1e3
        } else {
            0.0
        };
        let expected_ms = 2.0 * (delay_ms as f64 + sent_ms);
        let delays = delays_ms(&found);
        assert_eq!(delays.len(), 50);
        for delay_ms in delays {
            // A pure ACK of 52 bytes may be under way before a message: it takes so long again at most.
            let over_ms = delay_ms - expected_ms;
            assert!(
                (-0.001..=0.001 + 2.0 * sent_ms).contains(&over_ms),
                "{delay_ms} ms, not {expected_ms}"
            );
        }
    }
}

#[test]
fn messages_are_written_at_their_times_from_the_connections_beginning_on() {
    let found = seen(spec(
        pipe(0, 100, 0),
        WorkloadSpec::Interactive(keys(5)),
        None,
    ));
    let times: Vec<f64> = found
        .messages
        .iter()
        .map(|row| row.time.as_secs_f64())
        .collect();
    // The handshake takes one round trip.
    assert_eq!(times, [0.2, 0.4, 0.6, 0.8, 1.0]);
    let numbers: Vec<u32> = found.messages.iter().map(|row| row.sequence).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    // They are no transfer: the table `flows` has none of them.
    assert!(found.flows.is_empty());
}

#[test]
fn exponential_gaps_are_the_draws_of_the_plan() {
    let work = InteractiveSpec {
        gaps: Gaps::Exponential,
        ..keys(40)
    };
    let seed = 5;
    let mut spec = spec(pipe(0, 100, 0), WorkloadSpec::Interactive(work), None);
    spec.seed = seed;
    let found = seen(spec);
    let planned = bentpipe_workloads::MessageTimes::new(
        seed,
        "keys",
        Nanos::from_millis(200),
        Gaps::Exponential,
    );
    for (row, after) in found.messages.iter().zip(planned) {
        assert_eq!(row.time, Time(200_000_000) + after);
    }
    assert_eq!(found.messages.len(), 40);
}

#[test]
fn a_time_says_how_long_messages_are_written() {
    let work = InteractiveSpec {
        count: None,
        time_ns: Some(Nanos::from_secs(2)),
        ..keys(0)
    };
    let found = seen(spec(pipe(0, 100, 0), WorkloadSpec::Interactive(work), None));
    assert_eq!(found.messages.len(), 10);
}

#[test]
fn a_lost_key_waits_for_its_retransmission_and_so_do_those_behind_it() {
    let mut spec = spec(
        pipe(0, 100, 0),
        WorkloadSpec::Interactive(keys(2_000)),
        None,
    );
    spec.up.channel.loss = LossConfig::Bernoulli { p: 0.01 };
    let delays = delays_ms(&seen(spec));
    let slow = delays.iter().filter(|&&delay| delay > 250.0).count();
    // A probe goes out two smoothed round trips after the loss, and one message behind it is held back as long as it is missing.
    assert!((10..=100).contains(&slow), "{slow} of {}", delays.len());
    // Nobody waits for less than a round trip; who waits for a retransmission waits for one more at least.
    assert!(delays.iter().all(|&delay| delay >= 199.99));
    let longest = delays.iter().copied().fold(0.0, f64::max);
    assert!(longest >= 400.0, "{longest} ms");
    // The median is that of the idle path.
    let mut sorted = delays.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(sorted[sorted.len() / 2] < 200.01);
}

#[test]
fn a_standing_queue_adds_its_own_delay() {
    // One CUBIC download keeps a queue of 100 kB at 8 Mbit/s almost full: 100 ms for what comes down.
    let bulk = WorkloadSpec::Bulk {
        start_ns: Time::ZERO,
        direction: Direction::Down,
        streams: 1,
        size_bytes: None,
        time_ns: None,
        omit_ns: Nanos::ZERO,
    };
    let work = WorkloadSpec::Interactive(InteractiveSpec {
        start_ns: Time(10_000_000_000),
        count: None,
        left_out_ns: Nanos::from_millis(200),
        ..keys(0)
    });
    let mut spec = spec(pipe(8_000_000, 10, 100_000), bulk, Some(60));
    spec.workloads.push(work);
    let found = seen(spec);
    let delays: Vec<f64> = delays_ms(&found);
    assert!(delays.len() > 240);
    assert!(
        delays
            .iter()
            .all(|delay| (20.0..=20.0 + 100.0 + 3.0).contains(delay)),
        "{delays:?}"
    );
    let waited = delays.iter().filter(|&&delay| delay > 60.0).count();
    assert!(waited * 2 > delays.len(), "{waited} of {}", delays.len());
}

#[test]
fn what_is_on_the_way_at_the_runs_end_is_left_out_and_what_is_overdue_is_unanswered() {
    let endless = InteractiveSpec {
        count: None,
        left_out_ns: Nanos::from_millis(400),
        ..keys(0)
    };
    let found = seen(spec(
        pipe(0, 200, 0),
        WorkloadSpec::Interactive(endless.clone()),
        Some(10),
    ));
    assert!(found.messages.iter().all(|row| row.rtt.is_some()));
    // Written from 0.4 s on; the last that can be answered at 9.6 s.
    assert_eq!(found.messages.len(), 47);

    // From 5 s on nothing arrives any more.
    let mut spec = spec(
        pipe(0, 200, 0),
        WorkloadSpec::Interactive(endless),
        Some(10),
    );
    spec.up.channel.outages = vec![bentpipe_path::config::Outage {
        start_ns: Time(5_000_000_000),
        length_ns: Nanos::from_secs(60),
    }];
    let found = seen(spec);
    let (answered, unanswered): (Vec<&PingRow>, Vec<&PingRow>) =
        found.messages.iter().partition(|row| row.rtt.is_some());
    assert!(answered.iter().all(|row| row.time < Time(5_000_000_000)));
    assert!(unanswered.iter().all(|row| row.time <= Time(9_600_000_000)));
    assert_eq!(answered.len() + unanswered.len(), 47);
}

#[test]
fn a_connection_that_fails_is_said_and_ends_the_workload() {
    let mut spec = spec(pipe(0, 100, 0), WorkloadSpec::Interactive(keys(5)), None);
    spec.up.channel.loss = LossConfig::Bernoulli { p: 1.0 };
    spec.until_done = true;
    let found = seen(spec);
    assert_eq!(found.failures.len(), 1);
    assert_eq!(found.failures[0].why, "the connection failed");
    assert!(found.messages.is_empty());
}
