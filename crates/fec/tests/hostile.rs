//! A receiver that is sent frames that no sender made. In a program of its own: what other tests allocate must not count as its memory.

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_fec::{ExactConfig, ReceiverConfig, ReleaseOrder, TunnelReceiver};

/// Frames of random bytes, whose kinds and numbers are mostly possible.
fn frame(random: &mut SplitMix64, near: u32, out: &mut Vec<u8>) {
    out.clear();
    let kind = match random.draw_below(20) {
        0..9 => 0,
        9 => 1,
        10 => random.draw_below(16),
        _ => 8 + random.draw_below(8),
    };
    let number = match random.draw_below(1000) {
        0 => random.draw_below(1 << 28),
        _ => near.wrapping_add(random.draw_below(300)) & 0x0fff_ffff,
    };
    out.extend((kind << 28 | number).to_be_bytes());
    if kind >= 8 {
        out.extend((random.draw_below(200) as u16).to_be_bytes());
    }
    let rest = random.draw_below(1490);
    for _ in 0..rest.div_ceil(8) {
        out.extend(random.draw().to_be_bytes());
    }
}

fn run(total_bytes: u64, mut at_tenth: impl FnMut(u64)) -> TunnelReceiver {
    let mut receiver = TunnelReceiver::new(ReceiverConfig {
        kept_packets: 400,
        packet_max_bytes: 1500,
        max_unknowns: 100,
        order: ReleaseOrder::InOrder {
            hold: Nanos::from_millis(20),
        },
        exact: Some(ExactConfig {
            patience: Nanos::from_millis(150),
            again: Nanos::from_millis(700),
            tries: 10,
        }),
        report_every: Nanos::from_millis(25),
    });
    let mut random = SplitMix64(1);
    let mut now = Time::ZERO;
    let (mut bytes, mut tenth, mut near) = (0, 0, 0_u32);
    let (mut out, mut report) = (Vec::new(), Vec::new());
    while bytes < total_bytes {
        now += Nanos::from_micros(500);
        near = near.wrapping_add(random.draw_below(4));
        frame(&mut random, near, &mut out);
        bytes += out.len() as u64;
        let _ = receiver.handle(now, &out);
        while let Some(released) = receiver.poll_release(now) {
            assert!(released.packet.len() <= 1500);
        }
        report.clear();
        receiver.poll_transmit(now, &mut report);
        assert!(receiver.deficit() <= 400);
        if bytes * 10 / total_bytes > tenth {
            tenth = bytes * 10 / total_bytes;
            at_tenth(tenth);
        }
    }
    receiver
}

#[test]
fn frames_that_no_sender_made_are_sorted_out_and_counted() {
    let counters = run(20_000_000, |_| {}).counters();
    println!("{counters:?}");
    assert!(counters.corrupt > 0 && counters.malformed > 0 && counters.implausible > 0);
    assert!(counters.sources > 0 && counters.innovative_repairs > 0);
}

/// `cargo test -p bentpipe-fec --test hostile -- --ignored`.
#[test]
#[ignore = "long: a billion bytes"]
fn a_billion_bytes_of_such_frames_do_not_make_the_receiver_grow() {
    let resident_bytes = || {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
        let pages = pages
            .split_whitespace()
            .nth(1)
            .and_then(|it| it.parse::<u64>().ok());
        pages.expect("a number of pages") * 4096
    };
    let mut resident = Vec::new();
    run(1_000_000_000, |_| resident.push(resident_bytes()));
    println!("resident bytes after each tenth: {resident:?}");
    assert!(resident[9] < resident[0] + 1_000_000);
}
