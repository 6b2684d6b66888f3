//! Datagrams and control messages: what arrives, in which order, and what a sender is told.

use crate::net::{
    MS, NEAR, Net, Path, SECOND, Side, controls, datagrams, number, numbered, seeded,
};
use bentpipe_carrier::quic::Config;
use bentpipe_carrier::{Event, SendError};
use std::collections::BTreeSet;

/// In each direction of the test with loss.
const DATAGRAMS: u32 = 10_000;

#[test]
fn at_5_percent_loss_control_arrives_whole_and_in_order_and_datagrams_as_the_path_lets_them() {
    let path = Path {
        loss: 0.05,
        jitter: 20 * MS,
        duplicates: 0.02,
        ..Path::geo()
    };
    let mut net = Net::connected(path, &seeded());
    for round in 0..DATAGRAMS {
        for side in [Side::Near, Side::Far] {
            net.send_datagram(side, &numbered(round, 1100)).unwrap();
            if round % 10 == 0 {
                net.send_control(side, &numbered(round / 10, 4 + round as usize % 3000))
                    .unwrap();
            }
        }
        net.run(MS);
    }
    net.run(10 * SECOND);
    for side in [Side::Near, Side::Far] {
        let events = net.take(side);
        assert_eq!(controls(&events), (0..DATAGRAMS / 10).collect::<Vec<_>>());
        let arrived = datagrams(&events);
        let distinct: BTreeSet<_> = arrived.iter().collect();
        assert_eq!(arrived.len(), distinct.len(), "QUIC removes duplicates");
        let share = arrived.len() as f64 / f64::from(DATAGRAMS);
        assert!((0.94..0.96).contains(&share), "{share}");
        assert!(net.why(side).is_none());
    }
}

#[test]
fn the_congestion_control_never_limits_at_5_percent_loss_and_600_ms() {
    let path = Path {
        loss: 0.05,
        delay: 300 * MS,
        ..Path::geo()
    };
    // Where the MTU is known, losses are not taken for its reduction.
    let config = Config {
        certain_udp_payload: 1452,
        ..seeded()
    };
    let mut net = Net::connected(path, &config);
    let length = net.near.max_datagram(net.peer(Side::Near).unwrap());
    // 450 Mbit/s: 34 MB are under way. Everything that is given leaves at once, whatever was lost.
    for round in 0..3000u32 {
        for part in 0..40 {
            net.send_datagram(Side::Near, &numbered(round * 40 + part, length))
                .unwrap();
        }
        let before = net.sent_packets[0];
        net.pump();
        assert!(net.sent_packets[0] - before >= 40, "{round}");
        net.run(MS);
        net.events[1].clear();
    }
    let peer = net.peer(Side::Near).unwrap();
    let statistics = net.near.statistics(peer).unwrap();
    let lost = statistics.packets_lost as f64 / statistics.packets_sent as f64;
    assert!((0.03..0.06).contains(&lost), "{statistics:?}");
}

#[test]
fn control_moves_while_the_queue_of_datagrams_is_kept_full() {
    let mut net = Net::connected(Path::geo(), &seeded());
    // A socket that takes one batch in a millisecond, and a session that fills up the queue after every packet.
    let length = net.near.max_datagram(net.peer(Side::Near).unwrap());
    let mut next = 0;
    let mut fill = |net: &mut Net| {
        while net
            .send_datagram(Side::Near, &numbered(next, length))
            .is_ok()
        {
            next += 1;
        }
    };
    for round in 0..10_000u32 {
        fill(&mut net);
        if round % 1000 == 0 {
            net.send_control(Side::Near, &numbered(round / 1000, 300))
                .unwrap();
        }
        net.transmit_one(Side::Near);
        fill(&mut net);
        net.blocked = vec![Side::Near];
        net.run(MS);
        net.blocked.clear();
    }
    net.run(2 * SECOND);
    let events = net.take(Side::Far);
    assert_eq!(controls(&events), (0..10).collect::<Vec<_>>());
    // Each arrived before the datagrams that were given to the carrier a queue's length later.
    let mut seen = 0u32;
    for event in &events {
        match event {
            Event::Datagram(body) => seen = number(body),
            Event::Control(body) => {
                let given_at = number(body) * 1000 * 10;
                assert!(
                    seen <= given_at + 2 * 64 * 1024 / 1300 * 10,
                    "{seen} {given_at}"
                );
            }
            _ => {}
        }
    }
    assert!(
        datagrams(&events).len() > 50_000,
        "{}",
        datagrams(&events).len()
    );
}

#[test]
fn messages_of_impossible_lengths_are_refused() {
    let mut net = Net::connected(Path::geo(), &seeded());
    assert_eq!(
        net.send_control(Side::Near, &[]),
        Err(SendError::Length { most: 16384 })
    );
    assert_eq!(
        net.send_control(Side::Near, &vec![0; 16385]),
        Err(SendError::Length { most: 16384 })
    );
    assert!(matches!(
        net.send_datagram(Side::Near, &[]),
        Err(SendError::Length { .. })
    ));
    net.send_control(Side::Near, &[7; 16384]).unwrap();
    net.run(SECOND);
    assert!(
        net.take(Side::Far)
            .contains(&Event::Control(vec![7; 16384].into()))
    );
}

