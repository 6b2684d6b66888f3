//! How many repairs are sent, and when.

use crate::path::{OUTER_BYTES, Path, random_loss, receiver_config, sender_config};
use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_fec::{
    FrameKind, Policy, SenderConfig, SenderConfigError, TitrationConfig, TunnelSender,
    redundancy_for,
};

const GAP: Nanos = Nanos::from_micros(750);

const ADAPTIVE: Policy = Policy::Adaptive {
    residual: 0.05,
    initial_loss: 0.01,
    max_ratio: 0.5,
};

#[test]
fn off_sends_no_repairs_and_fixed_sends_its_ratio() {
    for (policy, right) in [(Policy::Off, 0), (Policy::Fixed { ratio: 0.08 }, 800)] {
        let mut path = Path::new(sender_config(policy), receiver_config());
        path.push_every(Time::ZERO, GAP, 10_000);
        path.run();
        let repairs = path.sender.counters().repairs;
        assert!(repairs.abs_diff(right) <= u64::from(right > 0), "{repairs}");
    }
}

#[test]
fn adaptive_comes_to_what_the_loss_rate_asks_for() {
    let mut path = Path::new(sender_config(ADAPTIVE), receiver_config());
    path.is_lost = random_loss(0.03, 1);
    path.push_every(Time::ZERO, GAP, 30_000);
    path.run();
    let right = redundancy_for(0.03, 1.0, 256, 0.05);
    let ratio = path.sender.ratio();
    assert!((ratio / right - 1.0).abs() < 0.25, "{ratio} {right}");
    assert!((path.sender.estimate().burst_packets() - 1.03).abs() < 0.1);
}

#[test]
fn adaptive_tells_bursts_from_single_losses_of_the_same_rate() {
    let ratio_at = |burst: f64| {
        let mut path = Path::new(sender_config(ADAPTIVE), receiver_config());
        let mut random = SplitMix64(9);
        let mut chance =
            move |p: f64| f64::from(random.draw_below(1 << 30)) < p * f64::from(1 << 30);
        let mut bad = false;
        path.is_lost = Box::new(move |_| {
            bad = if bad {
                !chance(1.0 / burst)
            } else {
                chance(0.03 / 0.97 / burst)
            };
            bad
        });
        path.push_every(Time::ZERO, GAP, 30_000);
        path.run();
        assert!((path.sender.estimate().burst_packets() / burst - 1.0).abs() < 0.3);
        path.sender.ratio()
    };
    assert!(ratio_at(6.0) > 1.3 * ratio_at(1.03));
}

#[test]
fn losses_by_overflow_are_not_coded_for() {
    // Waves of 20 Mbit/s into 16, and a queue of 100 ms; no other loss.
    let mut path = Path::new(sender_config(ADAPTIVE), receiver_config());
    path.rate_bit_s = Some(16_000_000);
    path.queue_bytes = Some(200_000);
    for wave in 0..12 {
        let start = Time::ZERO + Nanos::from_secs(2 * wave);
        path.push_every(start, Nanos::from_micros(500), 2500);
    }
    path.run();
    let counters = path.sender.counters();
    assert!(counters.reported_lost > 500, "{counters:?}");
    assert!(
        counters.reported_overflow * 10 > counters.reported_lost * 8,
        "{counters:?}"
    );
    let rate = path.sender.estimate().loss_rate();
    println!("estimated {rate:.4}, {counters:?}");
    assert!(rate < 0.012, "{rate}");
}

/// A constant 20 Mbit/s into 16, so that a queue of 100 ms is always full.
fn overloaded(loss: f64) -> Path {
    let mut path = Path::new(sender_config(ADAPTIVE), receiver_config());
    path.rate_bit_s = Some(16_000_000);
    path.queue_bytes = Some(200_000);
    path.is_lost = random_loss(loss, 4);
    path.push_every(Time::ZERO, Nanos::from_micros(500), 60_000);
    path.run();
    path
}

#[test]
fn overflow_of_a_queue_that_is_always_full_is_not_coded_for() {
    let path = overloaded(0.0);
    let counters = path.sender.counters();
    assert!(counters.reported_lost > 6000, "{counters:?}");
    let (rate, ratio) = (path.sender.estimate().loss_rate(), path.sender.ratio());
    println!("estimated {rate:.5}, ratio {ratio:.5}, {counters:?}");
    assert!(rate < 1e-4 && ratio < 0.002, "{rate} {ratio}");
}

