use super::policer::Verdict;
use super::*;
use crate::congestion::testing::Flow;
use crate::congestion::testing::window;
use bentpipe_base::time::Nanos;

const RTT: Nanos = Nanos::from_millis(100);

/// 1000 segments per second, 100 ms: a BDP of 100 segments.
fn flow(queue: i64) -> Flow<Bbr> {
    Flow::new(Bbr::new(), 1000, RTT, queue)
}

fn at(seconds: f64) -> Time {
    Time((seconds * 1e9) as i64)
}

#[test]
fn gains_are_the_kernels_in_256ths() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
    assert_eq!(CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
}

#[test]
fn the_first_pacing_rate_sends_the_initial_window_2_9_times_per_round_trip() {
    let flow = flow(1000);
    let wanted = 10.0 * 1448.0 / 0.1 * (739.0 / 256.0) * 0.99;
    let rate = flow.window.pacing_rate.map_or(0.0, |rate| rate as f64);
    assert!(
        (rate / wanted - 1.0).abs() < 1e-3,
        "{rate} against {wanted}"
    );
}

#[test]
fn startup_fills_the_pipe_and_drain_empties_the_queue_again() {
    let mut flow = flow(1000);
    let mut modes = vec![];
    let mut rate = 0;
    flow.run_until(at(6.0), |flow| {
        if modes.last() != Some(&flow.control.mode) {
            modes.push(flow.control.mode);
        }
        rate = flow.control.rate().pacing(flow.window.mss, UNIT);
    });
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBw]);
    let bottleneck = 1000.0 * 1448.0 * 0.99;
    assert!(
        (rate as f64 / bottleneck - 1.0).abs() < 0.02,
        "{rate} against {bottleneck}"
    );
    // Two BDP and three bursts of two.
    assert!(
        (200..=212).contains(&flow.window.cwnd),
        "{}",
        flow.window.cwnd
    );
}

#[test]
fn the_pacing_rate_doubles_each_round_in_startup() {
    let mut flow = Flow::new(Bbr::new(), 1_000_000, RTT, 1_000_000);
    let mut by_round = vec![];
    flow.run_until(at(0.85), |flow| {
        if flow.control.round_start {
            by_round.push(flow.control.max_rate().0 as f64);
        }
    });
    assert!(by_round.len() > 6);
    for pair in by_round[2..].windows(2) {
        assert!((1.7..2.4).contains(&(pair[1] / pair[0])), "{by_round:?}");
    }
}

#[test]
fn probing_goes_round_a_cycle_of_eight_smallest_round_trips() {
    let mut flow = flow(1000);
    flow.run_until(at(4.0), |_| {});
    let mut phases: Vec<(usize, Time)> = vec![];
    flow.run_until(at(7.0), |flow| {
        if flow.control.mode == Mode::ProbeBw
            && phases.last().is_none_or(|p| p.0 != flow.control.cycle)
        {
            phases.push((flow.control.cycle, flow.window.now));
        }
    });
    assert!(phases.len() > 16);
    for pair in phases[1..].windows(2) {
        assert_eq!(pair[1].0, (pair[0].0 + 1) % 8);
        let length = (pair[1].1 - pair[0].1).as_secs_f64();
        assert!(
            (0.0..0.3).contains(&length),
            "phase {} of {length} s",
            pair[0].0
        );
        if pair[0].0 >= 2 {
            assert!((0.1..0.11).contains(&length), "cruise of {length} s");
        }
    }
}

#[test]
fn the_cycle_begins_in_any_phase_but_the_one_that_gives_way() {
    let mut seen = [0; 8];
    for seed in 0..400 {
        let mut w = window(10, RTT);
        w.random = bentpipe_base::SplitMix64(seed);
        let mut bbr = Bbr::new();
        bbr.enter_probe_bw(&mut w);
        seen[bbr.cycle] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(
        seen.iter()
            .enumerate()
            .all(|(phase, &count)| phase == 1 || count > 30),
        "{seen:?}"
    );
}

#[test]
fn every_ten_seconds_four_segments_measure_the_round_trip_for_200_ms() {
    let mut flow = flow(1000);
    let mut low = vec![];
    flow.run_until(at(25.0), |flow| {
        if flow.control.mode == Mode::ProbeRtt {
            assert!(flow.window.cwnd <= 4 && flow.window.app_limited > 0);
            low.push(flow.window.now.as_secs_f64());
        }
    });
    let starts: Vec<_> = low
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 5.0)
        .map(|pair| pair[1])
        .collect();
    assert_eq!(starts.len(), 1, "{low:?}");
    let second = starts[0];
    let first = low[0];
    assert!((10.0..11.0).contains(&first) && (10.0..10.8).contains(&(second - first)));
    let first_end = low
        .iter()
        .copied()
        .filter(|&t| t < second)
        .fold(0.0, f64::max);
    assert!(
        (0.2..0.6).contains(&(first_end - first)),
        "{first} to {first_end}"
    );
    assert!(flow.window.cwnd >= 200);
}

