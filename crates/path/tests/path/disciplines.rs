//! What sets the disciplines apart: whom they drop, whom they mark, whom they serve first.

use crate::common::{MS, Parcel, drain, fixed, pipe};
use bentpipe_path::config::{Discipline, QueueLimit, ShaperConfig};
use bentpipe_path::{DropCause, Ecn, PipeConfig, Time};

const FQ_CODEL: Discipline = Discipline::FqCodel {
    target_ns: None,
    interval_ns: None,
    flows: None,
    quantum_bytes: None,
};
const CODEL: Discipline = Discipline::Codel {
    target_ns: None,
    interval_ns: None,
};
const PIE: Discipline = Discipline::Pie {
    target_ns: None,
    update_ns: None,
    alpha: None,
    beta: None,
    max_burst_ns: None,
};
const RED: Discipline = Discipline::Red {
    min_bytes: Some(15_000),
    max_bytes: Some(60_000),
    max_probability: Some(0.1),
    weight: Some(0.1),
};

fn with(discipline: Discipline, limit: QueueLimit) -> PipeConfig {
    let mut config = fixed(limit, 0);
    config.queue.discipline = discipline;
    config
}

#[test]
fn fair_queueing_serves_a_new_flow_before_a_standing_queue() {
    let mut pipe = pipe(&with(FQ_CODEL, QueueLimit::Unlimited));
    for id in 0..100 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500).of_flow(1));
    }
    pipe.push(Time(10 * MS + 1), Parcel::new(1_000, 100).of_flow(2));
    let out = drain(&mut pipe);
    // 0 to 9 have been sent and 10 is in service.
    assert_eq!(out[11].1.id, 1_000);
}

#[test]
fn a_sparse_flow_that_comes_back_at_once_waits_its_turn_among_the_old_ones() {
    let discipline = Discipline::FqCodel {
        target_ns: None,
        interval_ns: None,
        flows: None,
        quantum_bytes: Some(6_000),
    };
    let mut pipe = pipe(&with(discipline, QueueLimit::Unlimited));
    for id in 0..12 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500).of_flow(1));
    }
    // Turns are of four packets. The first of the sparse flow is new and goes before 5; once it has been found empty
    // it is old, and its second waits for the standing flow's turn, 4 to 7, to end.
    pipe.push(Time(4_500_000), Parcel::new(100, 100).of_flow(2));
    pipe.push(Time(5_500_000), Parcel::new(101, 100).of_flow(2));
    let order: Vec<_> = drain(&mut pipe).iter().map(|it| it.1.id).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 100, 5, 6, 7, 101, 8, 9, 10, 11]);
}

#[test]
fn fair_queueing_shares_bytes_and_not_packets_whatever_the_quantum() {
    for quantum_bytes in [None, Some(300)] {
        let discipline = Discipline::FqCodel {
            target_ns: None,
            interval_ns: None,
            flows: None,
            quantum_bytes,
        };
        let mut pipe = pipe(&with(discipline, QueueLimit::Unlimited));
        for id in 0..300 {
            pipe.push(Time::ZERO, Parcel::new(id, 1500).of_flow(1));
            for _ in 0..3 {
                pipe.push(Time::ZERO, Parcel::new(id, 500).of_flow(2));
            }
        }
        let mut sent = [0, 0];
        while let Some((_, parcel)) = pipe.pop(Time(90 * MS)) {
            sent[parcel.flow as usize - 1] += parcel.bytes;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 3000, "{sent:?}");
    }
}

#[test]
fn fair_queueing_drops_from_the_fattest_queue_on_overflow() {
    let mut pipe = pipe(&with(FQ_CODEL, QueueLimit::Packets { packets: 10 }));
    for id in 0..9 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500).of_flow(1));
    }
    for id in 100..105 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500).of_flow(2));
    }
    let out = drain(&mut pipe);
    let of_flow = |flow| out.iter().filter(|it| it.1.flow == flow).count();
    // 9 and 5 came, one of the first flow is in service, 10 may wait: the 3 dropped are all the first flow's.
    assert_eq!((of_flow(1), of_flow(2)), (6, 5));
}

#[test]
fn with_ecn_what_is_capable_is_marked_and_what_is_not_is_dropped() {
    for discipline in [CODEL, FQ_CODEL, RED] {
        let mut config = with(discipline, QueueLimit::Unlimited);
        config.queue.ecn = true;
        let outcome = |capable: bool| {
            let mut pipe = pipe(&config);
            let mut marked = 0;
            for id in 0..2_400 {
                let parcel = Parcel::new(id, 1500);
                // 3 % more than can be sent, for 2.3 s.
                let now = Time(id as i64 * MS * 97 / 100);
                pipe.push(now, if capable { parcel.capable() } else { parcel });
                while let Some((_, parcel)) = pipe.pop(now) {
                    marked += u64::from(parcel.ecn == Ecn::Ce);
                }
            }
            marked += drain(&mut pipe)
                .iter()
                .filter(|it| it.1.ecn == Ecn::Ce)
                .count() as u64;
            assert_eq!(marked, pipe.totals().marked_packets);
            (pipe.totals().dropped_by(DropCause::Aqm).packets, marked)
        };
        let (dropped, marked) = outcome(true);
        assert!(
            dropped == 0 && marked > 0,
            "{discipline:?} {dropped} {marked}"
        );
        let (dropped, marked) = outcome(false);
        assert!(
            dropped > 0 && marked == 0,
            "{discipline:?} {dropped} {marked}"
        );
    }
}

