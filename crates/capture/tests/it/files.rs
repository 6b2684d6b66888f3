//! Formats, byte orders, link types, and files that are not what they should be.

use crate::building::{CLIENT, Order, SERVER, Tcp, in_pieces, raw, read};
use bentpipe_capture::Capture;

fn segment() -> Tcp {
    Tcp::new(SERVER, 1000, 1, 100).times(5, 6)
}

/// One segment with 100 bytes, one second and 7 µs after 1970.
fn is_the_segment(capture: &Capture) {
    assert_eq!((capture.counts.packets, capture.counts.tcp), (1, 1));
    assert_eq!(capture.first_ns, 1_000_007_000);
    let facts = capture.facts();
    assert_eq!(facts.flows.len(), 1);
    assert_eq!(facts.flows[0].counters.sent_bytes, 100);
    assert_eq!(facts.flows[0].sender_port, 443);
}

#[test]
fn pcap_is_read_in_both_byte_orders_with_microseconds_and_nanoseconds() {
    let packet = segment().v4();
    for is_big in [false, true] {
        for (magic, fraction) in [(0xa1b2_c3d4, 7), (0xa1b2_3c4d, 7000)] {
            let order = Order { is_big };
            let mut file = order.pcap_head(magic, 101);
            file.extend(order.pcap_record(1, fraction, packet.len(), &packet));
            is_the_segment(&read(&file));
        }
    }
}

#[test]
fn pcapng_is_read_in_both_byte_orders_with_any_resolution() {
    let packet = segment().v4();
    for is_big in [false, true] {
        for (resolution, ticks) in [
            (None, 1_000_007),
            (Some(6), 1_000_007),
            (Some(9), 1_000_007_000),
            (Some(12), 1_000_007_000_000),
        ] {
            let order = Order { is_big };
            let mut file = order.section();
            file.extend(order.interface(101, resolution));
            file.extend(order.enhanced(0, ticks, packet.len(), &packet));
            is_the_segment(&read(&file));
        }
    }
}

#[test]
fn a_resolution_may_be_a_power_of_two() {
    let packet = segment().v4();
    let order = Order { is_big: false };
    let mut file = order.section();
    file.extend(order.interface(101, Some(0x8a)));
    file.extend(order.enhanced(0, 1536, packet.len(), &packet));
    assert_eq!(read(&file).first_ns, 1_500_000_000);
}

#[test]
fn sections_and_interfaces_may_follow_each_other_in_different_byte_orders() {
    let packet = segment().v4();
    let ethernet = [&[0; 12][..], &[8, 0], &packet].concat();
    let mut file = Vec::new();
    for is_big in [true, false] {
        let order = Order { is_big };
        file.extend(order.section());
        file.extend(order.interface(101, None));
        file.extend(order.interface(1, Some(9)));
        file.extend(order.enhanced(0, 1_000_007, packet.len(), &packet));
        file.extend(order.enhanced(1, 1_000_007_001, ethernet.len(), &ethernet));
    }
    let capture = read(&file);
    assert_eq!(capture.counts.tcp, 4);
    assert_eq!(capture.last_ns, 1_000_007_001);
}

#[test]
fn every_link_type_leads_to_the_packet() {
    let packet = segment().v4();
    let vlan = [&[0; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 18]].concat();
    for (link, head) in [
        (1_u32, [&[0; 12][..], &[8, 0]].concat()),
        (1, vlan),
        (
            1,
            [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21]].concat(),
        ),
        (101, vec![]),
        (12, vec![]),
        (228, vec![]),
        (113, [&[0; 14][..], &[8, 0]].concat()),
        (276, cooked2),
        (0, vec![2, 0, 0, 0]),
        (0, vec![0, 0, 0, 2]),
        (108, vec![0, 0, 0, 2]),
    ] {
        let order = Order { is_big: false };
        let frame = [head, packet.clone()].concat();
        let mut file = order.pcap_head(0xa1b2_c3d4, link);
        file.extend(order.pcap_record(1, 7, frame.len(), &frame));
        is_the_segment(&read(&file));
    }
}

#[test]
fn ipv6_is_read_behind_extension_headers_and_fragments_are_counted() {
    let order = Order { is_big: false };
    let mut file = order.pcap_head(0xa1b2_c3d4, 101);
    let hop_by_hop = [6, 0, 1, 4, 0, 0, 0, 0];
    let fragment = [6, 0, 0, 1, 0, 0, 0, 9];
    for packet in [segment().v6(&hop_by_hop, 0), segment().v6(&fragment, 44)] {
        file.extend(order.pcap_record(1, 7, packet.len(), &packet));
    }
    let mut of_v4 = segment().v4();
    of_v4[6] = 0x20;
    file.extend(order.pcap_record(1, 7, of_v4.len(), &of_v4));
    let capture = read(&file);
    assert_eq!((capture.counts.tcp, capture.counts.fragments), (1, 2));
    assert_eq!(capture.facts().flows[0].sender, "fd00::2");
}

