//! What theory says in closed form: queueing, burst loss, control laws.

use crate::common::{MS, Parcel, RATE, drain, fixed, pipe};
use bentpipe_path::config::{Discipline, LossConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{DropCause, Nanos, Pipe, PipeConfig, Time, stream};
use rand_core::Rng;

/// Exponential with this mean.
fn exponential(rng: &mut impl Rng, mean_ns: f64) -> Nanos {
    let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    Nanos((-uniform.ln() * mean_ns).round() as i64)
}

fn relative_error(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

#[test]
fn poisson_arrivals_at_a_fixed_rate_wait_as_in_m_d_1() {
    for load in [0.5, 0.8] {
        let mut pipe = pipe(&fixed(QueueLimit::Unlimited, 0));
        let mut rng = stream(3, "arrivals");
        let mut now = Time::ZERO;
        let packets = 150_000;
        for id in 0..packets {
            now += exponential(&mut rng, MS as f64 / load);
            pipe.push(now, Parcel::new(id, 1500));
            while pipe.pop(now).is_some() {}
        }
        pipe.finish(now);
        let bins: Vec<_> = pipe.take_bins().collect();
        let held: f64 = bins.iter().map(|bin| bin.queue_bytes_mean).sum();
        let mean_packets = held / bins.len() as f64 / 1500.0;
        // Pollaczek, Khinchine: Lq = load^2 / (2 (1 - load)).
        let expected = load * load / (2.0 * (1.0 - load));
        assert!(
            relative_error(mean_packets, expected) < 0.05,
            "{load}: {mean_packets} for {expected}"
        );
        let (mut waited, mut served) = (0.0, 0.0);
        for bin in &bins {
            waited += bin.queue_delay_s_mean.unwrap_or(0.0) * bin.throughput_packets as f64;
            served += bin.throughput_packets as f64;
        }
        // Little: Wq = Lq / arrival rate.
        let expected_s = expected / load * 1e-3;
        assert!(relative_error(waited / served, expected_s) < 0.05);
    }
}

/// Which of so many packets the channel loses.
fn losses(loss: LossConfig, packets: u64) -> Vec<bool> {
    let mut config = PipeConfig::default();
    config.channel.loss = loss;
    let mut pipe = pipe(&config);
    let mut lost = vec![true; packets as usize];
    for id in 0..packets {
        pipe.push(Time(id as i64), Parcel::new(id, 1));
        while let Some((_, parcel)) = pipe.pop(Time(id as i64)) {
            lost[parcel.id as usize] = false;
        }
    }
    lost
}

fn rate_of(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

#[test]
fn bernoulli_loses_its_share() {
    let lost = losses(LossConfig::Bernoulli { p: 0.01 }, 300_000);
    assert!(relative_error(rate_of(&lost), 0.01) < 0.05);
}

#[test]
fn gilbert_elliott_has_its_loss_rate_and_mean_burst_length() {
    let (p, r) = (0.01, 0.2);
    let simple = LossConfig::GilbertElliott {
        p,
        r,
        good: 0.0,
        bad: 1.0,
    };
    let lost = losses(simple, 300_000);
    assert!(relative_error(rate_of(&lost), p / (p + r)) < 0.05);
    let bursts = lost.chunk_by(|a, b| a == b).filter(|run| run[0]);
    let lengths: Vec<_> = bursts.map(<[bool]>::len).collect();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    assert!(relative_error(mean, 1.0 / r) < 0.05, "{mean}");
}

#[test]
fn gilbert_elliott_mixes_the_loss_of_its_two_states() {
    let (p, r, good, bad) = (0.05, 0.1, 0.02, 0.5);
    let lost = losses(LossConfig::GilbertElliott { p, r, good, bad }, 300_000);
    let expected = (r * good + p * bad) / (p + r);
    assert!(relative_error(rate_of(&lost), expected) < 0.05);
}

/// Service takes 0.1 ms a packet.
fn codel_pipe() -> Pipe<Parcel> {
    let mut config = fixed(QueueLimit::Unlimited, 0);
    config.shaper = ShaperConfig::Fixed {
        rate_bit_s: 10 * RATE,
    };
    config.queue.discipline = Discipline::Codel {
        target_ns: None,
        interval_ns: None,
    };
    pipe(&config)
}

const SERVICE: i64 = MS / 10;

/// When packets are dropped up to `until`, found by coming at each end of service.
fn drop_times(pipe: &mut Pipe<Parcel>, from: i64, until: i64) -> Vec<i64> {
    let mut times = Vec::new();
    let mut known = pipe.totals().dropped_by(DropCause::Aqm).packets;
    for now in (from..until).step_by(SERVICE as usize) {
        while pipe.pop(Time(now)).is_some() {}
        let dropped = pipe.totals().dropped_by(DropCause::Aqm).packets;
        times.extend((known..dropped).map(|_| now));
        known = dropped;
    }
    times
}

#[test]
fn codel_drops_at_the_times_of_its_control_law() {
    let mut pipe = codel_pipe();
    for id in 0..20_000 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500));
    }
    let times = drop_times(&mut pipe, 0, 1_500 * MS);
    // Above 5 ms of sojourn from 5 ms on; the first drop an interval later; then drop_next += interval / sqrt(count).
    let mut law = 105.0 * MS as f64;
    for (count, &at) in (1..).zip(&times) {
        assert!(
            (0.0..=SERVICE as f64).contains(&(at as f64 - law)),
            "drop {count} at {at}, by the law {law}"
        );
        law += 100.0 * MS as f64 / f64::from(count).sqrt();
    }
    assert!(times.len() > 40, "{}", times.len());
}

