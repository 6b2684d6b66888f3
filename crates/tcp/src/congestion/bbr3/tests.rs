use super::*;
use crate::congestion::testing::Flow;
use crate::congestion::testing::window;

const RTT: Nanos = Nanos::from_millis(100);

/// 1000 segments per second, 100 ms: a BDP of 100 segments.
fn flow(queue: i64) -> Flow<Bbr3> {
    Flow::new(Bbr3::new(), 1000, RTT, queue)
}

fn at(seconds: f64) -> Time {
    Time((seconds * 1e9) as i64)
}

/// The states passed, each with its first moment.
fn states(flow: &mut Flow<Bbr3>, end: f64) -> Vec<(State, f64)> {
    let mut passed: Vec<(State, f64)> = vec![];
    flow.run_until(at(end), |flow| {
        if passed
            .last()
            .is_none_or(|last| last.0 != flow.control.state)
        {
            passed.push((flow.control.state, flow.window.now.as_secs_f64()));
        }
    });
    passed
}

/// The first segment that was lost, sent when so many were in flight.
fn lost_with(sent_in_flight: u32) -> LostSegment {
    LostSegment {
        sent_in_flight,
        prior_lost: 0,
        prior_delivered: 0,
        app_limited: false,
    }
}

#[test]
fn startup_drains_and_then_cruises_below_two_bdp() {
    let mut flow = flow(1000);
    let passed = states(&mut flow, 3.0);
    let order: Vec<_> = passed.iter().map(|entry| entry.0).collect();
    // The queue is gone when Drain ends, so that ProbeDown passes at once.
    assert_eq!(order, [State::Startup, State::Drain, State::ProbeCruise]);
    assert!(
        (0.98..1.02).contains(&(flow.control.max_rate().0 as f64 / Rate::of(1, 1000).0 as f64))
    );
    assert!(
        flow.window.in_flight() <= 110,
        "{}",
        flow.window.in_flight()
    );
    assert_eq!(flow.control.inflight_longterm, INFINITE);
}

#[test]
fn two_to_three_seconds_after_the_last_probe_it_probes_again_in_four_steps() {
    let mut flow = flow(1000);
    let passed = states(&mut flow, 40.0);
    let ups: Vec<_> = passed
        .windows(3)
        .filter(|steps| steps[1].0 == State::ProbeUp)
        .collect();
    assert!(ups.len() >= 8, "{passed:?}");
    for steps in ups {
        assert_eq!(steps[0].0, State::ProbeRefill);
        assert!(
            (0.1..0.12).contains(&(steps[1].1 - steps[0].1)),
            "a refill of {steps:?}"
        );
        assert!(
            matches!(steps[2].0, State::ProbeDown | State::ProbeRtt),
            "{steps:?}"
        );
    }
    // The wait begins with ProbeDown, or anew when ProbeRtt ends.
    let mut wait_start = None;
    let mut waits = vec![];
    for pair in passed.windows(2) {
        let after_probe_rtt = pair[0].0 == State::ProbeRtt || pair[0].0 == State::Drain;
        if pair[1].0 == State::ProbeDown || (pair[1].0 == State::ProbeCruise && after_probe_rtt) {
            wait_start = Some(pair[1].1);
        }
        if pair[1].0 == State::ProbeRefill {
            waits.extend(wait_start.map(|start| pair[1].1 - start));
        }
    }
    assert!(
        waits.len() >= 8 && waits.iter().all(|wait| (2.0..3.01).contains(wait)),
        "{waits:?}"
    );
}

#[test]
fn every_five_seconds_half_a_bdp_measures_the_round_trip() {
    let mut flow = flow(1000);
    let mut least = u32::MAX;
    let mut starts = vec![];
    let mut before = State::Startup;
    flow.run_until(at(21.0), |flow| {
        let state = flow.control.state;
        if state == State::ProbeRtt {
            least = least.min(flow.window.cwnd);
            if before != state {
                starts.push(flow.window.now.as_secs_f64());
            }
        }
        before = state;
    });
    assert!((48..=52).contains(&least), "{least}");
    assert!((3..=4).contains(&starts.len()), "{starts:?}");
    assert!(
        starts
            .windows(2)
            .all(|pair| (5.0..6.0).contains(&(pair[1] - pair[0]))),
        "{starts:?}"
    );
}

#[test]
fn a_short_queue_sets_the_long_term_limit_and_loses_far_less_than_version_1() {
    let mut third = flow(20);
    third.run_until(at(30.0), |_| {});
    let mut first = Flow::new(crate::congestion::bbr::Bbr::new(), 1000, RTT, 20);
    first.run_until(at(30.0), |_| {});
    let limit = third.control.inflight_longterm;
    assert!((80..=140).contains(&limit), "{limit}");
    let (lost, delivered) = (third.window.lost, third.window.delivered);
    assert!(
        lost < first.window.lost,
        "{lost} against {}",
        first.window.lost
    );
    assert!(delivered > 25_000, "{delivered}");
}

