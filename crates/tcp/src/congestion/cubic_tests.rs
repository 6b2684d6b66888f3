use super::*;
use crate::congestion::testing::{acknowledge, lose, round, window};

/// As Linux has it.
fn linux() -> Cubic {
    Cubic::with(Startup::hystart(), 717)
}

/// RFC 9438, figure 1: the curve at `t` seconds after a loss at `w_max`.
fn equation(w_max: f64, t: f64) -> f64 {
    let k = (w_max * 0.3 / 0.4).cbrt();
    0.4 * (t - k).powi(3) + w_max
}

#[test]
fn a_cube_root_is_exact() {
    for root in [0_u64, 1, 2, 3, 4, 63, 1000, 1_048_575, 2_642_244] {
        assert_eq!(cube_root(root.pow(3)), root);
        assert_eq!(cube_root((root + 1).pow(3) - 1), root);
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

#[test]
fn the_window_is_the_equations_at_every_second_after_a_loss() {
    let rtt = Nanos::from_millis(400);
    let mut cubic = linux();
    let mut w = window(1000, rtt);
    cubic.init(&mut w);
    lose(&mut cubic, &mut w);
    assert_eq!(w.cwnd, 700);
    for _ in 0..40 {
        round(&mut cubic, &mut w, 1, rtt);
        let wanted = equation(1000.0, w.now.as_secs_f64());
        let ratio = f64::from(w.cwnd) / wanted;
        assert!(
            (0.98..1.02).contains(&ratio),
            "{} against {wanted} at {:?}",
            w.cwnd,
            w.now
        );
    }
}

#[test]
fn the_plateau_is_reached_after_k_whatever_the_round_trip() {
    for rtt_ms in [50, 200, 600] {
        let rtt = Nanos::from_millis(rtt_ms);
        let mut cubic = linux();
        let mut w = window(2000, rtt);
        cubic.init(&mut w);
        lose(&mut cubic, &mut w);
        while w.cwnd < 1980 {
            round(&mut cubic, &mut w, 1, rtt);
        }
        // K = cbrt(0.75 x 2000) = 11.4 s; 1 % below the plateau the curve is cbrt(20 / 0.4) = 3.7 s earlier.
        let t = w.now.as_secs_f64();
        assert!(
            (7.7..7.9 + rtt.as_secs_f64()).contains(&t),
            "{t} s at {rtt_ms} ms"
        );
    }
}

#[test]
fn on_a_short_path_the_window_keeps_up_with_reno() {
    let rtt = Nanos::from_millis(10);
    let mut cubic = linux();
    let mut w = window(100, rtt);
    cubic.init(&mut w);
    lose(&mut cubic, &mut w);
    let rounds = 60;
    for _ in 0..rounds {
        round(&mut cubic, &mut w, 1, rtt);
    }
    // Alpha = 8/15 segments per round; the curve alone would stand at 100 - 0.4 (4.2 - 0.6)^3 = 81.
    let reno = 70.0 + f64::from(rounds) * 8.0 / 15.0;
    assert!(
        (f64::from(w.cwnd) - reno).abs() <= 3.0,
        "{} against {reno}",
        w.cwnd
    );
}

#[test]
fn a_second_loss_below_the_last_maximum_lowers_the_plateau() {
    let mut cubic = linux();
    let mut w = window(1000, Nanos::from_millis(100));
    cubic.init(&mut w);
    lose(&mut cubic, &mut w);
    assert_eq!(cubic.last_max, 1000);
    w.cwnd = 900;
    lose(&mut cubic, &mut w);
    assert_eq!((cubic.last_max, w.cwnd), (900 * 1741 / 2048, 630));
}

#[test]
fn before_any_loss_growth_is_at_least_five_percent_a_round_and_at_most_half() {
    let rtt = Nanos::from_millis(100);
    let mut cubic = linux();
    let mut w = window(1000, rtt);
    cubic.init(&mut w);
    w.ssthresh = 1000;
    round(&mut cubic, &mut w, 1, rtt);
    assert!((1045..=1052).contains(&w.cwnd), "{}", w.cwnd);
    for _ in 0..20 {
        let before = w.cwnd;
        round(&mut cubic, &mut w, 1, rtt);
        assert!(w.cwnd <= before + before / 2 + 1);
    }
}

#[test]
fn idle_time_does_not_count_on_the_curve() {
    let rtt = Nanos::from_millis(200);
    let mut steady = linux();
    let mut w = window(1000, rtt);
    steady.init(&mut w);
    lose(&mut steady, &mut w);
    for _ in 0..5 {
        round(&mut steady, &mut w, 1, rtt);
    }
    let elapsed = jiffies(w.now) - steady.epoch.as_ref().map_or(0, |epoch| epoch.start);
    w.view.last_sent = w.now;
    w.view.now += Nanos::from_secs(60);
    steady.cwnd_event(&mut w, CwndEvent::TxStart);
    let after = jiffies(w.now) - steady.epoch.as_ref().map_or(0, |epoch| epoch.start);
    assert_eq!(elapsed, after);
}

#[test]
fn a_window_that_is_not_the_limit_does_not_grow() {
    let rtt = Nanos::from_millis(100);
    let mut cubic = linux();
    let mut w = window(100, rtt);
    cubic.init(&mut w);
    w.ssthresh = 50;
    w.view.cwnd_limited = false;
    for _ in 0..1000 {
        w.view.now += Nanos::from_millis(1);
        acknowledge(&mut cubic, &mut w, 1, rtt);
    }
    assert_eq!(w.cwnd, 100);
}

#[test]
fn a_timeout_forgets_the_maximum_and_searches_slow_starts_end_anew() {
    let rtt = Nanos::from_millis(100);
    let mut cubic = linux();
    let mut w = window(400, rtt);
    cubic.init(&mut w);
    lose(&mut cubic, &mut w);
    cubic.set_state(&mut w, CaState::Loss);
    assert_eq!(cubic.last_max, 0);
    w.cwnd = 1;
    w.view.snd_una = w.snd_nxt;
    while w.in_slow_start() {
        round(&mut cubic, &mut w, 1, rtt);
    }
    // The ACKs of a whole round are one train of 100 ms: slow start ends well below ssthresh.
    assert!(w.cwnd < 280, "{}", w.cwnd);
}

#[test]
fn slow_start_doubles_each_round_until_the_acks_of_half_a_round_form_a_train() {
    // 16 Mbit/s, 500 ms: an ACK of one segment every 0.75 ms once the pipe is busy half the time.
    let rtt = Nanos::from_millis(500);
    let spacing = Nanos::from_micros(750);
    let mut cubic = linux();
    let mut w = window(10, rtt);
    cubic.init(&mut w);
    let mut start = w.now;
    let mut flight = w.cwnd;
    while w.in_slow_start() {
        start += rtt;
        for ack in 0..flight {
            w.view.now = start + Nanos(spacing.0 * i64::from(ack));
            acknowledge(&mut cubic, &mut w, 1, rtt);
        }
        flight = w.cwnd;
        assert!(flight < 5000);
    }
    // The flight of 640 takes 480 ms to be acknowledged: at half of 500 ms, 640 + 250 / 0.75 are out.
    assert!((960..=980).contains(&w.ssthresh), "{}", w.ssthresh);
}

/// Mean segments per second when each segment is lost with probability 1 / `one_in`. Recovery takes a round trip, in
/// which the reduced window is sent; what is lost of that is the next loss event.
fn rate_under_random_loss(rtt: Nanos, one_in: u32, seconds: i64) -> f64 {
    let mut cubic = linux();
    let mut w = window(100, rtt);
    cubic.init(&mut w);
    lose(&mut cubic, &mut w);
    let mut delivered = 0_u64;
    while w.now < Time(seconds * 1_000_000_000) {
        let start = w.now;
        let flight = i64::from(w.cwnd);
        for ack in 1..=flight {
            w.view.now = start + Nanos(rtt.0 * ack / flight);
            let mut lost = w.draw(one_in) == 0;
            if !lost {
                acknowledge(&mut cubic, &mut w, 1, rtt);
                delivered += 1;
                continue;
            }
            while lost {
                lose(&mut cubic, &mut w);
                w.view.now += rtt;
                lost = false;
                for _ in 0..w.cwnd {
                    lost |= w.draw(one_in) == 0;
                }
                delivered += u64::from(w.cwnd);
            }
            break;
        }
    }
    delivered as f64 / seconds as f64
}

#[test]
fn random_loss_on_a_long_path_gives_the_rate_of_rfc_9438() {
    // Section 5.1: 1.054 (RTT / p)^(3/4) segments per RTT. That is for losses at equal distances; at random ones the
    // curve's steep end counts for more.
    for (rtt_ms, one_in) in [
        (411, 300),
        (411, 1000),
        (411, 3000),
        (550, 1000),
        (200, 3000),
    ] {
        let rtt = Nanos::from_millis(rtt_ms);
        let formula = 1.054 * (f64::from(one_in) * rtt.as_secs_f64()).powf(0.75);
        let window = rate_under_random_loss(rtt, one_in, 5_000) * rtt.as_secs_f64();
        let ratio = window / formula;
        assert!(
            (0.95..1.2).contains(&ratio),
            "{ratio} at {rtt_ms} ms and 1/{one_in}"
        );
    }
}

#[test]
fn beta_is_what_a_loss_leaves_of_the_window() {
    for (beta, left) in [(0.5, 500), (0.7, 700), (0.9, 900)] {
        let choice = crate::congestion::Choice::from("cubic");
        let mut cubic = choice
            .with("beta", crate::congestion::Value::Number(beta))
            .make()
            .unwrap();
        let mut w = window(1000, Nanos::from_millis(100));
        lose(cubic.as_mut(), &mut w);
        assert_eq!(w.cwnd, left);
    }
}
