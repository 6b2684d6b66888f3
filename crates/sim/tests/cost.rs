//! What a packet costs does not grow with the window: counted in events of the network and in operations on the sender's
//! scoreboard (segments and ranges looked at, moved or compared), not in time.

#![cfg(debug_assertions)]

use bentpipe_base::{Nanos, Time};
use bentpipe_path::config::{LossConfig, Outage, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;

/// What disturbs the sender.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Slow start overflows the queue of one BDP once.
    SlowStart,
    /// And each packet is lost with this chance.
    Loss(f64),
    /// And after four seconds nothing passes for three: a timeout with the whole window out.
    Outage,
}

/// Events and scoreboard operations per segment sent in ten seconds.
fn cost(rate_bit_s: u64, rtt_ms: i64, control: &str, trouble: Trouble) -> (f64, f64) {
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s },
        ..PipeConfig::default()
    };
    let bytes = rate_bit_s / 8 * rtt_ms as u64 / 1000;
    pipe.queue.limit = QueueLimit::Bytes { bytes };
    pipe.propagation.delay_ns = Nanos::from_millis(rtt_ms / 2);
    let mut spec = SimSpec {
        up: pipe.clone(),
        down: pipe,
        ..SimSpec::default()
    };
    match trouble {
        Trouble::SlowStart => {}
        Trouble::Loss(p) => spec.up.channel.loss = LossConfig::Bernoulli { p },
        Trouble::Outage => {
            spec.up.channel.outages = vec![Outage {
                start_ns: Time(4_000_000_000),
                length_ns: Nanos::from_secs(3),
            }];
        }
    }
    spec.client.tcp.congestion_control = control.into();
    spec.client.tcp.tcp_wmem[2] = 1 << 30;
    spec.server.tcp.tcp_rmem[2] = 1 << 30;
    let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    pair.write(connection, Side::Client, u64::MAX >> 8);
    pair.run_until(Time(10_000_000_000));
    let sender = pair.socket(connection, Side::Client).expect("open");
    let segments = sender.counters().data_segments_out as f64;
    (
        pair.events() as f64 / segments,
        sender.scoreboard_operations() as f64 / segments,
    )
}

#[test]
fn the_cost_of_a_packet_does_not_grow_with_the_window() {
    let troubles = [Trouble::SlowStart, Trouble::Loss(0.001), Trouble::Outage];
    for control in ["reno", "cubic", "bbr", "bbr3"] {
        for trouble in troubles {
            // Windows of some 10, 900 and 7000 segments: eight times the window adds three steps to a binary search.
            let [small, medium, large] = [(5, 20), (50, 200), (400, 200)]
                .map(|(mbit_s, rtt_ms)| cost(mbit_s * 1_000_000, rtt_ms, control, trouble));
            println!("{control} {trouble:?} {small:?} {medium:?} {large:?}");
            assert!(
                large.0 < 1.1 * small.0,
                "events per segment with {control} and {trouble:?}: {} and {}",
                small.0,
                large.0
            );
            assert!(
                large.1 < 1.4 * medium.1,
                "operations per segment with {control} and {trouble:?}: {} and {}",
                medium.1,
                large.1
            );
        }
    }
}
