//! Traces by hand: small cases whose every departure was worked out on paper.

use crate::common::{MS, Parcel, RATE, drain, fixed, pipe, shaped_by};
use bentpipe_path::config::{
    Discipline, LineLimit, LossConfig, Outage, PolicerConfig, QueueLimit, RateStep, ShaperConfig,
};
use bentpipe_path::{DropCause, Nanos, PipeConfig, Time};

/// Departures in milliseconds with the parcels' numbers, of arrivals given as (time in ms, bytes).
fn departures(config: &PipeConfig, arrivals: &[(i64, u32)]) -> Vec<(f64, u64)> {
    let mut pipe = pipe(config);
    for (id, &(at_ms, bytes)) in (0..).zip(arrivals) {
        pipe.push(Time(at_ms * MS), Parcel::new(id, bytes));
    }
    let out = drain(&mut pipe);
    out.iter()
        .map(|(at, parcel)| (at.0 as f64 / MS as f64, parcel.id))
        .collect()
}

fn times(config: &PipeConfig, arrivals: &[(i64, u32)]) -> Vec<f64> {
    departures(config, arrivals).iter().map(|it| it.0).collect()
}

fn numbers(config: &PipeConfig, arrivals: &[(i64, u32)]) -> Vec<u64> {
    departures(config, arrivals).iter().map(|it| it.1).collect()
}

#[test]
fn each_packet_takes_its_serialisation_time_and_the_delay() {
    let config = fixed(QueueLimit::Unlimited, 10);
    let arrivals = [(0, 1500), (0, 750), (0, 1500), (20, 1500)];
    assert_eq!(times(&config, &arrivals), [11.0, 11.5, 12.5, 31.0]);
}

#[test]
fn an_unlimited_shaper_only_delays() {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(3 * MS);
    assert_eq!(times(&config, &[(-5, 1500), (-5, 40)]), [-2.0, -2.0]);
}

#[test]
fn serialisation_at_an_awkward_rate_adds_up_no_rounding_error() {
    // 1000 bytes at 7 Mbit/s take 1142857 and 1/7 ns; 7000 of them exactly 8 s.
    let config = shaped_by(ShaperConfig::Fixed {
        rate_bit_s: 7_000_000,
    });
    let mut pipe = pipe(&config);
    for id in 0..7_000 {
        pipe.push(Time::ZERO, Parcel::new(id, 1_000));
    }
    let out = drain(&mut pipe);
    assert_eq!(out[0].0, Time(1_142_858));
    assert_eq!(out[6_999].0, Time(8_000 * MS));
}

#[test]
fn a_full_queue_drops_the_arriving_packet() {
    let config = fixed(QueueLimit::Packets { packets: 2 }, 0);
    assert_eq!(numbers(&config, &[(0, 1500); 5]), [0, 1, 2]);
}

#[test]
fn head_drop_gives_up_the_oldest_waiting_packet_for_the_arriving_one() {
    let mut config = fixed(QueueLimit::Packets { packets: 2 }, 0);
    config.queue.discipline = Discipline::HeadDrop;
    // 0 is in service; 1 and 2 make room for 3 and 4.
    assert_eq!(numbers(&config, &[(0, 1500); 5]), [0, 3, 4]);
}

#[test]
fn head_drop_gives_up_nothing_for_an_arrival_that_would_not_fit_anyway() {
    let mut config = fixed(QueueLimit::Bytes { bytes: 1400 }, 0);
    config.queue.discipline = Discipline::HeadDrop;
    assert_eq!(numbers(&config, &[(0, 1500), (0, 700), (0, 1500)]), [0, 1]);
}

#[test]
fn a_queue_of_no_packets_still_lets_an_arrival_to_an_idle_server_pass() {
    let config = fixed(QueueLimit::Packets { packets: 0 }, 0);
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::new(0, 1500));
    pipe.push(Time(MS - 1), Parcel::new(1, 1500));
    pipe.push(Time(MS), Parcel::new(2, 1500));
    let out: Vec<_> = drain(&mut pipe).iter().map(|it| it.1.id).collect();
    assert_eq!(out, [0, 2]);
    assert_eq!(pipe.totals().dropped_by(DropCause::Tail).packets, 1);
}

#[test]
fn a_byte_limit_is_exact_to_the_byte_and_leaves_out_the_packet_in_service() {
    let arrivals = [(0, 1500), (0, 1500), (0, 1000), (0, 1)];
    let exact = fixed(QueueLimit::Bytes { bytes: 2500 }, 0);
    assert_eq!(numbers(&exact, &arrivals), [0, 1, 2]);
    let short = fixed(QueueLimit::Bytes { bytes: 2499 }, 0);
    assert_eq!(numbers(&short, &arrivals), [0, 1, 3]);
}