#[test]
fn pie_marks_at_first_and_drops_once_its_probability_is_a_tenth() {
    let mut config = with(PIE, QueueLimit::Unlimited);
    config.queue.ecn = true;
    let mut pipe = pipe(&config);
    let mut marks_before_first_drop = 0;
    for id in 0..6_000 {
        // Twice what can be sent.
        pipe.push(Time(id as i64 * MS / 2), Parcel::new(id, 1500).capable());
        if pipe.totals().dropped_by(DropCause::Aqm).packets == 0 {
            marks_before_first_drop = pipe.totals().marked_packets;
        }
    }
    assert!(marks_before_first_drop > 0);
    assert!(pipe.totals().dropped_by(DropCause::Aqm).packets > 100);
}

#[test]
fn red_drops_everything_beyond_twice_its_maximum_even_with_ecn() {
    let mut config = with(RED, QueueLimit::Unlimited);
    config.queue.ecn = true;
    config.shaper = ShaperConfig::Fixed { rate_bit_s: 1 };
    let mut pipe = pipe(&config);
    for id in 0..1_000 {
        pipe.push(Time(id), Parcel::new(id as u64, 1500).capable());
    }
    let before = pipe.totals().held.packets;
    pipe.push(Time(1_000), Parcel::new(1_000, 1500).capable());
    assert_eq!(pipe.totals().held.packets, before);
    assert!(pipe.totals().dropped_by(DropCause::Aqm).packets > 100);
}

#[test]
fn red_drops_packets_in_proportion_to_their_length() {
    let mut config = with(RED, QueueLimit::Bytes { bytes: 20_000 });
    config.shaper = ShaperConfig::Fixed { rate_bit_s: 1 };
    let mut pipe = pipe(&config);
    let mut dropped = [0_u64, 0];
    for id in 0..200_000 {
        let large = usize::from(id % 2 == 0);
        let before = pipe.totals().dropped_by(DropCause::Aqm).packets;
        pipe.push(Time(id), Parcel::new(0, [500, 1500][large]));
        dropped[large] += pipe.totals().dropped_by(DropCause::Aqm).packets - before;
    }
    let ratio = dropped[1] as f64 / dropped[0] as f64;
    assert!((2.5..3.5).contains(&ratio), "{dropped:?}");
}

#[test]
fn red_forgets_its_average_while_the_queue_is_empty() {
    let mut pipe = pipe(&with(RED, QueueLimit::Unlimited));
    let early = |from: i64, pipe: &mut bentpipe_path::Pipe<Parcel>| {
        let before = pipe.totals().dropped_by(DropCause::Aqm).packets;
        for id in 0..100 {
            pipe.push(Time(from), Parcel::new(id, 1500));
        }
        pipe.totals().dropped_by(DropCause::Aqm).packets - before
    };
    let first = early(0, &mut pipe);
    let after_a_pause = early(5_000 * MS, &mut pipe);
    assert!(first > 0);
    assert!(
        after_a_pause.abs_diff(first) <= 10,
        "{first} {after_a_pause}"
    );
}

#[test]
fn pie_lets_a_burst_pass_that_its_allowance_covers() {
    let mut pipe = pipe(&with(PIE, QueueLimit::Unlimited));
    for id in 0..140 {
        pipe.push(Time(id as i64), Parcel::new(id, 1500));
    }
    assert_eq!(drain(&mut pipe).len(), 140);
}

#[test]
fn codel_keeps_a_standing_queue_near_its_target_where_a_fifo_does_not() {
    let worst_late_delay = |discipline| {
        let mut pipe = pipe(&with(discipline, QueueLimit::Packets { packets: 500 }));
        // A window of 300 packets: one is sent for each that leaves, and half the window is given up at a loss.
        let (mut window, mut out, mut id, mut lost) = (300_u64, 0, 0, 0);
        let mut now = Time::ZERO;
        let mut worst: f64 = 0.0;
        while now < Time(20_000 * MS) {
            now = Time(now.0 + MS);
            while pipe.pop(now).is_some() {
                out += 1;
            }
            let dropped = pipe.totals().dropped_in_all().packets;
            if dropped > lost {
                lost = dropped;
                window = (window / 2).max(4);
            }
            while id < out + lost + window {
                pipe.push(now, Parcel::new(id, 1500));
                id += 1;
            }
        }
        for bin in pipe.take_bins().filter(|bin| bin.start > Time(10_000 * MS)) {
            worst = worst.max(bin.queue_delay_s_max.unwrap_or(0.0));
        }
        worst
    };
    assert!(worst_late_delay(CODEL) < 0.01);
    assert!(worst_late_delay(Discipline::Fifo) > 0.25);
}
