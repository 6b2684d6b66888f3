//! Datagrams and control messages: what arrives, in which order, and what a sender is told.

use crate::net::{MS, Net, Path, SECOND, Side, seeded};
use bentpipe_carrier::quic::Config;
use bentpipe_carrier::{Event, SendError};
use std::collections::BTreeSet;

/// In each direction of the test with loss.
const DATAGRAMS: u32 = 10_000;

fn numbered(number: u32, bytes: usize) -> Vec<u8> {
    let mut body = number.to_be_bytes().to_vec();
    body.resize(bytes, 0x55);
    body
}

fn number(body: &[u8]) -> u32 {
    u32::from_be_bytes(body[..4].try_into().unwrap())
}

fn datagrams(events: &[Event]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Datagram(body) => Some(number(body)),
            _ => None,
        })
        .collect()
}

fn controls(events: &[Event]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Control(body) => Some(number(body)),
            _ => None,
        })
        .collect()
}

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
fn what_may_be_in_flight_is_bounded_and_the_sender_is_told() {
    let mut net = Net::connected(
        Path::geo(),
        &Config {
            most_in_flight_bytes: 1_000_000,
            ..seeded()
        },
    );
    net.path.open = false;
    let mut taken = 0;
    for round in 0..2000 {
        taken += usize::from(
            net.send_datagram(Side::Near, &numbered(round, 1400))
                .is_ok(),
        );
        net.pump();
    }
    assert!((700..770).contains(&taken), "{taken}");
    assert_eq!(
        net.send_datagram(Side::Near, &[0; 1400]),
        Err(SendError::Full)
    );
    net.events[0].clear();
    net.path.open = true;
    net.run(5 * SECOND);
    assert!(net.take(Side::Near).contains(&Event::Writable));
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
fn reordering_by_more_than_128_packets_costs_only_the_packets_that_came_late() {
    let mut net = Net::connected(Path::geo(), &seeded());
    // A handover to a path that is 100 ms shorter: at 1 packet in 0.1 ms, 1000 packets are overtaken.
    let mut sent = 0;
    for step in 0..40 {
        if step == 20 {
            net.path.delay = 175 * MS;
        }
        for _ in 0..10 {
            for _ in 0..10 {
                net.send_datagram(Side::Near, &numbered(sent, 1100))
                    .unwrap();
                sent += 1;
            }
            net.run(MS);
        }
        net.send_control(Side::Near, &numbered(step, 50)).unwrap();
    }
    net.run(5 * SECOND);
    let events = net.take(Side::Far);
    assert_eq!(net.why(Side::Far), None);
    let arrived: BTreeSet<_> = datagrams(&events).into_iter().collect();
    let missing = sent as usize - arrived.len();
    // Those that were overtaken by more than 128 are outside the window for duplicates, and discarded.
    assert!((500..=1000).contains(&missing), "{missing}");
    assert!(
        (0..900)
            .chain(2100..sent)
            .all(|number| arrived.contains(&number))
    );
    assert_eq!(controls(&events), (0..40).collect::<Vec<_>>());
}

#[test]
fn more_than_1024_losses_in_a_round_trip_end_nothing() {
    let path = Path {
        loss: 0.3,
        ..Path::geo()
    };
    let mut net = Net::connected(path, &seeded());
    let mut control = 0;
    for round in 0..2000 {
        for part in 0..20 {
            net.send_datagram(Side::Near, &numbered(round * 20 + part, 1100))
                .unwrap();
        }
        // A control message in every packet's time: as many pieces of the stream as can be.
        if net.send_control(Side::Near, &numbered(control, 20)).is_ok() {
            control += 1;
        }
        net.run(MS);
    }
    net.path.loss = 0.0;
    net.run(10 * SECOND);
    let peer = net.peer(Side::Near).unwrap();
    assert!(net.near.statistics(peer).unwrap().packets_lost > 5 * 1024);
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
    assert_eq!(
        controls(&net.take(Side::Far)),
        (0..control).collect::<Vec<_>>()
    );
}

#[test]
fn control_messages_given_one_by_one_do_not_break_the_stream_into_too_many_pieces() {
    // 50,000 messages a second, half of the packets lost: without `CONTROL_EVERY` noq-proto ends the connection.
    let path = Path {
        loss: 0.5,
        ..Path::geo()
    };
    let mut net = Net::connected(path, &seeded());
    let mut control = 0;
    for _ in 0..2000 {
        for _ in 0..50 {
            if net.send_control(Side::Near, &numbered(control, 4)).is_ok() {
                control += 1;
            }
            net.pump();
            net.now += MS / 50;
        }
        net.run(std::time::Duration::ZERO);
    }
    net.path.loss = 0.0;
    net.run(20 * SECOND);
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
    assert!(control > 30_000, "{control}");
    assert_eq!(
        controls(&net.take(Side::Far)),
        (0..control).collect::<Vec<_>>()
    );
}

#[test]
fn the_longest_datagram_follows_the_path_up_and_down() {
    let mut net = Net::connected(Path::geo(), &seeded());
    let sizes = |net: &mut Net| {
        let events = net.take(Side::Near);
        events
            .into_iter()
            .filter_map(|event| match event {
                Event::MaxDatagram(bytes) => Some(bytes),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let found = *sizes(&mut net).last().expect("the MTU is searched");
    assert_eq!(found, 1452 - 38);
    assert_eq!(
        net.send_datagram(Side::Near, &vec![0; found + 1]),
        Err(SendError::Length { most: found })
    );
    net.send_datagram(Side::Near, &vec![0; found]).unwrap();
    net.run(SECOND);
    assert!(
        net.take(Side::Far)
            .iter()
            .any(|event| matches!(event, Event::Datagram(body) if body.len() == found))
    );
    // The path now takes less. Long packets vanish, and QUIC finds out.
    net.path.mtu = 1250;
    let mut refused = 0;
    for round in 0..2000 {
        let length = if round % 2 == 0 { found } else { 1000 };
        match net.send_datagram(Side::Near, &numbered(round, length)) {
            Ok(()) => {}
            Err(SendError::Length { most }) => {
                assert!(most < found);
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
        net.run(5 * MS);
    }
    let shrunk = sizes(&mut net);
    assert_eq!(shrunk.first(), Some(&1162), "{shrunk:?}");
    assert!(refused > 500);
    assert_eq!(net.why(Side::Near), None);
}

#[test]
fn datagrams_that_are_too_long_for_a_new_path_are_dropped_and_counted_and_do_not_hold_up_the_others()
 {
    // The near end moves while the far end's queue is full of long datagrams that its socket did not take.
    let mut net = Net::connected(Path::geo(), &seeded());
    let peer = net.peer(Side::Far).unwrap();
    let length = net.far.max_datagram(peer);
    let mut waiting = 0;
    while net
        .send_datagram(Side::Far, &numbered(waiting, length))
        .is_ok()
    {
        waiting += 1;
    }
    net.transmit_one(Side::Far);
    net.path.near = "198.51.100.99:1234".parse().unwrap();
    net.path.mtu = 1250;
    net.take(Side::Far);
    let now = net.now;
    net.near.network_changed(now);
    net.blocked = vec![Side::Far];
    net.run(300 * MS);
    net.blocked.clear();
    net.run(3 * SECOND);
    assert_eq!(
        net.take(Side::Far)
            .iter()
            .find(|event| matches!(event, Event::MaxDatagram(_))),
        Some(&Event::MaxDatagram(1162))
    );
    let dropped = net
        .far
        .statistics(peer)
        .unwrap()
        .datagram_bytes_dropped_too_long;
    assert!(
        dropped > 0 && dropped as usize <= waiting as usize * length,
        "{dropped}"
    );
    net.take(Side::Near);
    net.send_datagram(Side::Far, &numbered(77, 1000)).unwrap();
    net.run(SECOND);
    assert_eq!(datagrams(&net.take(Side::Near)), [77]);
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
fn a_receiver_that_does_not_read_control_holds_the_sender_back_and_keeps_little() {
    let config = seeded();
    let mut net = Net::connected(Path::geo(), &config);
    let mut sent = 0u32;
    // The far end's events are not asked for.
    for _ in 0..400 {
        while net.send_control(Side::Near, &numbered(sent, 4000)).is_ok() {
            sent += 1;
        }
        net.near_only(10 * MS);
    }
    // What waits at the sender, is under way, and waits at the receiver: 512 KiB each.
    let most = 3 * config.control_bytes / 4000 + 10;
    assert!((250..most as u32).contains(&sent), "{sent} {most}");
    assert_eq!(
        net.send_control(Side::Near, &[0; 4000]),
        Err(SendError::Full)
    );
    net.take(Side::Near);
    net.run(5 * SECOND);
    assert!(net.take(Side::Near).contains(&Event::Writable));
    assert_eq!(
        controls(&net.take(Side::Far)),
        (0..sent).collect::<Vec<_>>()
    );
}

#[test]
fn datagrams_that_nobody_reads_are_dropped_and_counted() {
    let mut net = Net::connected(
        Path::geo(),
        &Config {
            datagram_receive_bytes: 200_000,
            ..seeded()
        },
    );
    for number in 0..1000 {
        net.send_datagram(Side::Near, &numbered(number, 1000))
            .unwrap();
        net.near_only(MS);
    }
    net.near_only(SECOND);
    net.run(SECOND);
    let peer = net.peer(Side::Far).unwrap();
    let dropped = net.far.statistics(peer).unwrap().datagrams_dropped_unread;
    let arrived = datagrams(&net.take(Side::Far));
    assert_eq!(arrived.len() as u64 + dropped, 1000);
    assert!((170..200).contains(&arrived.len()), "{}", arrived.len());
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