#[test]
fn the_long_term_limit_is_the_flight_that_lost_more_than_two_percent() {
    let mut w = window(200, RTT);
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    (bbr.full_reached, bbr.is_probe_sample, bbr.state) = (true, true, State::ProbeUp);
    bbr.rate = Rate::of(100, 100_000);
    for lost in 1..=3 {
        w.view.lost = lost;
        let segment = lost_with(140);
        bbr.segment_lost(&mut w, &segment);
        // 3 of 140 are 2.1 %.
        assert_eq!(bbr.inflight_longterm == INFINITE, lost < 3);
    }
    assert_eq!((bbr.inflight_longterm, bbr.state), (139, State::ProbeDown));
    assert_eq!(bbr.inflight_with_headroom(), 139 - 20);
}

#[test]
fn loss_outside_a_probe_slows_to_what_is_delivered_but_by_no_more_than_a_third() {
    let mut w = window(200, RTT);
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    (bbr.full_reached, bbr.state) = (true, State::ProbeCruise);
    (bbr.rate, bbr.max_rate) = (Rate::of(100, 100_000), [Rate::of(100, 100_000); 2]);
    w.view.lost = 1;
    let segment = lost_with(100);
    bbr.segment_lost(&mut w, &segment);
    let sample = AckSample {
        delivered: 90,
        interval: RTT,
        rtt: Some(RTT),
        acked_sacked: 1,
        sent_in_flight: 100,
        ..AckSample::default()
    };
    bbr.cong_control(&mut w, &sample);
    assert_eq!(bbr.bandwidth_shortterm, Rate::of(90, 100_000));
    assert_eq!(bbr.inflight_shortterm, 140);
    assert_eq!(bbr.rate, Rate::of(90, 100_000));
}

#[test]
fn a_spurious_recovery_gives_back_what_it_took() {
    let mut w = window(200, RTT);
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    (bbr.full_reached, bbr.is_probe_sample, bbr.state) = (true, true, State::ProbeUp);
    w.view.lost = 10;
    let segment = lost_with(140);
    bbr.segment_lost(&mut w, &segment);
    assert_eq!(bbr.state, State::ProbeDown);
    w.cwnd = 50;
    assert_eq!(bbr.undo_cwnd(&mut w), 200);
    assert_eq!(
        (bbr.inflight_longterm, bbr.state),
        (INFINITE, State::ProbeRefill)
    );
}

/// As `tcp_enter_loss` of a window with this much in flight: losses first, then ssthresh, then cwnd, then the state.
fn time_out(bbr: &mut Bbr3, w: &mut Window, lost: u32) {
    for _ in 0..lost {
        w.view.lost += 1;
        let segment = lost_with(lost);
        bbr.segment_lost(w, &segment);
    }
    w.ssthresh = bbr.ssthresh(w);
    w.cwnd = 1;
    bbr.set_state(w, CaState::Loss);
    w.view.state = CaState::Loss;
}

#[test]
fn after_a_timeout_the_window_is_again_what_it_was_before() {
    let mut w = window(200, RTT);
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    (bbr.full_reached, bbr.state) = (true, State::ProbeCruise);
    time_out(&mut bbr, &mut w, 100);
    assert_eq!((w.cwnd, bbr.inflight_shortterm), (1, 200));
    bbr.set_state(&mut w, CaState::Open);
    assert_eq!(w.cwnd, 200);
}

#[test]
fn a_spurious_timeout_in_a_probe_gives_back_the_limit_and_the_probe() {
    let mut w = window(200, RTT);
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    (bbr.full_reached, bbr.is_probe_sample, bbr.state) = (true, true, State::ProbeUp);
    // One loss: a second would save the state anew, since the end of a probe forgets the first.
    time_out(&mut bbr, &mut w, 1);
    assert_eq!(bbr.state, State::ProbeDown);
    assert_eq!(bbr.undo_cwnd(&mut w), 200);
    assert_eq!(
        (bbr.inflight_longterm, bbr.state),
        (INFINITE, State::ProbeRefill)
    );
}

#[test]
fn a_loss_that_a_tail_loss_probe_repaired_counts_as_one_segment() {
    for (latest, too_high) in [(48, true), (50, false)] {
        let mut w = window(200, RTT);
        let mut bbr = Bbr3::new();
        bbr.init(&mut w);
        (bbr.full_reached, bbr.is_probe_sample, bbr.state) = (true, true, State::ProbeUp);
        bbr.inflight_latest = latest;
        bbr.cwnd_event(&mut w, CwndEvent::TlpRecovered);
        assert_eq!(bbr.state == State::ProbeDown, too_high, "1 of {latest}");
        // The end of a probe forgets it.
        assert_eq!(bbr.loss_in_round, !too_high);
    }
}

#[test]
fn bursts_are_of_two_segments_at_least_however_slow_the_path() {
    let mut w = window(10, RTT);
    w.pacing_rate = Some(10_000);
    let bbr = Bbr3::new();
    assert_eq!(bbr.min_tso_segments(&w), 2);
    assert_eq!(bbr.with_batches(&w, 1), 6);
}

#[test]
fn before_a_round_trip_is_known_the_initial_window_stands_for_the_bdp() {
    let mut w = window(30, RTT);
    w.view.min_rtt = None;
    w.view.initial_cwnd = 30;
    let mut bbr = Bbr3::new();
    bbr.init(&mut w);
    assert_eq!(bbr.bdp(), 30);
}
