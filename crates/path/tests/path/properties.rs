//! What holds for any pipe and any arrivals.

use crate::common::{self, MS, Parcel, any, drain, pipe, shaped_by};
use bentpipe_path::config::{Discipline, LossConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Count, DropCause, Nanos, Pipe, PipeConfig, Time};
use proptest::collection::vec;
use proptest::prelude::*;

type Arrivals = Vec<(Time, Parcel)>;

/// Asks for nothing until all has arrived.
fn asked_once(config: &PipeConfig, arrivals: &Arrivals) -> (Arrivals, Pipe<Parcel>) {
    let mut pipe = pipe(config);
    for &(at, parcel) in arrivals {
        pipe.push(at, parcel);
    }
    let out = drain(&mut pipe);
    (out, pipe)
}

/// Comes at `polls` and at each arrival.
fn asked_at(config: &PipeConfig, arrivals: &Arrivals, polls: &[i64]) -> (Arrivals, Pipe<Parcel>) {
    let mut pipe = pipe(config);
    let mut out = Vec::new();
    let mut polls = polls.iter().map(|&at| Time(at)).peekable();
    for &(at, parcel) in arrivals {
        while let Some(poll) = polls.next_if(|&poll| poll <= at) {
            out.extend(std::iter::from_fn(|| pipe.pop(poll)));
        }
        pipe.push(at, parcel);
        out.extend(std::iter::from_fn(|| pipe.pop(at)));
    }
    for poll in polls {
        out.extend(std::iter::from_fn(|| pipe.pop(poll)));
    }
    out.extend(drain(&mut pipe));
    (out, pipe)
}

/// Comes at each arrival and at each time that the pipe itself names, as an event loop would.
fn asked_when_due(config: &PipeConfig, arrivals: &Arrivals) -> (Arrivals, Pipe<Parcel>) {
    let mut pipe = pipe(config);
    let mut out = Vec::new();
    let ends = [(Time::NEVER, None)];
    let pushes = arrivals.iter().map(|&(at, parcel)| (at, Some(parcel)));
    for (at, parcel) in pushes.chain(ends) {
        let mut last = Time(i64::MIN);
        while let Some(due) = pipe.next_time().filter(|&due| due <= at) {
            assert!(due > last, "the named time makes progress");
            assert!(
                pipe.pop(Time(due.0 - 1)).is_none(),
                "nothing leaves before it"
            );
            out.extend(std::iter::from_fn(|| pipe.pop(due)));
            last = due;
        }
        if let Some(parcel) = parcel {
            pipe.push(at, parcel);
        }
    }
    (out, pipe)
}

fn conserved(pipe: &Pipe<Parcel>) -> bool {
    let totals = pipe.totals();
    let into: Count = totals.offered + totals.duplicated;
    into == totals.delivered + totals.dropped_in_all() + totals.held
}

