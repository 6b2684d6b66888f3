//! Whatever comes from outside, nothing grows without limit.

use super::*;
use crate::frame::{Frame, Report, WireNumber, write_source};
use crate::{Policy, TitrationConfig};
use bentpipe_base::{Nanos, Time};
use proptest::prelude::*;

const KEPT: u32 = 50;

fn receiver(order: ReleaseOrder) -> TunnelReceiver {
    TunnelReceiver::new(ReceiverConfig {
        kept_packets: KEPT,
        packet_max_bytes: 40,
        max_unknowns: 20,
        order,
        exact: Some(ExactConfig {
            patience: Nanos(30),
            again: Nanos(100),
            tries: 3,
        }),
        report_every: Nanos(10),
    })
}

/// Bytes that are often a frame, with numbers that are often near each other.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => 0..2_u32, 1 => 2..8_u32, 4 => 8..16_u32];
    let number = prop_oneof![8 => 0..400_u32, 1 => any::<u32>()];
    (
        kind,
        number,
        0..80_u16,
        prop::collection::vec(any::<u8>(), 0..60),
    )
        .prop_map(|(kind, number, count, rest)| {
            let mut frame = (kind << 28 | number & 0x0fff_ffff).to_be_bytes().to_vec();
            if kind >= 8 {
                frame.extend(count.to_be_bytes());
            }
            frame.extend(rest);
            frame
        })
}

proptest! {
    #[test]
    fn a_receiver_keeps_within_its_limits_whatever_comes_and_however_it_is_asked(
        frames in prop::collection::vec((frame(), 0..40_i64, any::<bool>()), 0..300),
        hold in prop::option::of(0..200_i64),
    ) {
        let order = hold.map_or(ReleaseOrder::AsTheyCome, |hold| ReleaseOrder::InOrder { hold: Nanos(hold) });
        let mut receiver = receiver(order);
        let mut now = Time::ZERO;
        let mut out = Vec::new();
        for (frame, later, asked) in frames {
            now += Nanos(later);
            let _ = receiver.handle(now, &frame);
            if asked {
                let mut released = 0;
                while let Some(it) = receiver.poll_release(now) {
                    prop_assert!(it.packet.len() <= 40);
                    released += 1;
                    prop_assert!(released <= 3 * KEPT);
                }
                out.clear();
                let report = receiver.poll_transmit(now, &mut out);
                prop_assert_eq!(report.map_or(0, |it| it.wire_bytes as usize), out.len());
                prop_assert!(receiver.poll_transmit(now, &mut out).is_none());
                prop_assert!(receiver.poll_timeout().is_none_or(|at| at > now));
            }
            prop_assert!(receiver.longest_list() <= 3 * KEPT as usize);
            prop_assert!(receiver.deficit() <= KEPT.into());
        }
    }

    #[test]
    fn a_sender_keeps_within_its_limits_whatever_is_reported(
        steps in prop::collection::vec((frame(), 0..40_i64, 0..4_usize, any::<bool>()), 0..300),
        is_adaptive in any::<bool>(),
    ) {
        let adaptive = Policy::Adaptive { residual: 0.1, initial_loss: 0.1, max_ratio: 0.5 };
        let mut sender = TunnelSender::new(SenderConfig {
            window_packets: 20,
            kept_packets: KEPT,
            packet_max_bytes: 40,
            policy: if is_adaptive { adaptive } else { Policy::Fixed { ratio: 0.4 } },
            density_eighths: 8,
            end_of_burst: Nanos(5),
            recover_within: Nanos(20),
            titration: Some(TitrationConfig {
                rate_bit_s: 8_000_000_000,
                room_bytes: 100,
                outer_bytes: 28,
                max_waiting: 7,
            }),
        }).expect("valid");
        let mut now = Time::ZERO;
        let mut out = Vec::new();
        let mut pushed = 0;
        for (mut frame, later, packets, asked) in steps {
            now += Nanos(later);
            for _ in 0..packets {
                pushed += u64::from(sender.push(now, &[7; 40]).is_ok());
            }
            frame[0] = frame[0] & 0x0f | 0x20;
            let count = (frame.len().saturating_sub(28) / 4) as u8;
            if let Some(field) = frame.get_mut(26..28) {
                field.copy_from_slice(&[0, count]);
            }
            let _ = sender.handle(now, &frame);
            prop_assert!((0.0..=0.5).contains(&sender.ratio()));
            let mut frames = 0;
            while asked && sender.poll_transmit(now, &mut out).is_some() {
                frames += 1;
                prop_assert!(frames <= 2 * KEPT + 7);
            }
            prop_assert!(!asked || sender.poll_timeout().is_none_or(|at| at > now));
            out.clear();
        }
        let counters = sender.counters();
        prop_assert!(counters.sources <= pushed && pushed <= counters.sources + u64::from(KEPT));
    }
}

