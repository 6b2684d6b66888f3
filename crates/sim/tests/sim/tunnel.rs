//! A coded tunnel around the path: whole packets cross, and TCP inside is as it was.

use bentpipe_base::{Direction, Nanos, Time};
use bentpipe_fec::redundancy_for;
use bentpipe_path::config::{LossConfig, QueueLimit, ShaperConfig, TitrationConfig};
use bentpipe_path::{Bin, DropCause};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::rows::{FlowRow, PingRow};
use bentpipe_sim::seat::Side;
use bentpipe_sim::simulation::{Simulation, Summary};
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::tunnel::{ExactRepair, Redundancy, TunnelConfig, TunnelFigures};
use bentpipe_sim::workload::WorkloadSpec;
use proptest::prelude::*;

const RATE_BIT_S: u64 = 16_000_000;
const SECONDS: i64 = 120;
/// Timestamps take 12 bytes of each.
const SEGMENT_BYTES: f64 = 1462.0 - 40.0 - 12.0;
/// Outer IP and UDP, the tunnel's header, a packet.
const FRAME_BYTES: f64 = 28.0 + 4.0 + 1462.0;

#[derive(Default)]
struct Seen {
    bins: Vec<Bin>,
    bytes: u64,
    pings: Vec<PingRow>,
}

impl Sink for Seen {
    fn bin(&mut self, to: Side, bin: &Bin) {
        if to == Side::Client {
            self.bins.push(bin.clone());
        }
    }
    fn flow(&mut self, row: &FlowRow) {
        self.bytes += row.bytes;
    }
    fn ping(&mut self, row: &PingRow) {
        self.pings.push(*row);
    }
}

impl Seen {
    /// Of the pipe, after a time to fill it.
    fn goodput_bit_s(&self) -> f64 {
        let from = Time::ZERO + Nanos::from_secs(20);
        let late = self.bins.iter().filter(|bin| bin.start >= from);
        let bytes: u64 = late.map(|bin| bin.goodput_bytes).sum();
        bytes as f64 * 8.0 / (SECONDS - 20) as f64
    }
}

fn coded(redundancy: Redundancy) -> TunnelConfig {
    TunnelConfig {
        redundancy,
        window_packets: 256,
        hold_ns: Nanos::from_millis(100),
        exact: None,
    }
}

/// For 16 Mbit/s and 550 ms.
const EXACT: ExactRepair = ExactRepair {
    patience_ns: Nanos::from_millis(69),
    again_ns: Nanos::from_millis(1300),
    kept_packets: 3000,
};

/// A download with CUBIC over 16 Mbit/s and 550 ms, and echo requests beside it.
fn spec(loss: f64, tunnel: impl Into<Option<TunnelConfig>>) -> SimSpec {
    let mut spec = SimSpec {
        tunnel: tunnel.into(),
        duration_ns: Some(Nanos::from_secs(SECONDS)),
        until_done: false,
        workloads: vec![
            WorkloadSpec::Bulk {
                start_ns: Time::ZERO,
                direction: Direction::Down,
                streams: 1,
                size_bytes: None,
                time_ns: None,
                omit_ns: Nanos::ZERO,
            },
            WorkloadSpec::Ping {
                start_ns: Time::ZERO,
                count: 50,
                interval_ns: Nanos::from_millis(200),
                payload_bytes: 56,
            },
        ],
        ..SimSpec::default()
    };
    for pipe in [&mut spec.down, &mut spec.up] {
        pipe.propagation.delay_ns = Nanos::from_millis(275);
        pipe.shaper = ShaperConfig::Fixed {
            rate_bit_s: RATE_BIT_S,
        };
        pipe.queue.limit = QueueLimit::Bytes { bytes: 1_100_000 };
    }
    if loss > 0.0 {
        spec.down.channel.loss = LossConfig::Bernoulli { p: loss };
    }
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = "cubic".into();
        host.tcp.tcp_wmem[2] = 33_554_432;
        host.tcp.tcp_rmem[2] = 33_554_432;
    }
    spec
}

