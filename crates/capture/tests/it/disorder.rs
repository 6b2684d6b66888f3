//! Captures that show a packet twice, in another order, by a clock that was set, in part, or damaged.

use crate::building::{ACK, CLIENT, SERVER, SYN, Tcp, raw, read, snapped};
use bentpipe_capture::{Capture, FlowFacts, Vantage};

const MS: i64 = 1_000_000;
const S: i64 = 1000 * MS;
/// Segments of the server in [`download`].
const SEGMENTS: u64 = 400;

/// With time stamps, whose ticks are milliseconds: a segment of the server each 10 ms, over 40 ms, as seen at the server.
fn download() -> Vec<(i64, Tcp)> {
    let times = |at: i64| (at / MS) as u32 + 1;
    let syn = Tcp::new(CLIENT, 99, 0, 0).flags(SYN).opening(7);
    let answer = Tcp::new(SERVER, 999, 100, 0).flags(SYN | ACK).opening(5);
    let ends = Tcp::new(CLIENT, 100, 1000, 0);
    let mut packets = vec![
        (0, syn.times(1, 0)),
        (MS / 10, answer.times(1, 1)),
        (40 * MS, ends.times(41, 1)),
    ];
    for number in 0..SEGMENTS as u32 {
        let (at, seq) = (i64::from(50 + 10 * number) * MS, 1000 + 1000 * number);
        let data = Tcp::new(SERVER, seq, 100, 1000).times(times(at), times(at - 10 * MS));
        let back = at + 40 * MS + MS / 100;
        let acknowledged = Tcp::new(CLIENT, 100, seq + 1000, 0).times(times(back), times(at));
        packets.extend([(at, data), (back, acknowledged)]);
    }
    packets.sort_by_key(|&(at, _)| at);
    packets
}

fn of_server(packets: &[(i64, Tcp)]) -> FlowFacts {
    flow_of_server(&read(&raw(packets)))
}

fn flow_of_server(capture: &Capture) -> FlowFacts {
    let found = capture
        .facts()
        .flows
        .into_iter()
        .find(|it| it.sender_port == 443);
    found.expect("the server sent data")
}

/// What must not differ.
fn figures(of: &FlowFacts) -> (u64, u64, u64, Option<Vantage>, Option<u8>, Option<String>) {
    let far = of.far_rtt_s.map(|it| format!("{it:.4}"));
    let counters = of.counters;
    (
        of.delivered_bytes,
        counters.retransmits + counters.reordered + counters.unneeded,
        counters.acks,
        of.vantage,
        of.window_shift,
        far,
    )
}

fn moved(packets: &[(i64, Tcp)], by: i64) -> Vec<(i64, Tcp)> {
    packets
        .iter()
        .map(|(at, it)| (at + by, it.clone()))
        .collect()
}

#[test]
fn a_packet_that_a_mirror_port_shows_twice_counts_once() {
    let once = download();
    for later in [0, 20_000, MS / 5] {
        let mut twice = [once.clone(), moved(&once, later)].concat();
        twice.sort_by_key(|&(at, _)| at);
        let found = of_server(&twice);
        assert_eq!(figures(&found), figures(&of_server(&once)), "{later}");
        assert_eq!(found.captured_twice, once.len() as u64);
        assert!((found.copies_later_s - later as f64 / 1e9).abs() < 2e-6);
    }
}

#[test]
fn merged_captures_of_both_ends_give_the_whole_round_trip_once() {
    // At the client a packet of the server passes 20 ms later, and one of the client 20 ms earlier.
    let at_server = download();
    let at_client = at_server.iter().map(|(at, it)| {
        let sign = if it.from == SERVER { 1 } else { -1 };
        (S + at + sign * 20 * MS, it.clone())
    });
    let mut both: Vec<_> = moved(&at_server, S).into_iter().chain(at_client).collect();
    both.sort_by_key(|&(at, _)| at);
    let found = of_server(&both);
    assert_eq!(found.captured_twice, at_server.len() as u64);
    assert_eq!(found.counters.retransmits, 0);
    assert_eq!(found.delivered_bytes, 1000 * SEGMENTS);
    let rtt_s = found.far_rtt_s.unwrap() + found.near_rtt_s.unwrap();
    assert!((rtt_s - 0.04).abs() < 0.001, "{rtt_s}");
}

