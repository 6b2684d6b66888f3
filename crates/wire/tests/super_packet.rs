//! Cutting super-packets against segments built field by field, with a checksum computed the plain way.

mod common;

use bentpipe_base::Ecn;
use bentpipe_wire::super_packet::{Checksum, SegmentRun, flip_bit, mark_congestion};
use bentpipe_wire::virtio_net::{self, VirtioNetHeader};
use bentpipe_wire::{Merger, SuperPacket};
use common::plain_sum;
use proptest::prelude::*;

const VNET_BYTES: usize = 10;
const CWR: u8 = 0x80;
const FIN_PSH: u8 = 0x09;

/// The fields of a flow's packets, from which any of them can be built.
#[derive(Clone, Debug)]
struct Sender {
    v6: bool,
    /// IPv4 options, or an IPv6 destination options header.
    network_options: usize,
    udp: bool,
    tcp_options: usize,
    id: u16,
    seq: u32,
    flags: u8,
    tos: u8,
    /// CWR in the first segment only, as classic ECN has it, or in all.
    gso_ecn: bool,
    segment_bytes: usize,
    payload: Vec<u8>,
}

impl Sender {
    fn transport_bytes(&self) -> usize {
        if self.udp { 8 } else { 20 + self.tcp_options }
    }

    fn network_bytes(&self) -> usize {
        self.network_options + if self.v6 { 40 } else { 20 }
    }

    fn protocol(&self) -> u8 {
        if self.udp { 17 } else { 6 }
    }

    fn checksum_at(&self) -> usize {
        if self.udp { 6 } else { 16 }
    }

    fn segments(&self) -> usize {
        self.payload.len().div_ceil(self.segment_bytes)
    }

    /// The packet of these segments; its transport checksum complete, or of the pseudo-header only.
    fn packet(&self, first: usize, count: usize, complete: bool) -> Vec<u8> {
        let start = first * self.segment_bytes;
        let end = (start + count * self.segment_bytes).min(self.payload.len());
        let payload = &self.payload[start..end];
        let length = self.transport_bytes() + payload.len();

        let mut network = Vec::new();
        let mut addresses = Vec::new();
        if self.v6 {
            network.extend([0x60 | self.tos >> 4, self.tos << 4, 0, 0]);
            network.extend(((self.network_options + length) as u16).to_be_bytes());
            network.extend([
                if self.network_options > 0 {
                    60
                } else {
                    self.protocol()
                },
                64,
            ]);
            addresses.extend([0xfd; 31]);
            addresses.push(9);
            network.extend(&addresses);
            if self.network_options > 0 {
                let filler = self.network_options - 4;
                network.extend([
                    self.protocol(),
                    (self.network_options / 8 - 1) as u8,
                    1,
                    filler as u8,
                ]);
                network.extend(vec![0; filler]);
            }
        } else {
            let header = 20 + self.network_options;
            network.extend([0x40 | (header / 4) as u8, self.tos]);
            network.extend(((header + length) as u16).to_be_bytes());
            network.extend(self.id.wrapping_add(first as u16).to_be_bytes());
            network.extend([0x40, 0, 64, self.protocol(), 0, 0]);
            addresses.extend([10, 77, 0, 1, 10, 77, 0, 2]);
            network.extend(&addresses);
            network.extend(vec![1; self.network_options]);
            let sum = !plain_sum(&network);
            network[10..12].copy_from_slice(&sum.to_be_bytes());
        }

        let mut transport = vec![0x13, 0x88, 0xc0, 0x01];
        if self.udp {
            transport.extend((length as u16).to_be_bytes());
            transport.extend([0, 0]);
        } else {
            let last = first + count == self.segments();
            let mut flags = self.flags;
            if !last {
                flags &= !FIN_PSH;
            }
            if first > 0 && self.gso_ecn {
                flags &= !CWR;
            }
            transport.extend(self.seq.wrapping_add(start as u32).to_be_bytes());
            transport.extend([0, 0, 0, 1, (self.transport_bytes() as u8 / 4) << 4, flags]);
            transport.extend([0xff, 0xff, 0, 0, 0, 0]);
            transport.extend(vec![1; self.tcp_options]);
        }
        let mut covered = addresses;
        covered.extend([0, self.protocol()]);
        covered.extend((length as u16).to_be_bytes());
        let sum = if complete {
            covered.extend(&transport);
            covered.extend(payload);
            match !plain_sum(&covered) {
                0 if self.udp => 0xffff,
                sum => sum,
            }
        } else {
            plain_sum(&covered)
        };
        let at = self.checksum_at();
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        [network, transport, payload.to_vec()].concat()
    }

