//! The meter's bins by hand, and goodput against the plain definition of it.

use crate::common::{MS, Parcel, drain, fixed, pipe, shaped_by};
use bentpipe_path::config::{LossConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Bin, DropCause, FlowKey, Goodput, Nanos, PipeConfig, SequenceRange, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * expected.abs().max(1.0)
}

#[test]
fn a_bins_queue_is_weighted_by_time_and_its_delay_by_packets() {
    let mut pipe = pipe(&fixed(QueueLimit::Packets { packets: 2 }, 0));
    for id in 0..4 {
        pipe.push(Time(10 * MS), Parcel::new(id, 1500));
    }
    while pipe.pop(Time(100 * MS)).is_some() {}
    let bins: Vec<_> = pipe.take_bins().collect();
    // 3000 bytes wait for 1 ms, then 1500 for 1 ms; delays are 0, 1 and 2 ms; the fourth finds no place.
    let [bin] = &bins[..] else {
        panic!("one bin is whole: {bins:?}");
    };
    assert_eq!(bin.start, Time::ZERO);
    assert!(
        close(bin.queue_bytes_mean, 45.0),
        "{}",
        bin.queue_bytes_mean
    );
    assert_eq!((bin.queue_bytes_max, bin.queue_bytes_end), (3000, 0));
    assert!(close(bin.queue_delay_s_mean.expect("three left"), 0.001));
    assert!(close(bin.queue_delay_s_max.expect("three left"), 0.002));
    assert_eq!((bin.offered_packets, bin.offered_bytes), (4, 6000));
    assert_eq!((bin.throughput_packets, bin.throughput_bytes), (3, 4500));
    assert_eq!(bin.drops_by(DropCause::Tail), 1);
}

#[test]
fn bins_are_multiples_of_their_width_and_may_lie_before_time_zero() {
    let mut pipe = pipe(&PipeConfig::default());
    pipe.push(Time(-150 * MS), Parcel::new(0, 100));
    pipe.push(Time(100 * MS), Parcel::new(1, 100));
    pipe.finish(Time(130 * MS));
    let starts: Vec<_> = pipe.take_bins().map(|bin| bin.start.0 / MS).collect();
    assert_eq!(starts, [-200, -100, 0, 100]);
}