#[test]
fn a_copy_has_the_same_identification_and_what_is_sent_again_another_one() {
    for (again, copies) in [(7, 1), (8, 0)] {
        let data = |identification| Tcp::new(SERVER, 1000, 100, 1000).identified(identification);
        let found = of_server(&[
            (0, data(7)),
            (300 * MS, data(again)),
            (310 * MS, Tcp::new(CLIENT, 100, 2000, 0)),
        ]);
        assert_eq!(
            (found.captured_twice, found.counters.retransmits),
            (copies, 1 - copies)
        );
    }
}

#[test]
fn acknowledgements_in_the_same_words_are_no_copies() {
    let mut packets = download();
    let (at, last) = packets.last().cloned().unwrap();
    packets.push((
        at + MS,
        Tcp::new(SERVER, last.ack, 100, 1000).times(9000, 8000),
    ));
    packets.extend([(at + 2 * MS, last.clone()), (at + 2 * MS, last)]);
    let found = of_server(&packets);
    assert_eq!(
        (found.captured_twice, found.counters.duplicate_acks),
        (0, 2)
    );
}

#[test]
fn packets_out_of_order_in_the_file_are_sorted_by_time() {
    let sorted = download();
    let mut shuffled = sorted.clone();
    for group in shuffled.chunks_mut(8) {
        group.reverse();
    }
    let capture = read(&raw(&shuffled));
    assert_eq!(
        figures(&flow_of_server(&capture)),
        figures(&of_server(&sorted))
    );
    assert_eq!(flow_of_server(&capture).late_packets, 0);
    assert!(capture.counts.out_of_order > SEGMENTS);
    assert!(!capture.facts().times_run_backwards);
    assert_eq!(capture.first_ns, 0);
    assert_eq!(read(&raw(&sorted)).counts.out_of_order, 0);
}

#[test]
fn the_answer_to_a_syn_may_stand_before_it() {
    let mut packets = download();
    packets.swap(0, 1);
    packets[0].0 = packets[1].0;
    let found = of_server(&packets);
    assert_eq!((found.window_shift, found.has_handshake), (Some(7), true));
}

#[test]
fn files_that_were_joined_have_packets_that_are_late() {
    let mut first = download();
    let second = first.split_off(500);
    let late = first.len() as u64;
    let found = of_server(&[second, first].concat());
    assert_eq!(found.late_packets, late);
    assert_eq!(found.clock_steps, 0);
}

#[test]
fn a_file_that_was_joined_to_itself_is_read_once() {
    let once = download();
    let found = of_server(&[once.clone(), once.clone()].concat());
    assert_eq!(figures(&found), figures(&of_server(&once)));
    assert_eq!(
        (found.late_packets, found.captured_twice),
        (0, once.len() as u64)
    );
}

#[test]
fn times_that_run_backwards_are_told() {
    let packets = download();
    let end = packets.last().unwrap().0;
    for file in [
        packets.iter().rev().cloned().collect::<Vec<_>>(),
        packets
            .iter()
            .map(|(at, it)| (end - at, it.clone()))
            .collect(),
    ] {
        assert!(read(&raw(&file)).facts().times_run_backwards);
    }
    assert!(!read(&raw(&packets)).facts().times_run_backwards);
}

/// The download where all packets from the middle on are so much later, or earlier.
fn with_step(step: i64) -> FlowFacts {
    let mut packets = moved(&download(), 4000 * S);
    for (at, _) in &mut packets[400..] {
        *at += step;
    }
    of_server(&packets)
}

#[test]
fn a_step_of_the_captures_clock_is_taken_out() {
    let usual = of_server(&download());
    for step in [3600 * S, -3600 * S, -2 * S] {
        let found = with_step(step);
        assert_eq!(figures(&found), figures(&usual), "{step}");
        assert!((found.end_s - usual.end_s).abs() < 0.02, "{}", found.end_s);
        assert_eq!((found.clock_steps, found.late_packets), (1, 0));
        let largest_s = found.largest_clock_step_s;
        assert!((largest_s - step as f64 / 1e9).abs() < 0.02, "{largest_s}");
    }
}

