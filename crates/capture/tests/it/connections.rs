//! What a connection's packets say, each case by itself.

use crate::building::{ACK, CLIENT, SERVER, SYN, Tcp, raw, read};
use bentpipe_capture::{Capture, FlowFacts, Vantage};

const MS: i64 = 1_000_000;

fn of_server(capture: &Capture) -> FlowFacts {
    let facts = capture.facts();
    let found = facts.flows.into_iter().find(|it| it.sender_port == 443);
    found.expect("the server sent data")
}

fn kinds(capture: &Capture, side: usize) -> Vec<&'static str> {
    let events = capture.events(0, side);
    let (_, kinds) = &events.texts[0];
    kinds.clone()
}

/// A handshake, by where it is seen: the time to the server and back, and to the client and back.
fn handshake(to_server: i64, to_client: i64) -> Vec<(i64, Tcp)> {
    let syn = Tcp::new(CLIENT, 99, 0, 0).flags(SYN).opening(7);
    let answer = Tcp::new(SERVER, 999, 100, 0).flags(SYN | ACK).opening(5);
    vec![
        (0, syn),
        (to_server, answer),
        (to_server + to_client, Tcp::new(CLIENT, 100, 1000, 0)),
    ]
}

#[test]
fn the_handshake_tells_where_the_capture_was_taken() {
    for (to_server, to_client, expected) in [
        (0, 100 * MS, Vantage::Sender),
        (100 * MS, 0, Vantage::Receiver),
        (60 * MS, 40 * MS, Vantage::Between),
    ] {
        let mut packets = handshake(to_server, to_client);
        packets.push((200 * MS, Tcp::new(SERVER, 1000, 100, 500)));
        let found = of_server(&read(&raw(&packets)));
        assert_eq!(found.vantage, Some(expected));
        assert_eq!(found.handshake_rtt_s, Some(0.1));
        assert_eq!(found.window_shift, Some(7));
        assert!(found.is_window_shift_known);
        assert_eq!(found.mss_bytes, 1460);
    }
}

#[test]
fn what_was_sent_before_a_later_segment_is_reordered_and_what_was_sent_after_it_is_repair() {
    let mut packets = handshake(100 * MS, 0);
    let data =
        |index: u32, time: u32| Tcp::new(SERVER, 1000 + 1000 * index, 100, 1000).times(time, 1);
    packets.extend([
        (200 * MS, data(0, 10)),
        (202 * MS, data(2, 12)),
        (203 * MS, data(1, 11)),
        (204 * MS, data(4, 14)),
        (304 * MS, data(3, 115)),
    ]);
    let capture = read(&raw(&packets));
    let found = of_server(&capture);
    assert_eq!(found.counters.reordered, 1);
    assert_eq!(
        (found.counters.retransmits, found.counters.lost_before),
        (1, 1)
    );
    assert_eq!(kinds(&capture, 1), ["reordering", "retransmission", "loss"]);
}

#[test]
fn without_time_stamps_a_repair_is_told_by_its_coming_a_round_trip_late() {
    let mut packets = handshake(100 * MS, 0);
    let data = |index: u32| Tcp::new(SERVER, 1000 + 1000 * index, 100, 1000);
    packets.extend([
        (200 * MS, data(0)),
        (202 * MS, data(2)),
        (230 * MS, data(1)),
        (231 * MS, data(4)),
        (335 * MS, data(3)),
    ]);
    let found = of_server(&read(&raw(&packets)));
    assert_eq!(
        (found.counters.reordered, found.counters.lost_before),
        (1, 1)
    );
}

#[test]
fn a_segment_that_passes_twice_was_lost_behind_this_point() {
    let mut packets = handshake(0, 100 * MS);
    let data = |index: u32| Tcp::new(SERVER, 1000 + 1000 * index, 100, 1000);
    packets.extend([
        (200 * MS, data(0)),
        (201 * MS, data(1)),
        (202 * MS, data(2)),
        (
            301 * MS,
            Tcp::new(CLIENT, 100, 1000, 0).sack(&[(2000, 3000)]),
        ),
        (
            302 * MS,
            Tcp::new(CLIENT, 100, 1000, 0).sack(&[(2000, 4000)]),
        ),
        (303 * MS, data(0)),
        (403 * MS, Tcp::new(CLIENT, 100, 4000, 0)),
    ]);
    let capture = read(&raw(&packets));
    let found = of_server(&capture);
    assert_eq!(
        (found.counters.lost_after, found.counters.lost_before),
        (1, 0)
    );
    assert_eq!(
        (found.counters.loss_events, found.counters.timeouts),
        (1, 0)
    );
    assert_eq!(found.counters.duplicate_acks, 2);
    assert_eq!(found.delivered_bytes, 3000);
    assert_eq!(kinds(&capture, 1), ["retransmission"]);
}