#[test]
fn behind_a_queue_that_is_always_full_the_channels_loss_is_coded_for_and_nothing_else() {
    let path = overloaded(0.02);
    let counters = path.sender.counters();
    let rate = path.sender.estimate().loss_rate();
    println!("estimated {rate:.4}, {counters:?}");
    assert!(counters.reported_overflow > 6000, "{counters:?}");
    assert!((rate - 0.02).abs() < 0.005, "{rate}");
    let right = redundancy_for(0.02, 1.0, 256, 0.05);
    let ratio = path.sender.ratio();
    assert!((ratio / right - 1.0).abs() < 0.25, "{ratio} {right}");
}

fn titrated(rate_bit_s: u64) -> SenderConfig {
    SenderConfig {
        titration: Some(TitrationConfig {
            rate_bit_s,
            room_bytes: 3000,
            outer_bytes: OUTER_BYTES,
            max_waiting: 20,
        }),
        ..sender_config(Policy::Fixed { ratio: 0.1 })
    }
}

#[test]
fn titrated_repairs_enter_only_where_the_queue_has_room() {
    let rate = 16_000_000;
    let mut path = Path::new(titrated(rate), receiver_config());
    path.rate_bit_s = Some(rate);
    // A wave above the rate, then a pause.
    for wave in 0..5 {
        path.push_every(
            Time::ZERO + Nanos::from_secs(wave),
            Nanos::from_micros(600),
            1000,
        );
    }
    path.run();
    let mut empty_at = Time::ZERO;
    let mut repairs = 0;
    for (at, sent) in &path.sent {
        let queued = (empty_at - *at).0.max(0) as u64 * rate / 8_000_000_000;
        if sent.kind == FrameKind::Repair {
            assert!(queued <= 3001, "{queued}");
            repairs += 1;
        }
        let bytes = i64::from(sent.wire_bytes + OUTER_BYTES);
        empty_at = empty_at.max(*at) + Nanos(bytes * 8_000_000_000 / rate as i64);
    }
    let counters = path.sender.counters();
    assert!(
        repairs >= 5 * 20 && counters.repairs_given_up > 100,
        "{counters:?}"
    );
    assert_eq!(repairs + counters.repairs_given_up, 500);
}

#[test]
fn what_the_real_queue_holds_decides_over_the_model() {
    let mut sender = TunnelSender::new(titrated(16_000_000)).expect("valid");
    let mut frame = Vec::new();
    let mut repairs = |sender: &mut TunnelSender, now| {
        let mut repairs = 0;
        while let Some(sent) = sender.poll_transmit(now, &mut frame) {
            repairs += u32::from(sent.kind == FrameKind::Repair);
        }
        repairs
    };
    let now = Time::ZERO;
    for _ in 0..30 {
        sender.push(now, &[0; 1000]).expect("there is room");
    }
    assert_eq!(repairs(&mut sender, now), 0);
    sender.set_queue(now, 0);
    assert!(repairs(&mut sender, now) > 0);
}

#[test]
fn a_sender_that_cannot_work_is_refused_with_the_figure() {
    let refused = |change: fn(&mut SenderConfig)| {
        let mut config = titrated(1000);
        change(&mut config);
        TunnelSender::new(config).expect_err("it cannot work")
    };
    assert_eq!(
        refused(|it| it.window_packets = 0),
        SenderConfigError::Window(0)
    );
    assert_eq!(
        refused(|it| it.window_packets = 65_536),
        SenderConfigError::Window(65_536)
    );
    let error = refused(|it| it.kept_packets = 255);
    assert_eq!(
        error.to_string(),
        "255 packets are kept, expected at least the window of 256"
    );
    let error = refused(|it| it.policy = Policy::Fixed { ratio: 1.0 });
    assert_eq!(
        error.to_string(),
        "1 repairs per packet, expected 0 or more and less than 1"
    );
    assert!(matches!(
        refused(|it| it.policy = Policy::Fixed { ratio: f64::NAN }),
        SenderConfigError::Ratio(_)
    ));
    assert_eq!(
        refused(|it| it.density_eighths = 9),
        SenderConfigError::DensityEighths(9)
    );
    assert_eq!(
        refused(|it| it.titration.as_mut().expect("set").rate_bit_s = 0),
        SenderConfigError::TitrationRate(0)
    );
}