#[test]
fn a_short_queue_costs_packets_in_startup_but_no_rate_afterwards() {
    let mut flow = flow(20);
    flow.run_until(at(3.0), |_| {});
    assert!(flow.window.lost > 20);
    let (delivered, lost) = (flow.window.delivered, flow.window.lost);
    flow.run_until(at(9.0), |_| {});
    assert!(
        flow.window.delivered - delivered > 5700,
        "{}",
        flow.window.delivered - delivered
    );
    assert!(flow.window.lost - lost < 300, "{}", flow.window.lost - lost);
}

#[test]
fn a_first_round_of_recovery_sends_what_was_delivered_and_its_end_restores_the_window() {
    let mut w = window(100, RTT);
    let mut bbr = Bbr::new();
    bbr.init(&mut w);
    (bbr.full, bbr.cwnd_gain) = (true, 2 * UNIT);
    bbr.max_rate.update(10, 0, Rate::of(100, 100_000).0);
    bbr.ssthresh(&mut w);
    w.view.state = CaState::Recovery;
    (w.view.packets_out, w.view.lost_out) = (100, 40);
    let sample = AckSample {
        acked_sacked: 3,
        losses: 40,
        ..AckSample::default()
    };
    bbr.set_cwnd(&mut w, &sample);
    assert_eq!(w.cwnd, 63);
    w.view.state = CaState::Open;
    bbr.set_cwnd(
        &mut w,
        &AckSample {
            acked_sacked: 1,
            ..AckSample::default()
        },
    );
    assert!(w.cwnd >= 100);
}

#[test]
fn two_lossy_intervals_of_one_rate_are_a_policer_for_48_rounds() {
    let mut w = window(10, RTT);
    let mut policer = Policer::default();
    policer.reset(&w);
    let mut found = None;
    for round in 0..20 {
        w.view.now += RTT;
        w.view.delivered_at = w.now;
        w.view.delivered += 100;
        w.view.lost += 30;
        let sample = AckSample {
            losses: 30,
            ..AckSample::default()
        };
        if policer.on_ack(&w, &sample, true, true) == Verdict::Policed {
            found = Some(round);
            break;
        }
    }
    // The first loss begins the first interval of four rounds, its end the second.
    assert_eq!(found, Some(7));
    assert_eq!(policer.rate(), Some(Rate::of(100, 100_000)));
    let used = (1..100)
        .find(|_| policer.on_ack(&w, &AckSample::default(), true, true) == Verdict::Expired);
    assert_eq!((used, policer.rate()), (Some(48), None));
}

#[test]
fn a_tenth_lost_is_not_a_policer() {
    let mut w = window(10, RTT);
    let mut policer = Policer::default();
    policer.reset(&w);
    for _ in 0..100 {
        w.view.now += RTT;
        w.view.delivered_at = w.now;
        w.view.delivered += 100;
        w.view.lost += 10;
        let sample = AckSample {
            losses: 10,
            ..AckSample::default()
        };
        assert_eq!(policer.on_ack(&w, &sample, true, true), Verdict::Nothing);
    }
}

#[test]
fn acks_that_come_in_lumps_widen_the_window_by_the_lump() {
    let mut w = window(1000, RTT);
    let rate = Rate::of(1000, 1_000_000);
    let mut aggregation = Aggregation::default();
    aggregation.begin_epoch(w.now);
    for _ in 0..50 {
        w.view.now += Nanos::from_millis(40);
        w.view.delivered_at = w.now;
        let sample = AckSample {
            acked_sacked: 40,
            ..AckSample::default()
        };
        aggregation.on_ack(&w, &sample, rate, false);
    }
    assert!(
        (40..=42).contains(&aggregation.allowance(rate)),
        "{}",
        aggregation.allowance(rate)
    );
}