#[test]
fn a_repair_that_no_acknowledgement_called_for_is_a_timeout_and_a_d_sack_says_that_it_was_not_needed()
 {
    let mut packets = handshake(0, 100 * MS);
    let data = |time: u32| Tcp::new(SERVER, 1000, 100, 1000).times(time, 1);
    packets.extend([
        (200 * MS, data(200)),
        (600 * MS, data(600)),
        (650 * MS, Tcp::new(CLIENT, 100, 2000, 0)),
        (
            701 * MS,
            Tcp::new(CLIENT, 100, 2000, 0).sack(&[(1000, 2000)]),
        ),
    ]);
    let capture = read(&raw(&packets));
    let found = of_server(&capture);
    assert_eq!(
        (found.counters.timeouts, found.counters.duplicate_reports),
        (1, 1)
    );
    assert_eq!(
        kinds(&capture, 1),
        ["retransmission", "timeout", "silence", "duplicate"]
    );
}

#[test]
fn a_closed_window_and_a_pause_of_the_application_are_told_apart() {
    let mut packets = handshake(0, 10 * MS);
    let data = |index: u32| Tcp::new(SERVER, 1000 + 1000 * index, 100, 1000);
    packets.extend([
        (20 * MS, data(0)),
        (30 * MS, Tcp::new(CLIENT, 100, 2000, 0).window(0)),
        (530 * MS, Tcp::new(CLIENT, 100, 2000, 0).window(1000)),
        (530 * MS, data(1)),
        (540 * MS, Tcp::new(CLIENT, 100, 3000, 0).window(1000)),
        (840 * MS, data(2)),
    ]);
    let capture = read(&raw(&packets));
    let found = of_server(&capture);
    assert_eq!(found.counters.zero_windows, 1);
    assert_eq!(kinds(&capture, 1), ["zero-window", "gap"]);
    let events = capture.events(0, 1);
    let lasted: Vec<_> = events.floats[1].1.iter().flatten().copied().collect();
    assert!((lasted[0] - 0.5).abs() < 1e-6 && (lasted[1] - 0.3).abs() < 1e-6);
}

#[test]
fn a_pause_begins_when_all_is_acknowledged_and_not_at_the_next_request() {
    let mut packets = handshake(0, 10 * MS);
    let data = |index: u32, ack| Tcp::new(SERVER, 1000 + 1000 * index, ack, 1000);
    packets.extend([
        (20 * MS, data(0, 100)),
        (30 * MS, Tcp::new(CLIENT, 100, 2000, 0)),
        // Five seconds later the client asks again. Its segment acknowledges what was acknowledged before.
        (5030 * MS, Tcp::new(CLIENT, 100, 2000, 300)),
        (5040 * MS, data(1, 400)),
    ]);
    let capture = read(&raw(&packets));
    assert_eq!(kinds(&capture, 1), ["gap"]);
    let events = capture.events(0, 1);
    let lasted: Vec<_> = events.floats[1].1.iter().flatten().copied().collect();
    assert!((lasted[0] - 5.01).abs() < 1e-6, "{lasted:?}");
}

#[test]
fn full_segments_may_be_smaller_than_the_handshake_allows() {
    // As where a router between the client and the server has changed the server's view of the option.
    let mut packets = handshake(0, 10 * MS);
    for round in 0..20_u32 {
        let at = i64::from(20 + 20 * round) * MS;
        for index in 0..4 {
            let seq = 1000 + (4 * round + index) * 1048;
            packets.push((at, Tcp::new(SERVER, seq, 100, 1048)));
        }
        let ack = 1000 + 4 * (round + 1) * 1048;
        packets.push((at + 10 * MS, Tcp::new(CLIENT, 100, ack, 0)));
    }
    let found = of_server(&read(&raw(&packets)));
    assert_eq!(found.mss_bytes, 1048);
    // Those before it is known do not count as full.
    assert!(found.counters.short_segments < 40, "{:?}", found.counters);
}