    /// What the kernel hands over for these segments.
    fn frame(&self, first: usize, count: usize) -> Vec<u8> {
        let (gso_type, gso_size) = match (count, self.udp, self.v6) {
            (1, ..) => (virtio_net::GSO_NONE, 0),
            (_, true, _) => (virtio_net::GSO_UDP_L4, self.segment_bytes),
            (_, false, false) => (virtio_net::GSO_TCPV4, self.segment_bytes),
            (_, false, true) => (virtio_net::GSO_TCPV6, self.segment_bytes),
        };
        let ecn = if self.gso_ecn && !self.udp && count > 1 && first == 0 {
            virtio_net::GSO_ECN
        } else {
            0
        };
        let header = VirtioNetHeader {
            flags: virtio_net::NEEDS_CSUM,
            gso_type: gso_type | ecn,
            hdr_len: (self.network_bytes() + self.transport_bytes()) as u16,
            gso_size: gso_size as u16,
            csum_start: self.network_bytes() as u16,
            csum_offset: self.checksum_at() as u16,
        };
        let mut frame = header.to_bytes()[..VNET_BYTES].to_vec();
        frame.extend(self.packet(first, count, false));
        frame
    }

    fn parsed(&self) -> SuperPacket<Vec<u8>> {
        parse(self.frame(0, self.segments()))
    }
}

fn parse(frame: Vec<u8>) -> SuperPacket<Vec<u8>> {
    SuperPacket::parse(frame, VNET_BYTES).expect("the frame is whole")
}

/// A segment as it stands on the wire, and its virtio-net header.
fn wire(whole: &SuperPacket<Vec<u8>>, index: u16, ce: bool) -> (VirtioNetHeader, Vec<u8>) {
    let mut bytes = Vec::new();
    let vnet = whole.write_segment(index, ce, &mut bytes);
    (vnet, bytes)
}

/// A run as it is written: vnet header, headers, payload.
fn written(whole: &SuperPacket<Vec<u8>>, run: SegmentRun) -> Vec<u8> {
    let head = whole.head(run, Checksum::Unchanged);
    let mut frame = head.vnet.to_bytes()[..VNET_BYTES].to_vec();
    frame.extend(head.bytes());
    frame.extend(&whole.packet()[head.payload.clone()]);
    frame
}

