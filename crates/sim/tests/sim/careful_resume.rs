//! Careful Resume in a whole connection: what it gains on a GEO path, and what its receiver must allow.

use bentpipe_base::{Nanos, Time};
use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;
use bentpipe_tcp::congestion::{Choice, Value};

const RATE_BIT_S: u64 = 16_000_000;
const RTT: Nanos = Nanos::from_millis(550);
const BDP_BYTES: u64 = RATE_BIT_S / 8 * 550 / 1000;

fn resuming() -> Choice {
    Choice::from("cubic")
        .with("slow_start", Value::Text("careful-resume".into()))
        .with("saved_cwnd", Value::Number(BDP_BYTES as f64))
        .with("saved_rtt", Value::Number(RTT.0 as f64))
}

fn geo(control: Choice, open_receive_window: Option<u64>) -> Pair {
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: RATE_BIT_S,
        },
        ..PipeConfig::default()
    };
    pipe.queue.limit = QueueLimit::Bytes { bytes: BDP_BYTES };
    pipe.propagation.delay_ns = Nanos(RTT.0 / 2);
    let mut spec = SimSpec {
        up: pipe.clone(),
        down: pipe,
        ..SimSpec::default()
    };
    spec.client.tcp.congestion_control = control;
    spec.server.tcp.open_receive_window = open_receive_window;
    Pair::new(&spec, Vec::new()).expect("a sound specification")
}

/// Seconds until the server has all, and the segments sent again.
fn upload(control: Choice, open_receive_window: Option<u64>, bytes: u64) -> (f64, u64) {
    let mut pair = geo(control, open_receive_window);
    let connection = pair.connect();
    pair.write(connection, Side::Client, bytes);
    let mut centiseconds = 0;
    while pair.received(Side::Server) < bytes {
        centiseconds += 1;
        pair.run_until(Time(centiseconds * 10_000_000));
    }
    let sender = pair.socket(connection, Side::Client).expect("open");
    (centiseconds as f64 / 100.0, sender.retransmits())
}

#[test]
fn a_known_path_is_filled_round_trips_sooner_with_few_losses() {
    let open = Some(4 * BDP_BYTES);
    for (bytes, round_trips) in [(1_000_000, 2.0), (5_300_000, 2.0)] {
        let (slow, _) = upload("cubic".into(), open, bytes);
        let (fast, resent) = upload(resuming(), open, bytes);
        println!("{bytes}: {slow} s, {fast} s, {resent} again");
        assert!(
            slow - fast > round_trips * RTT.as_secs_f64(),
            "{slow} s and {fast} s"
        );
        assert!(resent * 1448 < bytes / 50, "{resent}");
    }
}

#[test]
fn linuxs_receive_window_lets_only_part_of_the_jump_through() {
    for (open, expected) in [(None, 40..100), (Some(4 * BDP_BYTES), 370..381)] {
        let mut pair = geo(resuming(), open);
        let connection = pair.connect();
        pair.write(connection, Side::Client, 5_300_000);
        // The handshake, the initial window, and the round trip of the jump.
        pair.run_until(Time(3 * RTT.0));
        let window = pair
            .socket(connection, Side::Client)
            .expect("open")
            .window();
        assert!(
            expected.contains(&window.in_flight()),
            "{}",
            window.in_flight()
        );
    }
}