#[test]
fn the_scale_of_a_window_that_is_filled_again_and_again_is_estimated_without_the_handshake() {
    let mut packets = Vec::new();
    // 10 kB of data each round trip, with a window of 79 x 2^7 bytes.
    for round in 0..50_u32 {
        let at = i64::from(round) * 100 * MS;
        for index in 0..10 {
            let seq = 1000 + round * 10_000 + index * 1000;
            packets.push((
                at,
                Tcp::new(SERVER, seq, 100, 1000).times(round + 2, round + 1),
            ));
        }
        let ack = 1000 + (round + 1) * 10_000;
        packets.push((
            at + 99 * MS,
            Tcp::new(CLIENT, 100, ack, 0)
                .window(79)
                .times(round + 2, round + 2),
        ));
    }
    let found = of_server(&read(&raw(&packets)));
    assert_eq!(found.window_shift, Some(7));
    assert!(!found.is_window_shift_known && !found.has_handshake);
}

#[test]
fn what_is_acknowledged_and_was_never_seen_is_missing_from_the_capture() {
    let packets = [
        (0, Tcp::new(SERVER, 1000, 100, 1000)),
        (MS, Tcp::new(SERVER, 3000, 100, 1000)),
        (2 * MS, Tcp::new(CLIENT, 100, 6000, 0)),
    ];
    let found = of_server(&read(&raw(&packets)));
    assert_eq!(found.counters.unseen_bytes, 3000);
}

#[test]
fn the_next_connection_of_the_same_ports_is_another_one() {
    let mut packets = handshake(MS, MS);
    packets.push((10 * MS, Tcp::new(SERVER, 1000, 100, 500)));
    let again = Tcp::new(CLIENT, 5_000_099, 0, 0).flags(SYN).opening(7);
    packets.push((20 * MS, again));
    packets.push((21 * MS, Tcp::new(SERVER, 1_000_000, 5_000_100, 700)));
    let facts = read(&raw(&packets)).facts();
    let sent: Vec<_> = facts
        .flows
        .iter()
        .map(|it| (it.connection, it.counters.sent_bytes))
        .collect();
    assert_eq!(sent, [(0, 500), (1, 700)]);
}

#[test]
fn sequence_numbers_go_round() {
    let start = u32::MAX - 1500;
    let packets: Vec<_> = (0..4_u32)
        .flat_map(|index| {
            let seq = start.wrapping_add(index * 1000);
            let at = i64::from(index) * 10 * MS;
            [
                (at, Tcp::new(SERVER, seq, 1, 1000)),
                (at + MS, Tcp::new(CLIENT, 1, seq.wrapping_add(1000), 0)),
            ]
        })
        .collect();
    let found = of_server(&read(&raw(&packets)));
    assert_eq!(
        (found.delivered_bytes, found.counters.retransmits),
        (4000, 0)
    );
    assert_eq!(found.counters.unseen_bytes, 0);
}

#[test]
fn the_clocks_of_both_ends_are_read_from_their_time_stamps_and_unwrapped() {
    let mut packets = handshake(0, 100 * MS);
    let answer = |time: u32| Tcp::new(CLIENT, 100, 2000, 0).times(time, 1);
    packets.extend([
        (
            200 * MS,
            Tcp::new(SERVER, 1000, 100, 1000).times(u32::MAX - 9, 1),
        ),
        (300 * MS, answer(7)),
        (400 * MS, Tcp::new(SERVER, 2000, 100, 1000).times(10, 1)),
        (500 * MS, answer(207)),
        (600 * MS, Tcp::new(SERVER, 3000, 100, 1000)),
    ]);
    let samples = read(&raw(&packets)).samples(0, 1);
    let integer = |name: &str| {
        let (_, column) = samples.integers.iter().find(|(it, _)| *it == name).unwrap();
        column.last().copied().flatten()
    };
    let float = |name: &str| {
        let (_, column) = samples.floats.iter().find(|(it, _)| *it == name).unwrap();
        column.last().copied().flatten()
    };
    assert_eq!(integer("sender_ticks"), Some(20));
    assert_eq!(float("sender_ticks_s"), Some(0.4));
    assert_eq!(integer("receiver_ticks"), Some(200));
    assert_eq!(float("receiver_ticks_s"), Some(0.5));
}

