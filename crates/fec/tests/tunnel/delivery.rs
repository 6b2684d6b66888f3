//! What arrives, in which order, how late and at what cost.

use crate::path::{ONE_WAY, Path, ROUND_TRIP, random_loss, receiver_config, sender_config};
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{Arrival, FrameKind, Policy, ReleaseOrder, TunnelSender};
use proptest::prelude::*;

/// 16 Mbit/s of packets of 1500 bytes.
const GAP: Nanos = Nanos::from_micros(750);

fn fixed(ratio: f64) -> Path {
    Path::new(sender_config(Policy::Fixed { ratio }), receiver_config())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_packet_leaves_once_and_in_order_however_many_are_lost(
        loss in 0.0..0.4_f64, ratio in 0.0..0.5_f64, seed: u64, named: bool,
    ) {
        let mut path = fixed(ratio);
        path.is_lost = random_loss(loss, seed);
        path.named = named;
        path.push_every(Time::ZERO, GAP, 1500);
        // The last ones are named by a packet behind a pause, which is not lost.
        path.run();
        path.is_lost = Box::new(|_| false);
        let later = path.now + Nanos::from_secs(1);
        path.push_every(later, GAP, 100);
        path.run();
        let numbers: Vec<u64> = path.released.iter().map(|it| it.number).collect();
        prop_assert!(numbers.iter().copied().eq(0..1600), "{} packets", numbers.len());
        prop_assert_eq!(path.receiver.deficit(), 0);
    }
}

#[test]
fn the_tunnel_comes_to_rest_though_all_that_was_asked_for_was_lost() {
    for (loss, ratio, seed) in [
        (0.358, 0.0331, 643_561_881_686_720_967),
        (0.3295, 0.1446, 4_728_747_515_607_729_477),
        (0.3861, 0.3035, 8_807_709_720_665_480_706),
    ] {
        let mut path = fixed(ratio);
        path.is_lost = random_loss(loss, seed);
        path.push_every(Time::ZERO, GAP, 1500);
        path.run_until(Time::ZERO + Nanos::from_secs(60));
        let timers = [path.sender.poll_timeout(), path.receiver.poll_timeout()];
        assert_eq!(timers, [None; 2], "both are at rest");
    }
}

#[test]
fn without_loss_nothing_waits_and_nothing_is_asked_for() {
    let mut path = fixed(0.05);
    path.push_every(Time::ZERO, GAP, 2000);
    path.run();
    assert!(path.waits_ms().iter().all(|&wait| wait.abs() < 1e-9));
    assert_eq!(path.sender.counters().exact_repairs, 0);
    assert_eq!(path.receiver.counters().innovative_repairs, 0);
}

#[test]
fn at_5_percent_loss_packets_wait_less_than_40_ms_in_the_mean_and_97_percent_of_the_capacity_is_left()
 {
    // One and a half times as many repairs as losses.
    let ratio = 1.5 * 0.05 / 0.95;
    let mut path = fixed(ratio);
    path.is_lost = random_loss(0.05, 1);
    let packets = 40_000;
    path.push_every(Time::ZERO, GAP, packets);
    path.run();
    assert_eq!(path.released.len() as u64, packets);
    let mean = path.mean_wait_ms();
    println!("mean wait {mean:.1} ms");
    assert!(mean < 40.0, "{mean}");
    let bound = 0.95;
    let share = packets as f64 / path.sent.len() as f64;
    println!(
        "{:.2} % of the capacity behind the losses",
        share / bound * 100.0
    );
    assert!(share / bound > 0.97, "{share}");
}

#[test]
fn without_repairs_in_advance_what_is_lost_comes_a_round_trip_later() {
    let mut path = Path::new(sender_config(Policy::Off), receiver_config());
    path.is_lost = random_loss(0.01, 1);
    path.push_every(Time::ZERO, GAP, 10_000);
    path.run();
    let exact = |it: &&crate::path::Release| it.arrival == Arrival::AsExactRepair;
    let least = path
        .released
        .iter()
        .filter(exact)
        .map(|it| it.at - path.pushed[it.number as usize] - ONE_WAY)
        .min();
    assert!(least.is_some_and(|it| it >= ROUND_TRIP));
    let counters = path.sender.counters();
    assert_eq!(counters.repairs, 0);
    assert!((80..120).contains(&counters.exact_repairs));
}

#[test]
fn what_is_sent_again_is_what_repairs_were_too_few_for() {
    // Half as many repairs as losses. Asked for is what no repair of its window, 192 ms, has given.
    let mut receiver = receiver_config();
    receiver.exact.as_mut().expect("it asks").patience = Nanos::from_millis(250);
    let mut path = Path::new(sender_config(Policy::Fixed { ratio: 0.02 }), receiver);
    path.is_lost = random_loss(0.04, 3);
    path.push_every(Time::ZERO, GAP, 20_000);
    path.run();
    let received = path.receiver.counters();
    assert_eq!(path.released.len(), 20_000);
    let lost = 20_000 - received.sources;
    assert_eq!(received.exact_repairs + received.recovered, lost);
    assert_eq!(received.recovered, received.innovative_repairs);
    assert!(received.useless_exact_repairs * 20 < received.exact_repairs);
}