fn small_sender_config() -> SenderConfig {
    SenderConfig {
        window_packets: 20,
        kept_packets: KEPT,
        packet_max_bytes: 40,
        policy: Policy::Fixed { ratio: 0.5 },
        density_eighths: 8,
        end_of_burst: Nanos::from_millis(1),
        recover_within: Nanos::from_millis(10),
        titration: None,
    }
}

fn small_sender() -> TunnelSender {
    TunnelSender::new(small_sender_config()).expect("valid")
}

/// A report that the receiver has all packets before `number`, which was decided for as many.
fn all_came_before(number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let report = crate::frame::Report {
        newest: WireNumber::of(number - 1),
        first_missing: WireNumber::of(number),
        decided: number as u32,
        ..Default::default()
    };
    report.write(&mut out);
    out
}

#[test]
fn a_repair_that_waited_until_nothing_was_missing_leaves_no_timer_behind() {
    let mut sender = TunnelSender::new(SenderConfig {
        titration: Some(TitrationConfig {
            rate_bit_s: 8_000_000, // 1 us per byte
            room_bytes: 0,
            outer_bytes: 28,
            max_waiting: 7,
        }),
        ..small_sender_config()
    })
    .expect("valid");
    let mut out = Vec::new();
    for _ in 0..3 {
        sender.push(Time::ZERO, &[1; 10]).unwrap();
        while sender.poll_transmit(Time::ZERO, &mut out).is_some() {}
    }
    let room = sender.poll_timeout().expect("a repair waits for room");
    sender.handle(Time::ZERO, &all_came_before(3)).unwrap();
    let much_later = room + Nanos::from_millis(5);
    assert_eq!(sender.poll_transmit(much_later, &mut out), None);
    assert_eq!(sender.poll_timeout(), None);
}

#[test]
fn a_repair_covers_what_was_sent_within_the_span_and_at_least_the_newest() {
    let mut sender = small_sender();
    sender.set_span(Nanos::from_millis(25));
    let mut out = Vec::new();
    let mut covered = Vec::new();
    for number in 0..8_i64 {
        let gap = if number < 6 { 10 } else { 100 };
        let at = number.min(5) * 10 + (number - 5).max(0) * gap;
        let now = Time::ZERO + Nanos::from_millis(at);
        sender.push(now, &[1; 10]).unwrap();
        while let Some(sent) = sender.poll_transmit(now, &mut out) {
            if sent.kind == FrameKind::Repair {
                covered.push((u32::from_be_bytes([0, out[1], out[2], out[3]]), out[5]));
            }
            out.clear();
        }
    }
    // Packets 10 ms apart, one repair for each two of them; then 100 ms apart.
    assert_eq!(covered, [(0, 2), (1, 3), (3, 3), (7, 1)]);
}

#[test]
fn reports_leave_out_what_has_been_missing_for_so_long() {
    let mut sender = small_sender();
    let mut receiver = TunnelReceiver::new(ReceiverConfig {
        kept_packets: KEPT,
        packet_max_bytes: 40,
        max_unknowns: 10,
        order: ReleaseOrder::AsTheyCome,
        exact: None,
        report_every: Nanos(1),
    });
    receiver.give_up_after(Nanos::from_millis(25));
    let mut acknowledged = Vec::new();
    for number in 0..6_i64 {
        let now = Time::ZERO + Nanos::from_millis(10 * number);
        sender.push(now, &[1; 10]).unwrap();
        let mut out = Vec::new();
        while let Some(sent) = sender.poll_transmit(now, &mut out) {
            if number != 1 && sent.kind == FrameKind::Source {
                receiver.handle(now, &out).unwrap();
            }
            out.clear();
        }
        if receiver.poll_transmit(now, &mut out).is_some() {
            sender.handle(now, &out).unwrap();
        }
        acknowledged.push(sender.acknowledged());
    }
    // The second is missed from 20 ms on, and given up at 50 ms.
    assert_eq!(acknowledged, [1, 1, 1, 1, 1, 6]);
}