/// Bursts of two segments that come `gap` after the last acknowledgement, over 40 ms; of them, those that nothing prompted.
fn bursts(gap: i64) -> (u64, u64) {
    let mut packets = handshake(0, 40 * MS);
    let (mut seq, mut at) = (1000, 60 * MS);
    for _ in 0..8 {
        for _ in 0..2 {
            packets.push((at, Tcp::new(SERVER, seq, 100, 1460)));
            seq += 1460;
        }
        packets.push((at + 40 * MS, Tcp::new(CLIENT, 100, seq, 0)));
        at += 40 * MS + gap;
    }
    counted_bursts(&packets)
}

/// Of the server's data: bursts, and those that nothing prompted.
fn counted_bursts(packets: &[(i64, Tcp)]) -> (u64, u64) {
    let counters = of_server(&read(&raw(packets))).counters;
    (counters.bursts, counters.unprompted_bursts)
}

#[test]
fn a_burst_that_no_acknowledgement_made_the_sender_send_is_its_applications() {
    assert_eq!(bursts(MS / 2), (7, 0));
    assert_eq!(bursts(20 * MS), (7, 7));
}

#[test]
fn a_burst_beside_others_is_its_applications_if_no_acknowledgement_came_just_before() {
    // The second one cannot be prompted: nothing is acknowledged yet.
    for (period, unprompted) in [(20 * MS, 1), (28 * MS, 7)] {
        let mut packets = handshake(0, 40 * MS);
        for burst in 0..8 {
            let (at, seq) = (60 * MS + i64::from(burst) * period, 1000 + 1460 * burst);
            packets.push((at, Tcp::new(SERVER, seq, 100, 1460)));
            packets.push((at + 40 * MS, Tcp::new(CLIENT, 100, seq + 1460, 0)));
        }
        // What is acknowledged passes before what it lets the sender send.
        packets.sort_by_key(|&(at, ref segment)| (at, segment.payload > 0));
        assert_eq!(counted_bursts(&packets), (7, unprompted), "{period}");
    }
}

#[test]
fn of_acknowledgements_in_one_tick_the_last_prompts_unless_it_is_data() {
    for (answer, unprompted) in [(0, 0), (100, 7)] {
        let mut packets = handshake(0, 40 * MS);
        let (mut seq, mut back, mut at) = (1000, 100, 60 * MS);
        for tick in 1..9 {
            let data = |seq: u32| Tcp::new(SERVER, seq, back, 1460).times(50 + tick, tick - 1);
            packets.extend([(at, data(seq)), (at, data(seq + 1460))]);
            seq += 2920;
            let first = Tcp::new(CLIENT, back, seq - 1460, 0).times(tick, 50 + tick);
            let last = Tcp::new(CLIENT, back, seq, answer).times(tick, 50 + tick);
            packets.extend([(at + 40 * MS, first), (at + 46 * MS, last)]);
            back += u32::from(answer);
            at += 46 * MS + MS / 2;
        }
        assert_eq!(counted_bursts(&packets), (7, unprompted), "{answer}");
    }
}

#[test]
fn what_ends_with_psh_is_counted_by_its_segments() {
    let mut packets = handshake(0, 10 * MS);
    let sizes: [&[u16]; 6] = [
        &[1460, 1460],
        &[1460, 1460],
        &[1460, 1460, 400],
        &[1460],
        &[1460],
        // A part of a segment is no full one.
        &[300],
    ];
    let mut seq = 1000;
    for (round, segments) in (0..).zip(sizes) {
        let at = (20 + 20 * round) * MS;
        for (index, &bytes) in segments.iter().enumerate() {
            let ends = index + 1 == segments.len();
            let data = Tcp::new(SERVER, seq, 100, bytes);
            packets.push((at, if ends { data.flags(0x18) } else { data }));
            seq += u32::from(bytes);
        }
        packets.push((at + 10 * MS, Tcp::new(CLIENT, 100, seq, 0)));
    }
    let counters = of_server(&read(&raw(&packets))).counters;
    assert_eq!(
        (
            counters.pushes,
            counters.equal_pushes,
            counters.single_pushes
        ),
        (6, 3, 2),
        "{counters:?}"
    );
}