#[test]
fn one_packet_of_another_century_is_two_steps() {
    let mut packets = download();
    packets[400].0 = 4_000_000_000 * S;
    let found = of_server(&packets);
    assert_eq!(figures(&found), figures(&of_server(&download())));
    assert_eq!(found.clock_steps, 2);
    assert!(found.end_s < 5.0, "{}", found.end_s);
}

#[test]
fn a_pause_over_which_the_time_stamps_go_on_is_a_pause() {
    let pause = 120 * S;
    let mut packets = download();
    for (at, segment) in &mut packets[400..] {
        *at += pause;
        let ticks = segment.options.len() - 8;
        let value = u32::from_be_bytes(segment.options[ticks..ticks + 4].try_into().unwrap());
        let later = value + (pause / MS) as u32;
        segment.options[ticks..ticks + 4].copy_from_slice(&later.to_be_bytes());
    }
    let found = of_server(&packets);
    assert_eq!(found.clock_steps, 0);
    assert!(found.end_s > 120.0, "{}", found.end_s);
}

#[test]
fn options_that_the_snap_length_cuts_off_are_not_missing_from_the_handshake() {
    let packets: Vec<_> = download().iter().map(|(at, it)| (*at, it.v4())).collect();
    // The SYN's time stamps are behind its window scale, which 54 bytes hold.
    for (snap, is_cut_off, shift) in [(96, false, Some(7)), (54, true, Some(7)), (40, true, None)] {
        let found = flow_of_server(&read(&snapped(&packets, snap)));
        assert_eq!(found.receiver_offered.unwrap().is_cut_off, is_cut_off);
        assert_eq!(found.is_window_shift_known, shift.is_some());
        assert_eq!(found.window_shift, shift);
        assert_eq!(found.delivered_bytes, 1000 * SEGMENTS);
    }
}

#[test]
fn a_number_far_from_the_others_is_left_out_unless_the_next_one_is_near_to_it() {
    let mut packets = download();
    let far = |seq: u32, ack: u32| Tcp::new(SERVER, seq, ack, 1000).times(900, 800);
    packets.insert(200, (packets[200].0, far(300_000_000, 100)));
    packets.insert(
        300,
        (
            packets[300].0,
            Tcp::new(CLIENT, 100, 700_000_000, 0).times(900, 800),
        ),
    );
    let found = of_server(&packets);
    assert_eq!(found.delivered_bytes, 1000 * SEGMENTS);
    assert_eq!(
        (found.counters.out_of_place, found.counters.unseen_bytes),
        (2, 0)
    );
    // The capture lacks 100 MB of the transfer.
    let mut packets = download();
    for (_, segment) in &mut packets[400..] {
        match segment.from {
            SERVER => segment.seq += 100_000_000,
            _ => segment.ack += 100_000_000,
        }
    }
    let found = of_server(&packets);
    assert_eq!(found.delivered_bytes, 100_000_000 + 1000 * SEGMENTS);
    assert!(found.counters.unseen_bytes >= 100_000_000);
}

#[test]
fn what_a_flow_began_with_may_be_damaged() {
    let mut packets = download().split_off(3);
    packets.insert(0, (packets[0].0, Tcp::new(SERVER, 900_000_000, 100, 0)));
    let found = of_server(&packets);
    assert!(
        found.delivered_bytes <= 1000 * SEGMENTS,
        "{}",
        found.delivered_bytes
    );
    assert!(
        found.delivered_bytes >= 1000 * (SEGMENTS - 5),
        "{}",
        found.delivered_bytes
    );
}

#[test]
fn a_damaged_ip_header_is_told_by_its_checksum_where_others_are_right() {
    let whole = |(at, it): &(i64, Tcp)| {
        let mut bytes = it.v4();
        let sum: u32 = (bytes[..20].chunks(2))
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
            .sum();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        (*at, bytes)
    };
    let mut packets: Vec<_> = download().iter().map(whole).collect();
    packets[100].1[2] = 0x44;
    packets[200].1[8] ^= 1;
    let capture = read(&snapped(&packets, 96));
    assert_eq!(
        (capture.counts.damaged, capture.facts().flows.len()),
        (2, 1)
    );
    // Addresses were replaced, so all checksums are wrong.
    for (_, bytes) in &mut packets {
        bytes[12] ^= 1;
        bytes[16] ^= 1;
    }
    assert_eq!(read(&snapped(&packets[..100], 96)).counts.damaged, 0);
}