/// The same with a receive window of less than two BDP, so that the queue never overflows.
fn calm(loss: f64, tunnel: impl Into<Option<TunnelConfig>>) -> SimSpec {
    let mut spec = spec(loss, tunnel);
    spec.client.tcp.tcp_rmem[2] = 2_000_000;
    spec
}

fn run(spec: SimSpec) -> (Seen, Summary) {
    let mut seen = Seen::default();
    let simulation = Simulation::new(spec).expect("a sound specification");
    let summary = simulation.run(&mut seen);
    (seen, summary)
}

fn down(summary: &Summary) -> TunnelFigures {
    let tunnel = summary.tunnel.as_ref().expect("a tunnel");
    tunnel[Side::Client as usize].clone()
}

#[test]
fn at_1_percent_loss_cubic_carries_ten_times_as_much_through_the_tunnel() {
    let (plain, summary) = run(spec(0.01, None));
    assert!(summary.tunnel.is_none());
    for redundancy in [Redundancy::Fixed { ratio: 0.05 }, Redundancy::Adaptive] {
        let (coded, summary) = run(spec(0.01, coded(redundancy)));
        let (plain, coded) = (plain.goodput_bit_s(), coded.goodput_bit_s());
        println!("{plain} {coded} {:#?}", down(&summary));
        assert!(coded >= 10.0 * plain, "{coded} against {plain}");
    }
}

#[test]
fn at_5_percent_loss_the_adaptive_policy_protects_a_young_flow_until_it_fills_the_path() {
    let (coded, summary) = run(spec(0.05, coded(Redundancy::Adaptive)));
    let share = coded.goodput_bit_s() / RATE_BIT_S as f64;
    println!("{share} of the rate, {:#?}", down(&summary));
    assert!(share > 0.5, "{share}");
}

#[test]
fn without_loss_the_tunnel_carries_what_its_headers_and_repairs_leave() {
    let plain_share = 1448.0 / 1500.0;
    let (plain, _) = run(calm(0.0, None));
    let rate = RATE_BIT_S as f64;
    assert!((plain.goodput_bit_s() / rate / plain_share - 1.0).abs() < 0.01);
    for ratio in [0.0, 0.1, 0.5] {
        let (seen, summary) = run(calm(0.0, coded(Redundancy::Fixed { ratio })));
        let share = SEGMENT_BYTES / (FRAME_BYTES + ratio * 1500.0);
        let found = seen.goodput_bit_s() / rate / share;
        assert!((found - 1.0).abs() < 0.01, "{found} at {ratio}");
        let figures = down(&summary);
        assert_eq!((figures.recovered, figures.lost), (0, 0));
        assert!((figures.redundancy_sent.expect("packets") - ratio).abs() < 0.001);
        assert_eq!(figures.added_delay_s_p95, Some(0.0));
    }
}

#[test]
fn an_adaptive_tunnel_without_loss_stops_sending_repairs() {
    let (_, summary) = run(spec(0.0, coded(Redundancy::Adaptive)));
    let figures = down(&summary);
    assert!(figures.redundancy_sent.expect("packets") < 0.01);
}

#[test]
fn repairs_are_used_useless_or_lost_and_what_they_recover_is_what_was_lost() {
    let (_, summary) = run(calm(0.02, coded(Redundancy::Fixed { ratio: 0.1 })));
    let figures = down(&summary);
    let share = |of: Option<f64>| of.expect("packets");
    assert!((share(figures.redundancy_sent) - 0.1).abs() < 0.001);
    assert!((share(figures.redundancy_used) - 0.02).abs() < 0.003);
    let arrived = share(figures.redundancy_used) + share(figures.redundancy_useless);
    assert!((arrived - 0.1 * 0.98).abs() < 0.003, "{arrived}");
    assert!(share(figures.residual_loss) < 1e-4);
    assert!(figures.decoding_delay_s_p50 < figures.decoding_delay_s_p95);
}

#[test]
fn too_few_repairs_leave_a_residual_loss_that_tcp_mends() {
    let (seen, summary) = run(calm(0.05, coded(Redundancy::Fixed { ratio: 0.02 })));
    let figures = down(&summary);
    let residual = figures.residual_loss.expect("packets");
    assert!((0.02..0.05).contains(&residual), "{residual}");
    let counted: u64 = seen.bins.iter().map(|bin| bin.goodput_bytes).sum();
    assert!(counted >= seen.bytes && seen.bytes > 0);
}