#[test]
fn a_packet_is_counted_in_the_bin_of_its_own_departure_however_late_anyone_asks() {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(150 * MS);
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::new(0, 100));
    pipe.push(Time(900 * MS), Parcel::new(1, 100));
    let bins: Vec<_> = pipe.take_bins().collect();
    let left: Vec<_> = bins.iter().map(|bin| bin.throughput_packets).collect();
    assert_eq!(left, [0, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_queue_that_stands_over_bins_is_in_each_of_them() {
    let config = shaped_by(ShaperConfig::Fixed { rate_bit_s: 40_000 });
    let mut pipe = pipe(&config);
    pipe.push(Time::ZERO, Parcel::new(0, 1500));
    pipe.push(Time::ZERO, Parcel::new(1, 1500));
    pipe.finish(Time(250 * MS));
    let bins: Vec<Bin> = pipe.take_bins().collect();
    assert_eq!(bins.len(), 3);
    for bin in &bins {
        assert!(close(bin.queue_bytes_mean, 1500.0), "{bin:?}");
        assert_eq!((bin.queue_bytes_max, bin.queue_bytes_end), (1500, 1500));
    }
}

#[test]
fn draining_with_never_leaves_the_present_at_the_last_event() {
    let mut pipe = pipe(&fixed(QueueLimit::Unlimited, 0));
    pipe.push(Time::ZERO, Parcel::new(0, 1500));
    assert_eq!(drain(&mut pipe).len(), 1);
    assert_eq!(pipe.take_bins().len(), 0);
    pipe.finish(Time(2 * MS));
    assert_eq!(pipe.take_bins().len(), 1);
}

fn segment(seq: u32, payload_bytes: u32) -> SequenceRange {
    SequenceRange {
        seq,
        payload_bytes,
        syn: false,
    }
}

fn syn(seq: u32) -> SequenceRange {
    SequenceRange {
        seq,
        payload_bytes: 0,
        syn: true,
    }
}

/// What each segment of one flow counts for.
fn counts(segments: &[SequenceRange]) -> Vec<u32> {
    let mut goodput = Goodput::new();
    let count = |&segment| goodput.count(Time::ZERO, FlowKey(1), segment);
    segments.iter().map(count).collect()
}

#[test]
fn a_retransmission_counts_only_for_what_was_not_seen() {
    let segments = [segment(1000, 100), segment(1000, 100), segment(1050, 100)];
    assert_eq!(counts(&segments), [100, 0, 50]);
}

#[test]
fn a_hole_counts_when_it_is_filled() {
    let segments = [
        segment(0, 100),
        segment(200, 100),
        segment(400, 100),
        segment(50, 400),
        segment(0, 500),
    ];
    assert_eq!(counts(&segments), [100, 100, 100, 200, 0]);
}

#[test]
fn a_segment_may_span_several_islands() {
    let segments = [
        segment(0, 10),
        segment(20, 10),
        segment(40, 10),
        segment(60, 10),
        segment(15, 60),
        segment(5, 20),
    ];
    assert_eq!(counts(&segments), [10, 10, 10, 10, 30, 5]);
}

#[test]
fn sequence_numbers_may_wrap_around() {
    let segments = [
        segment(u32::MAX - 49, 100),
        segment(150, 100),
        segment(50, 100),
        segment(u32::MAX - 49, 300),
    ];
    assert_eq!(counts(&segments), [100, 100, 100, 0]);
}

#[test]
fn a_syn_opens_a_new_sequence_space_but_its_repetition_does_not() {
    let segments = [
        syn(1000),
        segment(1000, 100),
        syn(1000),
        segment(1000, 100),
        syn(1050),
        segment(1050, 100),
    ];
    assert_eq!(counts(&segments), [0, 100, 0, 0, 0, 100]);
}

#[test]
fn a_jump_beyond_the_largest_window_begins_a_new_space() {
    let far = (1 << 30) + 200;
    let segments = [
        segment(0, 100),
        segment(far, 100),
        segment(far + 50, 100),
        segment(0, 100),
    ];
    assert_eq!(counts(&segments), [100, 100, 50, 100]);
}

#[test]
fn acknowledgements_open_no_flow() {
    let mut goodput = Goodput::new();
    assert_eq!(goodput.count(Time::ZERO, FlowKey(1), segment(7, 0)), 0);
    assert_eq!(goodput.flows(), 0);
}

#[test]
fn flows_that_fell_silent_are_forgotten() {
    let mut goodput = Goodput::new();
    let mut most = 0;
    // 10 new flows a second, each of one segment, for an hour.
    for flow in 0..36_000_u64 {
        let now = Time(flow as i64 * 100 * MS);
        assert_eq!(goodput.count(now, FlowKey(flow), segment(0, 100)), 100);
        most = most.max(goodput.flows());
    }
    // 1200 were active in the last two minutes; twice that before it is worth looking.
    assert!(most <= 2_500, "{most}");
}

#[test]
fn a_flow_that_goes_on_is_not_forgotten_among_many() {
    let mut goodput = Goodput::new();
    for flow in 1..20_000_u64 {
        let now = Time(flow as i64 * 100 * MS);
        let lasting = segment((flow as u32 - 1) * 10, 10);
        assert_eq!(goodput.count(now, FlowKey(0), lasting), 10);
        assert_eq!(goodput.count(now, FlowKey(flow), segment(0, 100)), 100);
        assert_eq!(goodput.count(now, FlowKey(0), lasting), 0);
    }
}

#[test]
fn what_is_lost_or_corrupted_gives_no_goodput_and_a_duplicate_gives_it_once() {
    let goodput_of = |config: &PipeConfig| {
        let mut pipe = pipe(config);
        for id in 0..10_u32 {
            let mut parcel = Parcel::new(u64::from(id), 1500);
            parcel.segment = Some(segment(id * 1460, 1460));
            pipe.push(Time::ZERO, parcel);
        }
        pipe.finish(Time(10 * MS));
        pipe.take_bins().map(|bin| bin.goodput_bytes).sum::<u64>()
    };
    let mut config = PipeConfig::default();
    assert_eq!(goodput_of(&config), 14_600);
    config.channel.duplicate = 1.0;
    assert_eq!(goodput_of(&config), 14_600);
    config.channel.loss = LossConfig::Trace {
        lost: vec![true, false],
    };
    assert_eq!(goodput_of(&config), 7_300);
    config.channel.corrupt = 1.0;
    assert_eq!(goodput_of(&config), 0);
}

proptest! {
    #[test]
    fn goodput_is_the_number_of_bytes_not_seen_before(
        isn in prop_oneof![any::<u32>(), (u32::MAX - 600)..u32::MAX],
        // Segments of several flows around a window that moves on.
        segments in vec((0..3_u64, 0..400_u64, 0..60_u32), 1..150),
    ) {
        let mut goodput = Goodput::new();
        let mut seen = HashSet::new();
        for flow in 0..3 {
            goodput.count(Time::ZERO, FlowKey(flow), syn(isn));
        }
        for (moved, &(flow, offset, bytes)) in (0..).step_by(4).zip(&segments) {
            let from = moved + offset;
            let fresh = (from..from + u64::from(bytes)).filter(|&at| seen.insert((flow, at))).count();
            let seq = isn.wrapping_add(from as u32);
            prop_assert_eq!(goodput.count(Time::ZERO, FlowKey(flow), segment(seq, bytes)) as usize, fresh);
        }
    }
}