#[test]
fn a_limit_in_time_or_bdp_is_bytes_at_the_rate() {
    // 2 ms at 1500 bytes/ms.
    let delay = fixed(
        QueueLimit::Delay {
            delay_ns: Nanos(2 * MS),
        },
        0,
    );
    assert_eq!(numbers(&delay, &[(0, 1500); 5]), [0, 1, 2]);
    let bdp = fixed(
        QueueLimit::Bdp {
            multiple: 0.5,
            base_rtt_ns: Nanos(4 * MS),
        },
        0,
    );
    assert_eq!(numbers(&bdp, &[(0, 1500); 5]), [0, 1, 2]);
}

#[test]
fn a_limit_in_time_follows_the_rate_when_it_steps() {
    let mut config = shaped_by(ShaperConfig::Steps {
        steps: vec![step(0, Some(RATE)), step(1, Some(RATE / 2))],
    });
    config.queue.limit = QueueLimit::Delay {
        delay_ns: Nanos(4 * MS),
    };
    // At 0 four fit behind the one in service. At 1 ms one of them is in service, and only two would fit.
    let arrivals = [
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (1, 1500),
    ];
    assert_eq!(numbers(&config, &arrivals), [0, 1, 2, 3, 4]);
}

#[test]
fn a_limit_in_bdp_stays_that_of_the_highest_rate() {
    let mut config = shaped_by(ShaperConfig::Steps {
        steps: vec![step(0, Some(RATE / 2)), step(5, Some(RATE)), step(6, None)],
    });
    config.queue.limit = QueueLimit::Bdp {
        multiple: 2.0,
        base_rtt_ns: Nanos(MS),
    };
    assert_eq!(numbers(&config, &[(0, 1500); 5]), [0, 1, 2]);
}

fn step(at_ms: i64, rate_bit_s: Option<u64>) -> RateStep {
    RateStep {
        at_ns: Time(at_ms * MS),
        rate_bit_s,
    }
}

#[test]
fn a_rate_that_steps_in_mid_packet_applies_to_what_remains_of_it() {
    let config = shaped_by(ShaperConfig::Steps {
        steps: vec![
            step(0, Some(RATE)),
            step(2, Some(RATE / 4)),
            step(6, Some(2 * RATE)),
        ],
    });
    // 3000 bytes: 1 ms of the old rate gives 1500, the rest takes 4 ms; the next is at the third rate.
    assert_eq!(times(&config, &[(1, 3000), (1, 1500)]), [6.0, 6.5]);
}

#[test]
fn a_rate_of_zero_holds_what_is_in_service_until_the_next_step() {
    let config = shaped_by(ShaperConfig::Steps {
        steps: vec![step(0, Some(RATE)), step(1, Some(0)), step(5, None)],
    });
    assert_eq!(times(&config, &[(0, 3000), (0, 1500)]), [5.0, 5.0]);
}

#[test]
fn a_rate_of_zero_for_good_lets_nothing_out_and_says_so() {
    let config = shaped_by(ShaperConfig::Steps {
        steps: vec![step(0, Some(0))],
    });
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::new(0, 1500));
    assert_eq!(pipe.next_time(), None);
    assert_eq!(drain(&mut pipe), []);
    assert_eq!(pipe.totals().held.packets, 1);
}

#[test]
fn a_token_bucket_lets_its_burst_go_at_once_and_then_its_rate() {
    let config = shaped_by(ShaperConfig::TokenBucket {
        rate_bit_s: RATE,
        burst_bytes: 4500,
        peak_bit_s: None,
    });
    let arrivals = [
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 750),
        (10, 1500),
    ];
    assert_eq!(times(&config, &arrivals), [0.0, 0.0, 0.0, 1.0, 1.5, 10.0]);
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    let config = shaped_by(ShaperConfig::TokenBucket {
        rate_bit_s: RATE,
        burst_bytes: 4500,
        peak_bit_s: Some(2 * RATE),
    });
    // By the peak one each 0.5 ms after the first. By the rate the tokens for the n-th (from 0) are there at n - 2 ms.
    let arrivals = [(0, 1500); 7];
    assert_eq!(
        times(&config, &arrivals),
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
    );
}

#[test]
fn mahimahi_opportunities_are_shared_by_small_packets_and_joined_by_large_ones() {
    let config = shaped_by(ShaperConfig::Trace {
        opportunities_ns: [2, 4, 4, 6].map(|ms| Nanos(ms * MS)).to_vec(),
    });
    // 2: 500 + 500 and 500 of the third; 4: its other 500, then 1000 of 2000; 4: the other 1000; the rest of it is
    // used by the last 400.
    let arrivals = [(0, 500), (0, 500), (0, 1000), (0, 2000), (0, 400)];
    assert_eq!(times(&config, &arrivals), [2.0, 2.0, 4.0, 4.0, 4.0]);
}

#[test]
fn mahimahi_traces_begin_at_time_zero_and_repeat_with_their_last_entry() {
    let config = shaped_by(ShaperConfig::Trace {
        opportunities_ns: vec![Nanos(MS), Nanos(5 * MS)],
    });
    // Opportunities at 1, 5, 6, 10, 11 ...; and -4, 0 before. One at the arrival's own instant is missed.
    let arrivals = [(-7, 1500), (-5, 1500), (5, 1500), (5, 1500), (23, 1500)];
    assert_eq!(times(&config, &arrivals), [-5.0, -4.0, 6.0, 10.0, 25.0]);
}