#[test]
fn goodput_is_the_payload_that_the_receiver_gets_and_pings_cross_too() {
    let mut lossy = spec(0.01, coded(Redundancy::Fixed { ratio: 0.1 }));
    lossy.duration_ns = None;
    lossy.until_done = true;
    if let WorkloadSpec::Bulk { size_bytes, .. } = &mut lossy.workloads[0] {
        *size_bytes = Some(20_000_000);
    }
    let (seen, _) = run(lossy);
    let counted: u64 = seen.bins.iter().map(|bin| bin.goodput_bytes).sum();
    assert_eq!((counted, seen.bytes), (20_000_000, 20_000_000));
    assert_eq!(seen.pings.len(), 50);
    assert!(seen.pings.iter().all(|ping| ping.rtt.is_some()));
}

#[test]
fn titrated_repairs_wait_for_room_so_that_a_full_queue_has_few_of_them() {
    let run = |room_bytes: Option<u64>| {
        let mut spec = spec(0.01, coded(Redundancy::Fixed { ratio: 0.05 }));
        spec.down.queue.titration = room_bytes.map(|room_bytes| TitrationConfig {
            room_bytes,
            max_age_ns: Nanos::from_millis(137),
        });
        let (_, summary) = run(spec);
        let dropped = summary.totals[Side::Client as usize].dropped_by(DropCause::Aqm);
        (dropped.packets, down(&summary))
    };
    let ((none, untitrated), (few, titrated)) = (run(None), run(Some(550_000)));
    println!("{none} {untitrated:?}\n{few} {titrated:?}");
    // As many are sent, and those for which there is no room in time are dropped before the queue.
    assert_eq!(none, 0);
    assert!(few > 100);
    let arrived = |figures: &TunnelFigures| {
        figures.redundancy_used.expect("packets") + figures.redundancy_useless.expect("packets")
    };
    assert!(arrived(&titrated) < arrived(&untitrated));
    let (enough, everything) = run(Some(2_000_000));
    assert_eq!(enough, 0);
    assert_eq!(everything, untitrated);
}

#[test]
fn what_the_code_leaves_is_sent_again_on_request_and_the_later_of_two_is_dropped() {
    let exact = |ratio| TunnelConfig {
        hold_ns: Nanos::from_millis(800),
        exact: Some(EXACT),
        ..coded(Redundancy::Fixed { ratio })
    };
    for ratio in [0.0, 0.03] {
        let (_, summary) = run(calm(0.02, exact(ratio)));
        let figures = down(&summary);
        println!("{ratio} {figures:?}");
        let lost = 0.02 * figures.packets as f64;
        // All come, what a burst after a wait loses in the queue too: by a repair, or by a packet that was sent again.
        let came = (figures.recovered + figures.exact_used) as f64;
        assert!(came > 0.9 * lost, "{came} of {lost}");
        assert!(figures.residual_loss.expect("packets") < 1e-4);
        // One in 50 of those that are sent again is lost too. Some are decoded before they come.
        assert!(figures.requested >= figures.exact_repairs);
        let arrived = (figures.exact_used + figures.exact_useless) as f64;
        let sent = figures.exact_repairs as f64;
        assert!((arrived / sent - 0.98).abs() < 0.03, "{arrived} of {sent}");
        if ratio == 0.0 {
            assert_eq!(figures.recovered, 0);
            assert!(figures.exact_useless * 20 < figures.exact_repairs);
            let least = figures.exact_delay_s_p50.expect("some");
            assert!(least > 0.55 + 0.069, "{least}");
        } else {
            assert!(figures.recovered > figures.exact_used && figures.exact_useless > 0);
        }
    }
}

