//! Repairs wait before the queue, and enter it when it has room.

use crate::common::{MS, Parcel, drain, fixed, pipe};
use bentpipe_path::config::{Discipline, QueueLimit, TitrationConfig};
use bentpipe_path::{DropCause, Nanos, PipeConfig, Time};

/// 20 full packets may wait, and repairs enter below half of it.
fn titrated(max_age_ms: i64) -> PipeConfig {
    let mut config = fixed(QueueLimit::Bytes { bytes: 30_000 }, 0);
    config.queue.titration = Some(TitrationConfig {
        room_bytes: 15_000,
        max_age_ns: Nanos(max_age_ms * MS),
    });
    config
}

/// One in service, and as many behind it.
fn fill(pipe: &mut bentpipe_path::Pipe<Parcel>, packets: u64) {
    for id in 0..=packets {
        pipe.push(Time::ZERO, Parcel::new(id, 1500));
    }
}

#[test]
fn a_repair_waits_until_the_queue_is_half_empty_and_then_stands_before_what_comes_later() {
    let mut pipe = pipe(&titrated(1000));
    fill(&mut pipe, 20);
    pipe.push(Time::ZERO, Parcel::repair(100, 1500));
    // After 11 ms 9 are left, and the repair makes 10.
    pipe.push(Time(12 * MS), Parcel::new(21, 1500));
    let order: Vec<_> = drain(&mut pipe).iter().map(|it| it.1.id).collect();
    let right: Vec<_> = (0..=20).chain([100, 21]).collect();
    assert_eq!(order, right);
}

#[test]
fn repairs_take_no_place_from_packets_and_packets_are_dropped_as_without_repairs() {
    let dropped = |repairs: u64| {
        let mut pipe = pipe(&titrated(1000));
        fill(&mut pipe, 15);
        for id in 0..repairs {
            pipe.push(Time::ZERO, Parcel::repair(100 + id, 1500));
        }
        fill(&mut pipe, 9);
        drain(&mut pipe);
        pipe.totals().dropped_by(DropCause::Tail).packets
    };
    assert_eq!(dropped(0), 5);
    assert_eq!(dropped(8), 5);
}

#[test]
fn a_repair_that_has_waited_too_long_is_dropped_and_one_that_has_not_is_sent() {
    for (max_age_ms, sent) in [(10, 0), (12, 1)] {
        let mut pipe = pipe(&titrated(max_age_ms));
        fill(&mut pipe, 20);
        pipe.push(Time::ZERO, Parcel::repair(100, 1500));
        let repairs = drain(&mut pipe).iter().filter(|it| it.1.repair).count();
        assert_eq!(repairs, sent, "{max_age_ms} ms");
        let dropped = pipe.totals().dropped_by(DropCause::Aqm).packets;
        assert_eq!(dropped as usize, 1 - sent);
    }
}

#[test]
fn as_many_repairs_wait_as_the_room_holds_and_the_oldest_make_way() {
    let mut pipe = pipe(&titrated(1000));
    fill(&mut pipe, 20);
    for id in 0..13 {
        pipe.push(Time::ZERO, Parcel::repair(100 + id, 1500));
    }
    let repairs: Vec<_> = drain(&mut pipe)
        .iter()
        .filter(|it| it.1.repair)
        .map(|it| it.1.id)
        .collect();
    assert_eq!(repairs, (103..113).collect::<Vec<_>>());
}

#[test]
fn an_empty_queue_takes_a_repair_that_is_longer_than_its_room() {
    let mut config = titrated(1000);
    config.queue.titration = Some(TitrationConfig {
        room_bytes: 1000,
        max_age_ns: Nanos(MS),
    });
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::repair(0, 1500));
    assert_eq!(drain(&mut pipe).len(), 1);
}

#[test]
fn waiting_repairs_are_no_part_of_the_queues_length_and_delay() {
    let queue = |repairs: u64| {
        let mut pipe = pipe(&titrated(1000));
        fill(&mut pipe, 12);
        for id in 0..repairs {
            pipe.push(Time::ZERO, Parcel::repair(100 + id, 1500));
        }
        // Until only the repairs that have entered are left behind the last packet.
        while pipe.pop(Time(2 * MS)).is_some() {}
        pipe.finish(Time(2 * MS));
        pipe.take_bins().next().map(|bin| bin.queue_bytes_max)
    };
    assert_eq!(queue(0), queue(9));
}

#[test]
fn any_discipline_may_stand_behind_the_repairs() {
    for discipline in [
        Discipline::HeadDrop,
        Discipline::Codel {
            target_ns: None,
            interval_ns: None,
        },
        Discipline::FqCodel {
            target_ns: None,
            interval_ns: None,
            flows: None,
            quantum_bytes: None,
        },
    ] {
        let mut config = titrated(1000);
        config.queue.discipline = discipline;
        let mut pipe = pipe(&config);
        fill(&mut pipe, 12);
        for id in 0..4 {
            pipe.push(Time::ZERO, Parcel::repair(100 + id, 1500));
        }
        assert_eq!(drain(&mut pipe).len(), 17);
    }
}

#[test]
fn a_negative_age_is_refused_by_name() {
    let config = titrated(-1);
    let error = bentpipe_path::Pipe::<Parcel>::new(&config, 1500, 1, "down", Nanos(MS));
    let said = error.expect_err("no such span").to_string();
    assert!(said.starts_with("queue.titration.max_age_ns: "), "{said}");
}