#[test]
fn codel_resumes_near_its_last_drop_rate_when_the_queue_soon_comes_back() {
    let mut pipe = codel_pipe();
    for id in 0..8_000 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500));
    }
    let first = drop_times(&mut pipe, 0, 900 * MS).len() as f64;
    assert_eq!(pipe.totals().held.packets, 0, "the queue has emptied");
    for id in 0..8_000 {
        pipe.push(Time(900 * MS), Parcel::new(id, 1500));
    }
    let again = drop_times(&mut pipe, 900 * MS, 1_700 * MS);
    // The count goes on from what it grew by: the second drop comes 1 / sqrt(count) of an interval after the first.
    let gap = (again[1] - again[0]) as f64;
    let expected = 100.0 * MS as f64 / (first - 1.0).sqrt();
    assert!(
        (gap - expected).abs() <= 2.0 * SERVICE as f64,
        "{gap} for {expected}"
    );
}

#[test]
fn codel_never_drops_from_a_queue_that_stays_below_its_target() {
    let mut pipe = codel_pipe();
    // 49 behind the one in service wait at most 4.9 ms.
    for round in 0..400 {
        for id in 0..50 {
            pipe.push(Time(round * 5 * MS), Parcel::new(id, 1500));
        }
    }
    assert_eq!(drain(&mut pipe).len(), 20_000);
}

#[test]
fn codel_spares_the_last_packet_of_a_link_too_slow_for_its_target() {
    let mut config = fixed(QueueLimit::Unlimited, 0);
    config.shaper = ShaperConfig::Fixed {
        rate_bit_s: RATE / 50,
    };
    config.queue.discipline = Discipline::Codel {
        target_ns: None,
        interval_ns: None,
    };
    let mut pipe = pipe(&config);
    // A packet takes 50 ms and waits as long for the one before it: always above 5 ms, but never more than one waits.
    for id in 0..100 {
        pipe.push(
            Time((id as i64 - 1).max(0) * 50 * MS),
            Parcel::new(id, 1500),
        );
    }
    assert_eq!(drain(&mut pipe).len(), 100);
}

#[test]
fn red_spaces_its_drops_evenly_around_its_probability() {
    // The queue is kept at 20 packets by its limit, and the average is the queue itself.
    let mut config = fixed(QueueLimit::Packets { packets: 20 }, 0);
    config.shaper = ShaperConfig::Fixed { rate_bit_s: 1 };
    config.queue.discipline = Discipline::Red {
        min_bytes: Some(15_000),
        max_bytes: Some(45_000),
        max_probability: Some(0.1),
        weight: Some(1.0),
    };
    let mut pipe = pipe(&config);
    let packets = 100_000;
    for id in 0..packets {
        pipe.push(Time(id), Parcel::new(id as u64, 1500));
    }
    // Halfway between the thresholds p_b is 0.05. By figure 2 the n-th packet after a drop goes with p_b / (1 - n p_b),
    // so the gap is uniform over 1 .. 1 / p_b - 1 and its mean is 1 / (2 p_b).
    let dropped = pipe.totals().dropped_by(DropCause::Aqm).packets as f64;
    let mean_gap = packets as f64 / dropped;
    assert!(relative_error(mean_gap, 10.0) < 0.02, "{mean_gap}");
}

#[test]
fn pie_holds_an_unresponsive_overload_at_its_target_delay() {
    let mut config = fixed(QueueLimit::Unlimited, 0);
    config.queue.discipline = Discipline::Pie {
        target_ns: None,
        update_ns: None,
        alpha: None,
        beta: None,
        max_burst_ns: None,
    };
    let mut pipe = pipe(&config);
    let mut rng = stream(5, "arrivals");
    let mut now = Time::ZERO;
    let mut id = 0;
    while now < Time(120_000 * MS) {
        now += exponential(&mut rng, MS as f64 / 1.2);
        pipe.push(now, Parcel::new(id, 1500));
        while pipe.pop(now).is_some() {}
        id += 1;
    }
    pipe.finish(now);
    let late = pipe.take_bins().filter(|bin| bin.start > Time(60_000 * MS));
    let delays: Vec<_> = late.filter_map(|bin| bin.queue_delay_s_mean).collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((0.012..0.018).contains(&mean), "{mean}");
    // What is dropped is what cannot be sent: 1 - 1 / 1.2.
    let share = pipe.totals().dropped_by(DropCause::Aqm).packets as f64 / id as f64;
    assert!((0.14..0.18).contains(&share), "{share}");
}