fn sum(parcels: &[(Time, Parcel)]) -> Count {
    Count {
        packets: parcels.len() as u64,
        bytes: parcels.iter().map(|it| u64::from(it.1.bytes)).sum(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn packets_and_bytes_are_conserved(config in any::config(), arrivals in any::arrivals()) {
        let mut pipe = pipe(&config);
        let mut out = Vec::new();
        for &(at, parcel) in &arrivals {
            pipe.push(at, parcel);
            prop_assert!(conserved(&pipe));
            out.extend(pipe.pop(at));
        }
        out.extend(drain(&mut pipe));
        prop_assert!(conserved(&pipe));
        prop_assert_eq!(pipe.totals().offered, sum(&arrivals));
        prop_assert_eq!(pipe.totals().delivered, sum(&out));
        prop_assert_eq!(pipe.totals().held, Count::default());
    }

    #[test]
    fn the_bins_add_up_to_the_totals(config in any::config(), arrivals in any::arrivals()) {
        let (_, mut pipe) = asked_once(&config, &arrivals);
        pipe.finish(Time(10_000 * MS));
        let totals = *pipe.totals();
        let bins: Vec<_> = pipe.take_bins().collect();
        let sum = |part: fn(&bentpipe_path::Bin) -> u64| bins.iter().map(part).sum::<u64>();
        prop_assert_eq!(sum(|bin| bin.offered_packets), totals.offered.packets);
        prop_assert_eq!(sum(|bin| bin.offered_bytes), totals.offered.bytes);
        prop_assert_eq!(sum(|bin| bin.throughput_packets), totals.delivered.packets);
        prop_assert_eq!(sum(|bin| bin.throughput_bytes), totals.delivered.bytes);
        prop_assert_eq!(sum(|bin| bin.duplicates), totals.duplicated.packets);
        prop_assert_eq!(sum(|bin| bin.corrupted), totals.corrupted_packets);
        prop_assert_eq!(sum(|bin| bin.marks), totals.marked_packets);
        for cause in DropCause::ALL {
            let dropped: u64 = bins.iter().map(|bin| bin.drops_by(cause)).sum();
            prop_assert_eq!(dropped, totals.dropped_by(cause).packets);
        }
        prop_assert!(bins.windows(2).all(|two| two[1].start - two[0].start == common::BIN));
    }

    #[test]
    fn late_calls_change_nothing(
        config in any::config(),
        arrivals in any::arrivals(),
        mut polls in vec(-10 * MS..500 * MS, 0..60),
    ) {
        polls.sort_unstable();
        let (rarely, mut once) = asked_once(&config, &arrivals);
        let (often, mut many) = asked_at(&config, &arrivals, &polls);
        let (due, mut named) = asked_when_due(&config, &arrivals);
        prop_assert_eq!(&rarely, &often);
        prop_assert_eq!(&rarely, &due);
        prop_assert_eq!(once.totals(), many.totals());
        let end = Time(10_000 * MS);
        let bins = [&mut once, &mut many, &mut named].map(|pipe| {
            pipe.finish(end);
            pipe.take_bins().filter(|bin| bin.offered_packets + bin.throughput_packets > 0).collect::<Vec<_>>()
        });
        prop_assert_eq!(&bins[0], &bins[1]);
        prop_assert_eq!(&bins[0], &bins[2]);
    }

    #[test]
    fn departures_never_go_back_in_time(config in any::config(), arrivals in any::arrivals()) {
        let (out, _) = asked_once(&config, &arrivals);
        prop_assert!(out.windows(2).all(|two| two[0].0 <= two[1].0));
    }

    #[test]
    fn order_is_kept_where_it_is_promised(mut config in any::config(), arrivals in any::arrivals()) {
        if let Some(jitter) = &mut config.propagation.jitter {
            jitter.reorder = false;
        }
        // A repair that waits for room is overtaken.
        config.queue.titration = None;
        let (out, _) = asked_once(&config, &arrivals);
        let fair = matches!(config.queue.discipline, Discipline::FqCodel { .. });
        // Fair queueing promises it within a flow only.
        let ordered = |flow: Option<u64>| {
            let ids: Vec<_> = out.iter().map(|it| it.1).filter(|it| flow.is_none_or(|flow| it.flow == flow)).collect();
            ids.windows(2).all(|two| two[0].id <= two[1].id)
        };
        let kept = if fair { (0..5).all(|flow| ordered(Some(flow))) } else { ordered(None) };
        prop_assert!(kept);
    }

    #[test]
    fn no_packet_leaves_before_the_base_delay_is_over(mut config in any::config(), arrivals in any::arrivals()) {
        config.propagation.jitter = None;
        let (out, _) = asked_once(&config, &arrivals);
        // A handover lengthens the delay or shortens it, by its step at most.
        let step = config.propagation.handover.map_or(0, |handover| handover.step_ns.0);
        let least = Nanos((config.propagation.delay_ns.0 - step).max(0));
        for (left, parcel) in out {
            prop_assert!(left >= arrivals[parcel.id as usize].0 + least);
        }
    }

    #[test]
    fn the_byte_limit_is_never_exceeded(
        mut config in any::config(),
        bytes in 0..20_000_u64,
        arrivals in any::arrivals(),
    ) {
        config.queue.limit = QueueLimit::Bytes { bytes };
        let (_, mut pipe) = asked_once(&config, &arrivals);
        pipe.finish(Time(10_000 * MS));
        prop_assert!(pipe.take_bins().all(|bin| bin.queue_bytes_max <= bytes));
    }

    #[test]
    fn a_fixed_rate_is_never_exceeded_by_more_than_a_packet(
        rate_bit_s in 100_000..100_000_000_u64,
        discipline in any::discipline(),
        arrivals in any::arrivals(),
    ) {
        let mut config = shaped_by(ShaperConfig::Fixed { rate_bit_s });
        config.queue.discipline = discipline;
        let (out, _) = asked_once(&config, &arrivals);
        prop_assert!(never_ahead(&out, rate_bit_s, 1500));
    }

    #[test]
    fn a_token_bucket_is_never_ahead_of_its_rates_by_more_than_their_bursts(
        rate_bit_s in 100_000..100_000_000_u64,
        burst_bytes in 1500..20_000_u64,
        above in 0..100_000_000_u64,
        arrivals in any::arrivals(),
    ) {
        let peak = rate_bit_s + above;
        let config = shaped_by(ShaperConfig::TokenBucket { rate_bit_s, burst_bytes, peak_bit_s: Some(peak) });
        let (out, _) = asked_once(&config, &arrivals);
        prop_assert!(never_ahead(&out, rate_bit_s, burst_bytes));
        prop_assert!(never_ahead(&out, peak, 1500));
    }

    #[test]
    fn a_busy_fixed_rate_is_used_in_full(rate_bit_s in 100_000..1_000_000_000_u64, sizes in vec(1..=1500_u32, 1..100)) {
        let mut pipe = pipe(&shaped_by(ShaperConfig::Fixed { rate_bit_s }));
        for (id, &bytes) in (0..).zip(&sizes) {
            pipe.push(Time::ZERO, Parcel::new(id, bytes));
        }
        let last = drain(&mut pipe).last().expect("all leave").0;
        let bits = sizes.iter().map(|&bytes| u128::from(bytes) * 8).sum::<u128>();
        prop_assert_eq!(last.0 as u128, (bits * 1_000_000_000).div_ceil(u128::from(rate_bit_s)));
    }

    #[test]
    fn adding_a_part_does_not_change_anothers_draws(p in 0.01..0.5, arrivals in any::arrivals()) {
        let mut config = PipeConfig::default();
        config.channel.loss = LossConfig::Bernoulli { p };
        let survivors = |config: &PipeConfig| {
            let mut ids: Vec<_> = asked_once(config, &arrivals).0.iter().map(|it| it.1.id).collect();
            ids.dedup();
            ids
        };
        let alone = survivors(&config);
        config.channel.duplicate = 0.3;
        config.channel.corrupt = 0.3;
        config.ingress.loss = LossConfig::GilbertElliott { p: 0.5, r: 0.5, good: 0.0, bad: 0.0 };
        config.propagation.delay_ns = Nanos(MS);
        prop_assert_eq!(survivors(&config), alone);
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_the_other_direction_another(arrivals in any::arrivals()) {
        let mut config = PipeConfig::default();
        config.channel.loss = LossConfig::Bernoulli { p: 0.5 };
        let run = |seed, place| {
            let mut pipe = Pipe::new(&config, 1500, seed, place, common::BIN).expect("valid");
            for &(at, parcel) in &arrivals {
                pipe.push(at, parcel);
            }
            drain(&mut pipe)
        };
        prop_assert_eq!(run(1, "down"), run(1, "down"));
        if arrivals.len() > 60 {
            prop_assert_ne!(run(1, "down"), run(1, "up"));
            prop_assert_ne!(run(1, "down"), run(2, "down"));
        }
    }
}

/// Whether in no interval from one departure to another more left than the rate gives plus the burst. One byte is
/// granted, since a departure is rounded up to a whole nanosecond.
fn never_ahead(out: &[(Time, Parcel)], rate_bit_s: u64, burst_bytes: u64) -> bool {
    (0..out.len()).all(|first| {
        let mut bytes = 0;
        out[first..].iter().all(|(at, parcel)| {
            bytes += u64::from(parcel.bytes);
            let span = (*at - out[first].0).0 as u128;
            let allowed = span * u128::from(rate_bit_s) / 8_000_000_000 + u128::from(burst_bytes);
            u128::from(bytes) <= allowed + 1
        })
    })
}
