//! The limits of QUIC and of its implementation that a long lossy path meets, and those of the carrier's own queues.

use crate::net::{MS, Net, Path, SECOND, Side, controls, datagrams, numbered, seeded};
use bentpipe_carrier::quic::Config;
use bentpipe_carrier::{Event, SendError};
use std::collections::BTreeSet;

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
fn reordering_within_128_packets_is_no_loss() {
    let path = Path {
        jitter: 20 * MS,
        ..Path::geo()
    };
    let mut net = Net::connected(path, &seeded());
    let peer = net.peer(Side::Near).unwrap();
    let before = net.near.statistics(peer).unwrap();
    // Up to 80 packets are overtaken.
    for number in 0..4000 {
        net.send_datagram(Side::Near, &numbered(number, 1100))
            .unwrap();
        net.run(MS / 4);
    }
    net.run(5 * SECOND);
    let after = net.near.statistics(peer).unwrap();
    assert!(after.packets_sent >= before.packets_sent + 4000);
    assert_eq!(after.packets_lost, before.packets_lost);
    let mut arrived = datagrams(&net.take(Side::Far));
    assert!(!arrived.is_sorted());
    arrived.sort_unstable();
    assert_eq!(arrived, (0..4000).collect::<Vec<_>>());
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
    // 50,000 messages a second, half of the packets lost: without `WRITE_EVERY` noq-proto ends the connection.
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
fn without_a_search_losses_never_change_the_longest_datagram() {
    for certain_udp_payload in [1200, 1452] {
        let config = Config {
            certain_udp_payload,
            seed: Some(1),
            ..Config::default()
        };
        let mut net = Net::connected(
            Path {
                loss: 0.05,
                ..Path::geo()
            },
            &config,
        );
        net.take(Side::Near);
        let length = net.near.max_datagram(net.peer(Side::Near).unwrap());
        assert_eq!(length, config.certain_datagram());
        // 16 Mbit/s for 30 s: with a search it falls back.
        for number in 0..40_000 {
            net.send_datagram(Side::Near, &numbered(number, length))
                .unwrap();
            net.run(MS * 3 / 4);
        }
        assert_eq!(net.take(Side::Near), []);
    }
}

#[test]
fn datagrams_that_are_too_long_for_a_new_path_are_dropped_and_counted_and_do_not_hold_up_the_others()
 {
    // The near end moves while the far end's queue is full of long datagrams that its socket did not take.
    let mut net = Net::connected(Path::geo(), &seeded());
    let peer = net.peer(Side::Far).unwrap();
    let length = net.far.max_datagram(peer);
    let mut waiting = 0;
    // A short one ends a batch, so that the others stay in noq-proto's queue.
    let length_of = |number| if number == 0 { 100 } else { length };
    while net
        .send_datagram(Side::Far, &numbered(waiting, length_of(waiting)))
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