#[test]
fn a_trace_holds_packets_in_the_queue_until_their_opportunity() {
    let mut config = shaped_by(ShaperConfig::Trace {
        opportunities_ns: vec![Nanos(10 * MS)],
    });
    config.queue.limit = QueueLimit::Packets { packets: 1 };
    assert_eq!(departures(&config, &[(0, 1500), (1, 1500)]), [(10.0, 0)]);
}

#[test]
fn the_line_counts_only_what_is_on_it_now() {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(5 * MS);
    config.propagation.limit = LineLimit::Packets { packets: 2 };
    let arrivals = [(0, 100), (1, 100), (2, 100), (5, 100), (5, 100), (6, 100)];
    assert_eq!(numbers(&config, &arrivals), [0, 1, 3, 5]);
    config.propagation.limit = LineLimit::Bytes { bytes: 250 };
    assert_eq!(numbers(&config, &arrivals), [0, 1, 3, 5]);
}

#[test]
fn a_packet_leaves_the_line_before_another_enters_it_at_the_same_instant() {
    let mut config = fixed(QueueLimit::Unlimited, 1);
    config.propagation.limit = LineLimit::Packets { packets: 1 };
    assert_eq!(times(&config, &[(0, 1500); 4]), [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_packet_that_would_leave_during_an_outage_is_lost() {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(5 * MS);
    config.channel.outages = vec![Outage {
        start_ns: Time(10 * MS),
        length_ns: Nanos(2 * MS),
    }];
    let arrivals = [(4, 100), (5, 100), (6, 100), (7, 100), (11, 100)];
    assert_eq!(numbers(&config, &arrivals), [0, 3, 4]);
}

#[test]
fn outages_may_overlap_and_stand_in_any_order() {
    let mut config = PipeConfig::default();
    let outage = |start_ms, length_ms| Outage {
        start_ns: Time(start_ms * MS),
        length_ns: Nanos(length_ms * MS),
    };
    // 10 to 20 covers 12 to 13; 18 to 22 goes on from it; 2 to 3 stands apart.
    config.channel.outages = vec![outage(12, 1), outage(18, 4), outage(10, 10), outage(2, 1)];
    let arrivals = [1, 2, 3, 9, 10, 12, 15, 19, 21, 22, 30].map(|at_ms| (at_ms, 100));
    assert_eq!(times(&config, &arrivals), [1.0, 3.0, 9.0, 22.0, 30.0]);
}

#[test]
fn what_the_channel_loses_has_used_capacity() {
    let mut config = fixed(QueueLimit::Unlimited, 0);
    config.channel.loss = LossConfig::Trace {
        lost: vec![true, false, false],
    };
    let out = departures(&config, &[(0, 1500); 5]);
    assert_eq!(out, [(2.0, 1), (3.0, 2), (5.0, 4)]);
}

#[test]
fn what_the_ingress_loses_has_not() {
    let mut config = fixed(QueueLimit::Unlimited, 0);
    config.ingress.loss = LossConfig::Trace {
        lost: vec![true, false, false],
    };
    let out = departures(&config, &[(0, 1500); 5]);
    assert_eq!(out, [(1.0, 1), (2.0, 2), (3.0, 4)]);
}

#[test]
fn a_policer_drops_what_is_beyond_its_burst_until_there_are_tokens_again() {
    let mut config = PipeConfig::default();
    config.ingress.policer = Some(PolicerConfig {
        rate_bit_s: RATE,
        burst_bytes: 3000,
    });
    let arrivals = [(0, 1500), (0, 1500), (0, 1), (1, 1500), (1, 1)];
    assert_eq!(numbers(&config, &arrivals), [0, 1, 3]);
}

#[test]
fn a_duplicate_leaves_right_behind_its_twin() {
    let mut config = fixed(QueueLimit::Unlimited, 2);
    config.channel.duplicate = 1.0;
    let out = departures(&config, &[(0, 1500), (0, 1500)]);
    assert_eq!(out, [(3.0, 0), (3.0, 0), (4.0, 1), (4.0, 1)]);
}

#[test]
fn a_corrupted_packet_is_delivered_with_a_flipped_bit() {
    let mut config = PipeConfig::default();
    config.channel.corrupt = 1.0;
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::new(0, 100));
    assert!(drain(&mut pipe)[0].1.corrupted);
    assert_eq!(pipe.totals().corrupted_packets, 1);
}

#[test]
fn a_late_arrival_is_taken_as_arriving_at_the_present() {
    let mut pipe = pipe(&fixed(QueueLimit::Unlimited, 0));
    pipe.push(Time(5 * MS), Parcel::new(0, 1500));
    pipe.push(Time(3 * MS), Parcel::new(1, 1500));
    let times: Vec<_> = drain(&mut pipe).iter().map(|it| it.0.0 / MS).collect();
    assert_eq!(times, [6, 7]);
}