/// A peer that skips numbers, or a path that was down for long.
#[test]
fn of_very_many_missing_packets_a_bounded_number_is_looked_at_and_all_are_asked_for() {
    const MISSING: u64 = 200_000;
    let mut receiver = TunnelReceiver::new(ReceiverConfig {
        kept_packets: 1 << 18,
        packet_max_bytes: 40,
        max_unknowns: 10,
        order: ReleaseOrder::AsTheyCome,
        exact: Some(ExactConfig {
            patience: Nanos::from_millis(5),
            again: Nanos::from_secs(1),
            tries: ExactConfig::WITHOUT_END,
        }),
        report_every: Nanos::from_millis(10),
    });
    let mut now = Time::ZERO;
    let mut frame = Vec::new();
    for number in [0, MISSING + 1] {
        frame.clear();
        write_source(number, &[1], false, &mut frame);
        receiver.handle(now, &frame).unwrap();
    }
    let mut out = Vec::new();
    let mut reports = 0;
    while receiver.deficit() > 0 {
        assert!(receiver.missing_looked_at() <= 1 << 16);
        now += Nanos::from_millis(10);
        out.clear();
        receiver.poll_transmit(now, &mut out).expect("a report");
        let Ok(Frame::Report(report)) = Frame::parse(&out) else {
            panic!("no report");
        };
        for (first, length) in report.ranges {
            let first = first.nearest_to(MISSING);
            for number in first..first + u64::from(length) {
                frame.clear();
                write_source(number, &[1], true, &mut frame);
                receiver.handle(now, &frame).unwrap();
            }
        }
        while receiver.poll_release(now).is_some() {}
        reports += 1;
    }
    // 64 ranges of 16 packets in each.
    assert_eq!(reports, MISSING.div_ceil(1024));
    assert_eq!(receiver.missing_looked_at(), MISSING as usize % 1024);
}

#[test]
fn what_is_asked_for_again_before_the_answer_can_have_come_is_not_answered_again() {
    let mut sender = small_sender();
    sender.set_copies(2);
    let ms = |at: i64| Time::ZERO + Nanos::from_millis(at);
    let mut out = Vec::new();
    for _ in 0..3 {
        sender.push(ms(0), &[1; 10]).unwrap();
    }
    while sender.poll_transmit(ms(0), &mut out).is_some() {}
    // Packet 1 is asked for, with this one as the newest that came. How often it is sent:
    let mut asked = |sender: &mut TunnelSender, at: i64, newest: u64| {
        let report = Report {
            newest: WireNumber::of(newest),
            first_missing: WireNumber::of(1),
            ranges: vec![(WireNumber::of(1), 1)],
            ..Report::default()
        };
        out.clear();
        report.write(&mut out);
        sender.handle(ms(at), &out).unwrap();
        let mut times = 0;
        while sender.has_exact() {
            times += usize::from(sender.poll_transmit(ms(at), &mut out).is_some());
        }
        times
    };
    assert_eq!(asked(&mut sender, 550, 2), 1);
    assert_eq!(asked(&mut sender, 1000, 2), 0);
    sender.push(ms(1010), &[1; 10]).unwrap();
    let mut source = Vec::new();
    while sender.poll_transmit(ms(1010), &mut source).is_some() {}
    assert_eq!(asked(&mut sender, 1050, 2), 0);
    // What was sent after the answer has come, so the answer is lost.
    assert_eq!(asked(&mut sender, 1560, 3), 2);
    assert_eq!(asked(&mut sender, 2100, 3), 0);
    // A round trip has passed.
    assert_eq!(asked(&mut sender, 2110, 3), 2);
    assert_eq!(asked(&mut sender, 2660, 3), 2);
    assert_eq!(sender.counters().asked_too_early, 3);
}

#[test]
fn memory_is_given_back_up_to_the_first_missing_packet_without_a_report() {
    let mut receiver = receiver(ReleaseOrder::AsTheyCome);
    let mut frame = Vec::new();
    for number in (0..30).chain(31..40) {
        frame.clear();
        write_source(number, &[1], false, &mut frame);
        receiver.handle(Time::ZERO, &frame).unwrap();
        while receiver.poll_release(Time::ZERO).is_some() {}
        receiver.free_before(10);
    }
    let kept = |receiver: &TunnelReceiver| (0..40).find(|&it| receiver.has_bytes(it));
    assert_eq!(kept(&receiver), Some(20));
    frame.clear();
    write_source(30, &[1], true, &mut frame);
    receiver.handle(Time::ZERO, &frame).unwrap();
    while receiver.poll_release(Time::ZERO).is_some() {}
    receiver.free_before(10);
    assert_eq!(kept(&receiver), Some(30));
}