#[test]
fn a_super_packet_without_a_length_has_that_of_the_wire() {
    let order = Order { is_big: false };
    let mut packet = segment().v4();
    packet[2..4].fill(0);
    let mut file = order.pcap_head(0xa1b2_c3d4, 101);
    file.extend(order.pcap_record(1, 7, 52 + 70_000, &packet));
    assert_eq!(read(&file).facts().flows[0].counters.sent_bytes, 70_000);
}

#[test]
fn the_size_of_the_pieces_does_not_matter() {
    let packets: Vec<_> = (0..50)
        .map(|index| {
            (
                1_000_000 * i64::from(index),
                Tcp::new(SERVER, 1 + 100 * index, 1, 100),
            )
        })
        .collect();
    let file = raw(&packets);
    for piece in [1, 7, 111, file.len()] {
        let capture = in_pieces(&file, piece).expect("a sound capture");
        assert_eq!(capture.facts().flows[0].counters.sent_bytes, 5000);
    }
}

#[test]
fn a_file_that_is_cut_off_says_where_and_what_stood_before_is_used() {
    let file = raw(&[
        (0, Tcp::new(SERVER, 1, 1, 100)),
        (1_000_000, Tcp::new(CLIENT, 1, 101, 0)),
        (2_000_000, Tcp::new(SERVER, 101, 1, 100)),
    ]);
    let (error, capture) = *in_pieces(&file[..file.len() - 10], 64).expect_err("it is cut off");
    assert!(error.cut_off);
    assert_eq!(
        error.to_string(),
        format!(
            "byte {}: packet record: expected whole, got only 102 of 112 bytes: the file is cut off here",
            file.len() - 112
        )
    );
    assert_eq!(capture.counts.packets, 2);
    assert_eq!(capture.facts().flows[0].counters.sent_bytes, 100);
}

#[test]
fn a_file_that_is_no_capture_or_is_damaged_is_refused_with_the_place() {
    let order = Order { is_big: false };
    let packet = segment().v4();
    let good = [order.section(), order.interface(101, None)].concat();
    let other_interface = [good.clone(), order.enhanced(3, 1, packet.len(), &packet)].concat();
    let mut long_packet = [good.clone(), order.enhanced(0, 1, packet.len(), &packet)].concat();
    long_packet[good.len() + 20] = 0xff;
    let mut short_block = good.clone();
    short_block[good.len() - 20 + 4] = 13;
    let mut two_lengths = good.clone();
    *two_lengths.last_mut().expect("bytes") = 1;
    let mut no_magic = good.clone();
    no_magic[8] = 0;
    let long_record = [order.pcap_head(0xa1b2_c3d4, 1), [0xff; 16].to_vec()].concat();
    for (file, said) in [
        (
            b"PK\x03\x04 and more".to_vec(),
            "byte 0: head of a capture: expected the magic number of pcap or pcapng, got bytes 50 4b 03 04",
        ),
        (
            b"\x1f\x8b\x08\x00".to_vec(),
            "byte 0: head of a capture: expected the magic number of pcap or pcapng, got a gzip file: decompress it first",
        ),
        (
            Vec::new(),
            "byte 0: head of a capture: expected whole, got only 0 of 4 bytes: the file is cut off here",
        ),
        (
            other_interface,
            "byte 48: interface of a packet: expected the number of an interface described before it, got 3 where 1 are described",
        ),
        (
            long_packet,
            "byte 48: captured length of a packet: expected no more bytes than the block has, got 255 where there are 152",
        ),
        (
            short_block,
            "byte 28: length of a block: expected a multiple of 4 from 12 to 16777216 bytes, got 13",
        ),
        (
            two_lengths,
            "byte 44: length at the end of a block: expected the length at its beginning, got 16777236 instead of 20",
        ),
        (
            no_magic,
            "byte 0: section header: expected the byte-order magic 1a2b3c4d, got [00, 3c, 2b, 1a]",
        ),
        (
            long_record,
            "byte 24: packet record: expected a captured length of at most 1048576 bytes, got 4294967295",
        ),
    ] {
        let (error, _) = *in_pieces(&file, 1 << 20).expect_err("it is refused");
        assert_eq!(error.to_string(), said);
    }
}
