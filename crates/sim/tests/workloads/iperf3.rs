//! iperf3's exchange on its control connection, in round trips.

use super::{pipe, run, spec};
use bentpipe_base::Direction;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::workload::WorkloadSpec;

/// iperf3 sets `TCP_NODELAY` on its control connection: with Nagle the second of the states "start" and "running" would wait
/// for the delayed ACK of the first, 40 ms and more.
#[test]
fn the_first_byte_of_an_upload_comes_two_and_a_half_round_trips_after_its_stream_is_opened() {
    for round_trip_ms in [2, 20, 200] {
        let work = WorkloadSpec::Iperf3 {
            start_ns: Time::ZERO,
            direction: Direction::Up,
            streams: 1,
            size_bytes: None,
            time_ns: Some(Nanos::from_secs(1)),
            omit_ns: Nanos::ZERO,
            congestion_control: None,
            max_pacing_rate_bit_s: None,
        };
        let (flows, _) = run(spec(
            pipe(100_000_000, round_trip_ms / 2, 1_000_000),
            work,
            None,
        ));
        let first_byte = flows[0].first_byte.expect("it was sent");
        let took_ms = (first_byte - flows[0].start).as_secs_f64() * 1e3;
        let expected_ms = 2.5 * round_trip_ms as f64;
        assert!(
            (took_ms - expected_ms).abs() < 1.0,
            "round trip {round_trip_ms} ms: {took_ms} ms, expected {expected_ms} ms"
        );
    }
}
