//! A tunnel that loses nothing, however long the path carries nothing: what the gateway's protocol builds on.

use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    ExactConfig, FrameKind, Policy, ReceiverConfig, ReleaseOrder, SenderConfig, TunnelReceiver,
    TunnelSender,
};

fn sender() -> TunnelSender {
    TunnelSender::new(SenderConfig {
        window_packets: 16,
        kept_packets: 64,
        packet_max_bytes: 100,
        policy: Policy::Off,
        density_eighths: 8,
        end_of_burst: Nanos::from_millis(5),
        recover_within: Nanos::from_millis(20),
        titration: None,
    })
    .unwrap()
}

fn receiver() -> TunnelReceiver {
    TunnelReceiver::new(ReceiverConfig {
        kept_packets: 64,
        packet_max_bytes: 100,
        max_unknowns: 16,
        order: ReleaseOrder::AsTheyCome,
        exact: Some(ExactConfig {
            patience: Nanos::from_millis(5),
            again: Nanos::from_millis(100),
            tries: ExactConfig::WITHOUT_END,
        }),
        report_every: Nanos::from_millis(20),
    })
}

fn frames(sender: &mut TunnelSender, now: Time) -> Vec<(FrameKind, Vec<u8>)> {
    let mut all = Vec::new();
    let mut frame = Vec::new();
    while let Some(sent) = sender.poll_transmit(now, &mut frame) {
        all.push((sent.kind, std::mem::take(&mut frame)));
    }
    all
}

#[test]
fn a_packet_is_asked_for_until_it_comes() {
    let (mut sender, mut receiver) = (sender(), receiver());
    for _ in 0..3 {
        sender.push(Time::ZERO, b"packet").unwrap();
    }
    let sent = frames(&mut sender, Time::ZERO);
    // The second one is lost.
    receiver.handle(Time::ZERO, &sent[0].1).unwrap();
    receiver.handle(Time::ZERO, &sent[2].1).unwrap();
    let mut report = Vec::new();
    let mut now = Time::ZERO;
    // It is lost 999 times more: a count of eight bits would have overflowed.
    for round in 0..1000 {
        now = receiver.poll_timeout().unwrap().max(now);
        report.clear();
        if receiver.poll_transmit(now, &mut report).is_none() {
            continue;
        }
        sender.handle(now, &report).unwrap();
        let again = frames(&mut sender, now);
        if round == 999 {
            assert_eq!(again.len(), 1);
            receiver.handle(now, &again[0].1).unwrap();
        }
    }
    let released = std::iter::from_fn(|| receiver.poll_release(now).map(|it| it.number));
    assert_eq!(released.collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!(receiver.counters().residual_lost, 0);
}

#[test]
fn the_newest_packet_sent_again_makes_known_what_is_missing_though_nothing_else_came() {
    let (mut sender, mut receiver) = (sender(), receiver());
    sender.send_newest_again();
    assert!(!sender.has_exact(), "there is none yet");
    for _ in 0..5 {
        sender.push(Time::ZERO, b"packet").unwrap();
    }
    frames(&mut sender, Time::ZERO);
    assert_eq!((sender.next_number(), sender.acknowledged()), (5, 0));
    // All are lost.
    let now = Time(1_000_000_000);
    sender.send_newest_again();
    assert!(sender.has_exact());
    let again = frames(&mut sender, now);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].0, FrameKind::Exact);
    receiver.handle(now, &again[0].1).unwrap();
    let mut now = now;
    for _ in 0..3 {
        now = receiver.poll_timeout().unwrap_or(now).max(now);
        let mut report = Vec::new();
        if receiver.poll_transmit(now, &mut report).is_some() {
            sender.handle(now, &report).unwrap();
            for (_, frame) in frames(&mut sender, now) {
                receiver.handle(now, &frame).unwrap();
            }
        }
    }
    let released = std::iter::from_fn(|| receiver.poll_release(now).map(|it| it.number));
    assert_eq!(released.count(), 5);
    let mut report = Vec::new();
    now = receiver.poll_timeout().unwrap();
    receiver.poll_transmit(now, &mut report).unwrap();
    sender.handle(now, &report).unwrap();
    assert_eq!(sender.acknowledged(), 5);
    assert!(sender.round_trip().is_some());
}

#[test]
fn with_more_patience_a_packet_is_asked_for_later() {
    let due = |patience: Option<Nanos>| {
        let (mut sender, mut receiver) = (sender(), receiver());
        if let Some(patience) = patience {
            receiver.set_patience(patience);
        }
        for _ in 0..2 {
            sender.push(Time::ZERO, b"packet").unwrap();
        }
        let sent = frames(&mut sender, Time::ZERO);
        receiver.handle(Time::ZERO, &sent[1].1).unwrap();
        let mut report = Vec::new();
        receiver.poll_transmit(Time::ZERO, &mut report).unwrap();
        receiver.poll_timeout().unwrap()
    };
    assert_eq!(due(None), Time(20_000_000)); // not before the next report
    assert_eq!(due(Some(Nanos::from_millis(70))), Time(70_000_000));
}