#[test]
fn both_ends_may_speak_first_and_a_close_brings_its_code_and_reason() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.send_control(Side::Far, b"far first").unwrap();
    net.run(SECOND);
    assert!(
        net.take(Side::Near)
            .contains(&Event::Control("far first".into()))
    );
    let peer = net.peer(Side::Far).unwrap();
    let now = net.now;
    net.far.close(now, peer, 42, &"going down ".repeat(100));
    assert_eq!(
        net.far.send_datagram(peer, b"x"),
        Err(SendError::NotConnected)
    );
    net.run(SECOND);
    let Some(bentpipe_carrier::Why::Peer { code, reason }) = net.why(Side::Near) else {
        panic!("{:?}", net.why(Side::Near))
    };
    assert_eq!((code, reason.len()), (42, 256));
    assert_eq!(net.why(Side::Far), Some(bentpipe_carrier::Why::Local));
    assert_eq!(
        net.send_control(Side::Near, b"x"),
        Err(SendError::NotConnected)
    );
    net.run(30 * SECOND);
    assert_eq!(
        (net.near.peers().count(), net.far.peers().count()),
        (0, 0),
        "nothing is kept"
    );
}

#[test]
fn many_datagrams_of_one_length_leave_in_one_transmit() {
    let mut net = Net::connected(Path::geo(), &seeded());
    let peer = net.peer(Side::Near).unwrap();
    for length in [1100, net.near.max_datagram(peer)] {
        for number in 0..30 {
            net.send_datagram(Side::Near, &numbered(number, length))
                .unwrap();
        }
        let now = net.now;
        let mut buffer = Vec::new();
        let mut batches = Vec::new();
        while let Some(transmit) = net.near.poll_transmit(now, &mut buffer) {
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            batches.push(transmit.size.div_ceil(segment));
        }
        assert!(batches.len() <= 4, "{batches:?}");
        net.run(SECOND);
    }
}

#[test]
fn a_receiver_acknowledges_seldom() {
    let mut net = Net::connected(
        Path {
            jitter: 10 * MS,
            ..Path::geo()
        },
        &seeded(),
    );
    net.sent_packets = [0; 2];
    // 16 Mbit/s for 10 s, then 160 Mbit/s for 1 s.
    for number in 0..13_330 {
        net.send_datagram(Side::Near, &numbered(number, 1162))
            .unwrap();
        net.run(MS * 3 / 4);
    }
    let acknowledgements = net.sent_packets[1];
    assert!(
        (300..450).contains(&acknowledgements),
        "{acknowledgements} in 10 s"
    );
    net.run(SECOND);
    net.sent_packets = [0; 2];
    for number in 0..13_330 {
        net.send_datagram(Side::Near, &numbered(number, 1162))
            .unwrap();
        net.run(MS * 3 / 40);
    }
    let acknowledgements = net.sent_packets[1];
    assert!(
        acknowledgements < 13_330 / 64 + 50,
        "{acknowledgements} in 1 s"
    );
}

/// What a driver does without a copy: datagrams are written one behind the other, and packets that came together are handed over together.
#[test]
fn datagrams_that_are_written_together_leave_in_whole_transmits_and_arrive_together() {
    const SEGMENTS: usize = 20;
    let config = Config {
        certain_udp_payload: 1452,
        largest_udp_payload: 1452,
        most_segments: SEGMENTS,
        ..seeded()
    };
    let mut net = Net::connected(Path::geo(), &config);
    let (peer, now) = (net.peer(Side::Near).unwrap(), net.now);
    let from = NEAR.parse().unwrap();
    let (mut next, mut transmits) = (0, 0);
    let mut packets = Vec::new();
    for _ in 0..3 {
        let first = next;
        let written = net.near.send_datagrams(peer, |out| {
            out.extend_from_slice(&numbered(next, 1400));
            next += 1;
            true
        });
        assert_eq!((written.taken, written.refused), (2 * SEGMENTS, 0));
        assert_eq!(next - first, 2 * SEGMENTS as u32);
        assert_eq!(
            net.near.send_datagram(peer, &[1; 1400]),
            Err(SendError::Full)
        );
        while let Some(transmit) = net.near.poll_transmit(now, &mut packets) {
            let segment = transmit.segment_size.expect("several packets");
            assert_eq!(packets.len().div_ceil(segment), SEGMENTS);
            let packets = packets[..].into();
            net.far
                .handle_packets(now, from, None, None, packets, segment);
            transmits += 1;
        }
    }
    net.run(MS);
    assert_eq!(transmits, 6);
    let arrived = datagrams(&net.take(Side::Far));
    assert_eq!(arrived, (0..next).collect::<Vec<_>>());
}

#[test]
fn of_datagrams_that_are_written_together_those_of_a_wrong_length_are_left_out() {
    let mut net = Net::connected(Path::geo(), &seeded());
    let peer = net.peer(Side::Near).unwrap();
    let longest = net.near.max_datagram(peer);
    let mut lengths = [longest, 0, longest + 1, 7].into_iter();
    let written = net.near.send_datagrams(peer, |out| {
        let length = lengths.next();
        out.resize(out.len() + length.unwrap_or(0), 3);
        length.is_some()
    });
    assert_eq!((written.taken, written.refused), (2, 2));
    net.run(SECOND);
    let events = net.take(Side::Far);
    let arrived: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Datagram(body) => Some(body.len()),
            _ => None,
        })
        .collect();
    assert_eq!(arrived, [longest, 7]);
    // Without a connection nobody is asked for any.
    net.near.close(net.now, peer, 0, "");
    let written = net
        .near
        .send_datagrams(peer, |_| panic!("nothing can be sent"));
    assert_eq!((written.taken, written.refused), (0, 0));
}