#[test]
fn in_order_no_packet_waits_longer_than_the_hold_and_late_ones_leave_at_once() {
    let hold = Nanos::from_millis(100);
    let mut receiver = receiver_config();
    receiver.order = ReleaseOrder::InOrder { hold };
    let mut path = Path::new(sender_config(Policy::Fixed { ratio: 0.04 }), receiver);
    path.is_lost = random_loss(0.05, 1);
    path.push_every(Time::ZERO, GAP, 10_000);
    path.run();
    assert_eq!(path.released.len(), 10_000);
    assert_eq!(path.released.iter().map(|it| it.held).max(), Some(hold));
    let mut newest = 0;
    for release in &path.released {
        if release.number < newest {
            assert_ne!(release.arrival, Arrival::AsSource);
            assert_eq!(release.held, Nanos::ZERO);
        }
        newest = newest.max(release.number);
    }
}

#[test]
fn as_they_come_no_packet_waits() {
    let mut receiver = receiver_config();
    receiver.order = ReleaseOrder::AsTheyCome;
    let mut path = Path::new(sender_config(Policy::Fixed { ratio: 0.08 }), receiver);
    path.is_lost = random_loss(0.05, 1);
    path.push_every(Time::ZERO, GAP, 5000);
    path.run();
    assert_eq!(path.released.len(), 5000);
    assert!(path.released.iter().all(|it| it.held == Nanos::ZERO));
    assert!(!path.released.is_sorted_by_key(|it| it.number));
}

#[test]
fn the_last_packet_of_a_burst_is_recovered_without_a_round_trip() {
    let mut path = fixed(0.05);
    let mut sources = 0;
    path.is_lost = Box::new(move |sent| {
        sources += u32::from(sent.kind == FrameKind::Source);
        sent.kind == FrameKind::Source && sources == 10
    });
    path.push_every(Time::ZERO, GAP, 10);
    path.run();
    let last = path.released.last().expect("packets left");
    assert_eq!((last.number, last.arrival), (9, Arrival::Recovered));
    // A repair had been sent for the burst's end after 5 ms.
    assert_eq!(last.at - path.pushed[9] - ONE_WAY, Nanos::from_millis(5));
}

#[test]
fn a_packet_named_by_eight_bytes_costs_on_the_wire_what_it_would_cost_whole() {
    let run = |named| {
        let mut path = fixed(0.1);
        path.is_lost = random_loss(0.1, 5);
        path.named = named;
        path.push_every(Time::ZERO, GAP, 1000);
        path.run();
        let waits = path.waits_ms();
        (path.sent, waits)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_receiver_follows_a_sender_that_begins_anew() {
    let mut path = fixed(0.0);
    path.push_every(Time::ZERO, GAP, 9000);
    path.run();
    let again = Path::new(sender_config(Policy::Off), receiver_config());
    path.sender = again.sender;
    path.pushed.clear();
    path.released.clear();
    let later = path.now + Nanos::from_secs(1);
    path.push_every(later, GAP, 100);
    let pushed = path.pushed.clone();
    path.run_until(later);
    let mut numbers = Vec::new();
    let mut frame = Vec::new();
    for (at, time) in pushed.into_iter().enumerate() {
        path.sender.push(time, &[at as u8]).expect("there is room");
        while path.sender.poll_transmit(time, &mut frame).is_some() {
            path.receiver.handle(time, &frame).expect("a frame");
            frame.clear();
        }
        while let Some(released) = path.receiver.poll_release(time + Nanos::from_secs(20)) {
            numbers.push(released.packet[0]);
        }
    }
    // The first one was taken for a wrong number.
    assert_eq!(numbers, (1..100).collect::<Vec<_>>());
    assert_eq!(path.receiver.counters().implausible, 1);
}

#[test]
fn old_frames_do_not_make_a_receiver_forget() {
    let mut path = fixed(0.0);
    path.push_every(Time::ZERO, GAP, 9000);
    path.run();
    let before = path.receiver.counters();
    let mut again = TunnelSender::new(sender_config(Policy::Off)).expect("valid");
    let mut frame = Vec::new();
    for _ in 0..50 {
        again.push(path.now, &[0]).expect("there is room");
        again.poll_transmit(path.now, &mut frame);
        path.receiver.handle(path.now, &frame).expect("a frame");
        frame.clear();
        assert_eq!(path.receiver.poll_release(path.now), None);
    }
    assert_eq!(path.receiver.counters().implausible, 50);
    assert_eq!(path.receiver.counters().residual_lost, before.residual_lost);
}

#[test]
fn after_an_outage_at_the_very_beginning_old_frames_do_not_count_either() {
    let mut path = fixed(0.0);
    let mut frames = Vec::new();
    for number in 0..9000_u64 {
        let mut frame = Vec::new();
        path.sender
            .push(path.now, &number.to_be_bytes())
            .expect("there is room");
        path.sender.poll_transmit(path.now, &mut frame);
        frames.push(frame);
    }
    // Only new ones come, then old ones that were held up.
    for frame in frames[8990..].iter().chain(&frames[..10]) {
        path.receiver.handle(path.now, frame).expect("a frame");
    }
    let kept = path.receiver.poll_timeout().expect("packets wait");
    let mut numbers = Vec::new();
    while let Some(released) = path
        .receiver
        .poll_release(kept.max(path.now + Nanos::from_secs(10)))
    {
        numbers.push(released.number);
    }
    // The first one was taken for a wrong number.
    assert_eq!(numbers, (8991..9000).collect::<Vec<_>>());
}