/// Repairs per packet of many downloads at once, whose queue overflows again and again, and the packets within the hold.
fn redundancy_under_overflow(loss: f64, streams: u32, queue_bytes: u64) -> (f64, u32) {
    let mut spec = spec(loss, coded(Redundancy::Adaptive));
    spec.down.queue.limit = QueueLimit::Bytes { bytes: queue_bytes };
    if let WorkloadSpec::Bulk { streams: of, .. } = &mut spec.workloads[0] {
        *of = streams;
    }
    let (seen, summary) = run(spec);
    let limit = queue_bytes - 3000;
    let full = seen.bins.iter().filter(|bin| bin.queue_bytes_max > limit);
    let dropped = summary.totals[Side::Client as usize].dropped_by(DropCause::Tail);
    let figures = down(&summary);
    let sent = figures.redundancy_sent.expect("packets");
    println!(
        "{} of {} bins full, {} of {} dropped, redundancy {sent}",
        full.count(),
        seen.bins.len(),
        dropped.packets,
        figures.packets,
    );
    assert!(dropped.packets > 1000);
    // The hold is 100 ms.
    (sent, (figures.packets / (10 * SECONDS as u64)) as u32)
}

#[test]
fn overflow_is_not_coded_for_and_the_channels_loss_is() {
    // Full packets within the hold of 100 ms.
    // A standing queue of one BDP; and a short one, into which bursts overflow.
    for (streams, queue_bytes) in [(10, 1_100_000), (40, 100_000)] {
        let (without, in_hold) = redundancy_under_overflow(0.0, streams, queue_bytes);
        // What a thousandth of loss asks for. Up to a tenth of the packets is dropped here.
        let hardly_any = redundancy_for(0.001, 1.0, in_hold, 0.01);
        assert!(without < hardly_any, "{without}, not below {hardly_any}");
        let (with, in_hold) = redundancy_under_overflow(0.02, streams, queue_bytes);
        let right = redundancy_for(0.02, 1.0, in_hold, 0.01);
        assert!((with / right - 1.0).abs() < 0.2, "{with}, not {right}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let lossy = spec(0.02, coded(Redundancy::Adaptive));
    let ([first, one], [again, same]) = (
        [run(lossy.clone()), run(lossy.clone())].map(|(seen, _)| seen.bins),
        [run(lossy.clone()), run(SimSpec { seed: 2, ..lossy })].map(|(seen, _)| seen.bins),
    );
    assert!(first == one && first == again);
    assert_ne!(first, same);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_byte_arrives_once_over_any_path(
        loss in 0.0..0.1_f64, ratio in 0.0..0.5_f64, duplicate in 0.0..0.1_f64, corrupt in 0.0..0.02_f64,
        hold_ms in 0..300_i64, window in 1..600_u32, exact: bool, seed: u64, ip in prop::sample::select(vec![4_u8, 6]),
    ) {
        let config = TunnelConfig {
            redundancy: Redundancy::Fixed { ratio },
            window_packets: window,
            hold_ns: Nanos::from_millis(hold_ms),
            exact: exact.then_some(EXACT),
        };
        let mut spec = SimSpec { seed: seed >> 2, tunnel: Some(config), ..SimSpec::default() };
        for pipe in [&mut spec.down, &mut spec.up] {
            pipe.propagation.delay_ns = Nanos::from_millis(20);
            pipe.shaper = ShaperConfig::Fixed { rate_bit_s: RATE_BIT_S };
            pipe.queue.limit = QueueLimit::Bytes { bytes: 50_000 };
            pipe.channel.loss = LossConfig::Bernoulli { p: loss };
            pipe.channel.duplicate = duplicate;
            pipe.channel.corrupt = corrupt;
        }
        for host in [&mut spec.client, &mut spec.server] {
            host.tcp.ip = ip;
        }
        let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
        let connection = pair.connect();
        pair.write(connection, Side::Client, 300_000);
        pair.run_until(Time::ZERO + Nanos::from_secs(600));
        prop_assert_eq!(pair.received(Side::Server), 300_000);
    }
}

#[test]
fn a_tunnel_that_cannot_work_is_refused_by_name() {
    let error = Simulation::new(spec(0.0, coded(Redundancy::Fixed { ratio: 1.0 })));
    let said = error.err().expect("twice as much").to_string();
    assert_eq!(
        said,
        "tunnel: 1 repairs per packet, expected 0 or more and less than 1"
    );
}
