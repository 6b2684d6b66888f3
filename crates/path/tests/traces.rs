//! Traces by hand: small cases whose every departure was worked out on paper.

mod common;

use bentpipe_path::config::{QueueLimit, ShaperConfig};
use bentpipe_path::{DropCause, PipeConfig, Time};
use common::{Parcel, drain, pipe};

/// 1500 bytes in 1 ms.
const RATE: u64 = 12_000_000;
const MS: i64 = 1_000_000;

fn fixed(limit: QueueLimit, delay_ms: i64) -> PipeConfig {
    let mut config = PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s: RATE },
        ..PipeConfig::default()
    };
    config.queue.limit = limit;
    config.propagation.delay_ns.0 = delay_ms * MS;
    config
}

#[test]
fn each_packet_takes_its_serialisation_time_and_the_delay() {
    let mut pipe = pipe(&fixed(QueueLimit::Unlimited, 10));
    for id in 0..3 {
        pipe.push(Time::ZERO, Parcel::new(id, 1500));
    }
    let times: Vec<_> = drain(&mut pipe).iter().map(|it| it.0.0 / MS).collect();
    assert_eq!(times, [11, 12, 13]);
}

#[test]
fn a_queue_of_no_packets_still_lets_an_arrival_to_an_idle_server_pass() {
    let mut pipe = pipe(&fixed(QueueLimit::Packets { packets: 0 }, 0));
    pipe.push(Time::ZERO, Parcel::new(0, 1500));
    pipe.push(Time(1), Parcel::new(1, 1500));
    pipe.push(Time(MS), Parcel::new(2, 1500));
    let out: Vec<_> = drain(&mut pipe).iter().map(|it| it.1.id).collect();
    assert_eq!(out, [0, 2]);
    assert_eq!(pipe.totals().dropped_by(DropCause::Tail).packets, 1);
}