prop_compose! {
    fn sender()(
        v6: bool,
        options in 0_usize..3,
        udp: bool,
        tcp_options in 0_usize..11,
        id: u16,
        seq: u32,
        flags: u8,
        tos in prop_oneof![Just(0_u8), Just(1), Just(2), Just(0xb8)],
        gso_ecn: bool,
        segment_bytes in 1_usize..1461,
        segments in 2_usize..45,
        short in 0.0..1.0,
        seed: u8,
    ) -> Sender {
        let last = 1 + (short * (segment_bytes - 1) as f64) as usize;
        let length = (segments - 1) * segment_bytes + last;
        Sender {
            v6,
            network_options: if v6 { options * 8 } else { options * 4 },
            udp,
            tcp_options: tcp_options * 4,
            id,
            seq,
            flags: (flags & !0x02) | if gso_ecn { CWR } else { 0 },
            tos,
            gso_ecn,
            segment_bytes,
            payload: (0..length).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_segment_is_the_one_that_its_sender_would_have_built(sender in sender()) {
        let whole = sender.parsed();
        prop_assert_eq!(usize::from(whole.segments()), sender.segments());
        for index in 0..sender.segments() {
            let expected = sender.packet(index, 1, true);
            let (vnet, bytes) = wire(&whole, index as u16, false);
            prop_assert_eq!(&bytes, &expected);
            prop_assert_eq!(vnet.flags, 0);
            prop_assert_eq!(vnet.gso_type, virtio_net::GSO_NONE);
            prop_assert_eq!(whole.wire_bytes(index as u16) as usize, expected.len());
            if let Some(segment) = whole.segment(index as u16) {
                prop_assert_eq!(segment.seq, sender.seq.wrapping_add((index * sender.segment_bytes) as u32));
            }
        }
    }

    #[test]
    fn runs_are_the_super_packets_that_the_sender_would_have_built(sender in sender(), cut in 0.0..1.0) {
        let whole = sender.parsed();
        let count = sender.segments();
        let cut = 1 + (cut * (count - 1) as f64) as usize;
        for (first, count) in [(0, cut), (cut, count - cut)].into_iter().filter(|it| it.1 > 0) {
            let run = SegmentRun { first: first as u16, count: count as u16, ce: false };
            let ours = written(&whole, run);
            let theirs = sender.frame(first, count);
            prop_assert_eq!(&ours[VNET_BYTES..], &theirs[VNET_BYTES..]);
            prop_assert_eq!(VirtioNetHeader::parse(&ours), VirtioNetHeader::parse(&theirs));
        }
    }

    #[test]
    fn cutting_what_was_cut_before_gives_the_same_segments(sender in sender(), cut in 0.0..1.0) {
        let whole = sender.parsed();
        let cut = 1 + (cut * (sender.segments() - 1) as f64) as u16;
        let cut = cut.min(whole.segments() - 1);
        let mut again = Vec::new();
        for (first, count) in [(0, cut), (cut, whole.segments() - cut)] {
            let part = parse(written(&whole, SegmentRun { first, count, ce: false }));
            prop_assert_eq!(part.segments(), count);
            again.extend((0..count).map(|index| wire(&part, index, false).1));
        }
        let once: Vec<_> = (0..whole.segments()).map(|index| wire(&whole, index, false).1).collect();
        prop_assert_eq!(once, again);
    }

    #[test]
    fn joining_what_was_cut_gives_the_super_packet_again(sender in sender(), more: bool) {
        let cwr = if sender.gso_ecn { CWR } else { 0 };
        let flags = sender.flags & (0x10 | 0x40 | FIN_PSH) | cwr;
        let sender = Sender { flags, network_options: 0, ..sender };
        let whole = sender.parsed();
        let mut merger = Merger::default();
        for index in 0..whole.segments() {
            prop_assert!(merger.push(&wire(&whole, index, false).1), "segment {index}");
        }
        // Nothing in UDP over IPv6 says an order: a full datagram follows any other one.
        if more && !(sender.udp && sender.v6) {
            prop_assert!(!merger.push(&wire(&whole, 0, false).1), "the first does not follow the last");
        }
        let (header, packet) = merger.finish().expect("some were taken");
        let joined = [&header.to_bytes()[..VNET_BYTES], packet].concat();
        prop_assert_eq!(joined, sender.frame(0, sender.segments()));
        prop_assert!(merger.finish().is_none());
    }

    #[test]
    fn a_ce_mark_changes_two_bits_and_the_header_checksum(sender in sender()) {
        let whole = sender.parsed();
        let marked = wire(&whole, 1, true).1;
        let expected = Sender { tos: sender.tos | 3, ..sender.clone() }.packet(1, 1, true);
        prop_assert_eq!(&marked, &expected);
        let mut alone = wire(&whole, 1, false).1;
        mark_congestion(&mut alone);
        prop_assert_eq!(alone, expected);
    }

    #[test]
    fn a_flipped_bit_fails_the_transport_checksum(sender in sender(), draw: u64) {
        let whole = sender.parsed();
        let (_, good) = wire(&whole, 0, false);
        let mut bad = good.clone();
        flip_bit(&mut bad, draw);
        let flipped: u32 = good.iter().zip(&bad).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert_eq!(flipped, 1);
        let start = sender.network_bytes();
        prop_assert_eq!(&good[..start], &bad[..start]);
        // The pseudo-header is the same, so the sums differ where those over the transport do.
        prop_assert_ne!(plain_sum(&good[start..]) % 0xffff, plain_sum(&bad[start..]) % 0xffff);
        let field = start + sender.checksum_at();
        prop_assert!(!sender.udp || bad[field..field + 2] != [0, 0]);
    }

    #[test]
    fn no_frame_panics(header: [u8; VNET_BYTES], mut packet in proptest::collection::vec(any::<u8>(), 0..400),
            version in prop_oneof![Just(0x45_u8), Just(0x46), Just(0x60), any::<u8>()],
            protocol in prop_oneof![Just(6_u8), Just(17), Just(60), Just(44), any::<u8>()],
            honest: bool, gso in prop_oneof![Just(1_u8), Just(4), Just(5), any::<u8>()], draw: u64) {
        let mut header = header;
        header[1] = gso;
        let length = packet.len();
        if length >= 40 {
            packet[0] = version;
            let v6 = version >> 4 == 6;
            packet[if v6 { 6 } else { 9 }] = protocol;
            if honest {
                let (at, value) = if v6 { (4, length - 40) } else { (2, length) };
                packet[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
            }
        }
        let frame = [header.to_vec(), packet].concat();
        if let Ok(whole) = SuperPacket::parse(frame, VNET_BYTES) {
            for index in 0..whole.segments() {
                let run = SegmentRun { first: index, count: 1, ce: whole.ecn() != Ecn::NotEct };
                prop_assert!(whole.head(run, Checksum::Unchanged).payload.len() <= length);
                let (_, mut bytes) = wire(&whole, index, run.ce);
                prop_assert_eq!(bytes.len(), whole.wire_bytes(index) as usize);
                flip_bit(&mut bytes, draw);
            }
        }
    }
}

#[test]
fn what_is_not_cut_leaves_as_it_came() {
    // An ICMP echo request of 4 bytes, its checksums complete.
    let mut packet = vec![
        0x45, 0, 0, 32, 0, 1, 0, 0, 64, 1, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2,
    ];
    packet.extend([8, 0, 0xf7, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    let frame = [vec![0; VNET_BYTES], packet.clone()].concat();
    let whole = parse(frame.clone());
    let run = SegmentRun {
        first: 0,
        count: 1,
        ce: false,
    };
    assert_eq!(whole.segments(), 1);
    assert!(whole.is_whole(run));
    assert_eq!(whole.frame(), frame);
    assert_eq!(wire(&whole, 0, false).1, packet);
    assert_eq!(whole.segment(0), None);
}

#[test]
fn a_frame_shorter_than_its_packet_is_truncated() {
    let packet = [
        0x45, 0, 5, 220, 0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2,
    ];
    let frame = [vec![0; VNET_BYTES], packet.to_vec()].concat();
    assert!(SuperPacket::parse(frame, VNET_BYTES).is_err());
    assert!(SuperPacket::parse(&[0; 4][..], VNET_BYTES).is_err());
}

#[test]
fn a_syn_counts_from_the_byte_after_it() {
    let mut packet = vec![
        0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2,
    ];
    packet.extend([
        0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 0x02, 0, 0, 0, 0, 0, 0,
    ]);
    let whole = parse([vec![0; VNET_BYTES], packet].concat());
    let segment = whole.segment(0).expect("TCP");
    assert_eq!(
        (segment.seq, segment.payload_bytes, segment.syn),
        (10, 0, true)
    );
}

/// Three segments of one TCP connection over IPv4.
fn three() -> (Sender, [Vec<u8>; 3]) {
    let sender = Sender {
        v6: false,
        network_options: 0,
        udp: false,
        tcp_options: 12,
        id: 7,
        seq: 1000,
        flags: 0x10,
        tos: 2,
        gso_ecn: false,
        segment_bytes: 100,
        payload: vec![5; 300],
    };
    let packets = [0, 1, 2].map(|index| sender.packet(index, 1, true));
    (sender, packets)
}

#[test]
fn what_does_not_continue_a_super_packet_is_not_joined_to_it() {
    let (sender, [first, second, third]) = three();
    let other = |change: &dyn Fn(&mut Sender)| {
        let mut other = sender.clone();
        change(&mut other);
        other.packet(1, 1, true)
    };
    let mut damaged = second.clone();
    *damaged.last_mut().expect("it has payload") ^= 1;
    for (why, packet) in [
        ("a gap", third),
        ("the same once more", first.clone()),
        ("another id", other(&|it| it.id = 9)),
        ("marked CE", other(&|it| it.tos = 3)),
        ("other options", other(&|it| it.tcp_options = 8)),
        ("another flag", other(&|it| it.flags = 0x50)),
        ("CWR", other(&|it| it.flags = 0x10 | CWR)),
        ("RST", other(&|it| it.flags = 0x14)),
        ("UDP", other(&|it| it.udp = true)),
        ("IPv6", other(&|it| it.v6 = true)),
        ("a wrong checksum", damaged),
        ("no payload", first[..first.len() - 100].to_vec()),
        ("no packet", vec![0x45; 10]),
    ] {
        let mut merger = Merger::default();
        assert!(merger.push(&first));
        assert!(!merger.push(&packet), "{why}");
        assert!(merger.push(&second), "after {why} was refused");
        let (header, _) = merger.finish().expect("two were taken");
        assert_eq!(header.gso_size, 100);
    }
}

#[test]
fn nothing_follows_a_shorter_segment_or_a_push() {
    let (sender, [first, second, third]) = three();
    let pushed = Sender {
        flags: 0x18,
        payload: sender.payload[..200].to_vec(),
        ..sender.clone()
    };
    let short = Sender {
        payload: sender.payload[..150].to_vec(),
        ..sender.clone()
    };
    let after_short = Sender {
        seq: sender.seq - 50,
        ..sender
    };
    for (last, next) in [
        (pushed.packet(1, 1, true), third.clone()),
        (short.packet(1, 1, true), after_short.packet(2, 1, true)),
    ] {
        let mut merger = Merger::default();
        assert!(merger.push(&first) && merger.push(&last));
        assert!(!merger.push(&next), "though it follows in sequence");
    }
    let mut merger = Merger::default();
    assert!(merger.push(&first) && merger.push(&second) && merger.push(&third));
}

#[test]
fn a_packet_whose_headers_are_longer_than_the_first_packet_does_not_follow_it() {
    let (sender, _) = three();
    let datagram = Sender {
        udp: true,
        payload: vec![7],
        ..sender.clone()
    };
    let longer = Sender { v6: true, ..sender };
    let mut merger = Merger::default();
    assert!(merger.push(&datagram.packet(0, 1, true)));
    assert!(!merger.push(&longer.packet(0, 1, true)));
}
