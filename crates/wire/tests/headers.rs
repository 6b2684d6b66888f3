//! Headers: what is written is read again, what others write reads as they mean it, and no bytes panic.

use bentpipe_base::Ecn;
use bentpipe_wire::{
    IcmpEcho, IpHeader, Ipv4Header, Ipv6Header, Layout, TcpHeader, TcpOption, TcpOptionBuffer,
    TcpOptions, UdpHeader, Version, WireError, protocol,
};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn ecn() -> impl Strategy<Value = Ecn> {
    (0_u8..4).prop_map(Ecn::from_bits)
}

/// A whole number of 32-bit words, at most ten.
fn option_bytes() -> impl Strategy<Value = Vec<u8>> {
    (0_usize..=10).prop_flat_map(|words| prop::collection::vec(any::<u8>(), words * 4))
}

prop_compose! {
    fn ipv4()(dscp in 0_u8..64, ecn in ecn(), total_bytes: u16, identification: u16, dont_fragment: bool,
              more_fragments: bool, fragment_offset in 0_u16..0x2000, ttl: u8, protocol: u8,
              source: u32, destination: u32) -> Ipv4Header<'static> {
        Ipv4Header {
            dscp, ecn, total_bytes, identification, dont_fragment, more_fragments, fragment_offset, ttl, protocol,
            source: Ipv4Addr::from_bits(source),
            destination: Ipv4Addr::from_bits(destination),
            options: &[],
        }
    }
}

prop_compose! {
    fn ipv6()(dscp in 0_u8..64, ecn in ecn(), flow_label in 0_u32..0x10_0000, payload_bytes: u16, next_header: u8,
              hop_limit: u8, source: u128, destination: u128) -> Ipv6Header {
        Ipv6Header {
            dscp, ecn, flow_label, payload_bytes, next_header, hop_limit,
            source: Ipv6Addr::from_bits(source),
            destination: Ipv6Addr::from_bits(destination),
        }
    }
}

prop_compose! {
    fn tcp()(source_port: u16, destination_port: u16, seq: u32, ack: u32, flags in 0_u16..0x1000, window: u16,
             checksum: u16, urgent: u16) -> TcpHeader<'static> {
        TcpHeader { source_port, destination_port, seq, ack, flags, window, checksum, urgent, option_bytes: &[] }
    }
}

/// Options as an end writes them: each at most once, together within the room that a header has.
fn option() -> impl Strategy<Value = TcpOption<'static>> {
    prop_oneof![
        Just(TcpOption::NoOperation),
        any::<u16>().prop_map(TcpOption::MaximumSegmentSize),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        Just(TcpOption::Other {
            kind: 30,
            value: &[1, 2, 3, 4, 5, 6]
        }),
    ]
}

proptest! {
    #[test]
    fn the_addresses_of_a_header_are_its_source_and_its_destination(v4 in ipv4(), v6 in ipv6()) {
        let mut out = [0; 60];
        for header in [IpHeader::V4(v4), IpHeader::V6(v6)] {
            let length = header.write(&mut out).expect("there is room");
            let read = IpHeader::parse(&out[..length]).expect("a whole header");
            let expected = match header {
                IpHeader::V4(header) => (header.source.into(), header.destination.into()),
                IpHeader::V6(header) => (header.source.into(), header.destination.into()),
            };
            prop_assert_eq!(read.addresses(), expected);
            prop_assert!(IpHeader::parse(&out[..length - 1]).is_err());
        }
    }

    #[test]
    fn a_written_ipv4_header_is_read_again(header in ipv4(), options in option_bytes()) {
        let header = Ipv4Header { options: &options, ..header };
        let mut out = [0xee; 64];
        let length = header.write(&mut out).expect("it can be written");
        prop_assert_eq!(length, header.header_bytes());
        prop_assert!(out[length..].iter().all(|&byte| byte == 0xee), "nothing beyond it is touched");
        prop_assert_eq!(Ipv4Header::parse(&out), Ok(header));
        prop_assert!(Ipv4Header::is_checksum_right(&out));
        prop_assert!(Ipv4Header::parse(&out[..length - 1]).is_err());
        prop_assert!(header.write(&mut out[..length - 1]).is_err());
    }

    #[test]
    fn a_changed_bit_of_an_ipv4_header_fails_its_checksum(header in ipv4(), bit in 8_usize..160) {
        let mut out = [0; 20];
        header.write(&mut out).expect("it can be written");
        out[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!Ipv4Header::is_checksum_right(&out));
    }

    #[test]
    fn a_written_ipv6_header_is_read_again(header in ipv6()) {
        let mut out = [0; 40];
        header.write(&mut out).expect("it can be written");
        prop_assert_eq!(Ipv6Header::parse(&out), Ok(header));
        prop_assert!(Ipv6Header::parse(&out[..39]).is_err());
        prop_assert!(header.write(&mut out[..39]).is_err());
    }

    #[test]
    fn a_written_tcp_header_is_read_again(header in tcp(), options in option_bytes()) {
        let header = TcpHeader { option_bytes: &options, ..header };
        let mut out = [0xee; 64];
        let length = header.write(&mut out).expect("it can be written");
        prop_assert!(out[length..].iter().all(|&byte| byte == 0xee), "nothing beyond it is touched");
        prop_assert_eq!(TcpHeader::parse(&out), Ok(header));
        prop_assert!(TcpHeader::parse(&out[..length - 1]).is_err());
        prop_assert!(header.write(&mut out[..length - 1]).is_err());
    }

    #[test]
    fn written_options_are_read_again_and_then_comes_padding(options in prop::collection::vec(option(), 0..8),
            blocks in prop::collection::vec(any::<(u32, u32)>(), 0..4)) {
        let mut buffer = TcpOptionBuffer::default();
        let written: Vec<_> = options.into_iter().take_while(|&option| buffer.push(option).is_ok()).collect();
        let has_sack = buffer.push_sack(blocks.iter().copied()).is_ok() && !blocks.is_empty();
        let mut read = TcpOptions::new(buffer.as_bytes()).map(|option| option.expect("they are whole"));
        for option in &written {
            prop_assert_eq!(read.next(), Some(*option));
        }
        if has_sack {
            let Some(TcpOption::Sack(found)) = read.next() else {
                return Err(TestCaseError::fail("no SACK option"));
            };
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), blocks);
        }
        let padding: Vec<_> = read.collect();
        prop_assert!(padding.len() < 4);
        prop_assert!(padding.iter().all(|&option| option == TcpOption::NoOperation));
    }

    #[test]
    fn a_written_udp_header_is_read_again(source_port: u16, destination_port: u16, length_bytes: u16, checksum: u16) {
        let header = UdpHeader { source_port, destination_port, length_bytes, checksum };
        let mut out = [0; 8];
        header.write(&mut out).expect("there is room");
        prop_assert_eq!(UdpHeader::parse(&out), Ok(header));
        prop_assert!(UdpHeader::parse(&out[..7]).is_err());
    }

    #[test]
    fn a_written_echo_is_read_again_and_is_none_of_the_other_version(reply: bool, identifier: u16, sequence: u16, checksum: u16) {
        let header = IcmpEcho { reply, identifier, sequence, checksum };
        let mut out = [0; 8];
        for (version, other) in [(Version::V4, Version::V6), (Version::V6, Version::V4)] {
            header.write(version, &mut out).expect("there is room");
            prop_assert_eq!(IcmpEcho::parse(&out, version), Ok(header));
            prop_assert!(IcmpEcho::parse(&out, other).is_err());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), first in prop_oneof![Just(0x45_u8), Just(0x4f), Just(0x60), any::<u8>()]) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        let mut out = [0; 60];
        if let Ok(ip) = IpHeader::parse(&bytes) {
            prop_assert!(ip.header_bytes() <= bytes.len());
            prop_assert_eq!(ip.write(&mut out), Ok(ip.header_bytes()));
            prop_assert!(Layout::parse(&bytes).is_ok());
        }
        if let Ok(tcp) = TcpHeader::parse(&bytes) {
            prop_assert_eq!(tcp.write(&mut out), Ok(tcp.header_bytes()));
            prop_assert_eq!(&out[..tcp.header_bytes()], &bytes[..tcp.header_bytes()]);
            prop_assert!(tcp.options().count() <= tcp.option_bytes.len());
        }
        prop_assert_eq!(UdpHeader::parse(&bytes).is_ok(), bytes.len() >= 8);
        prop_assert!(IcmpEcho::parse(&bytes, Version::V4).is_err() || bytes.len() >= 8);
        Ipv4Header::is_checksum_right(&bytes);
    }
}

/// The header's value, written as the whole packet by `etherparse`, which shares nothing with this crate.
fn theirs(ip: &IpHeader<'_>, tcp: &TcpHeader<'_>, payload: &[u8]) -> Vec<u8> {
    let builder = match ip {
        IpHeader::V4(ip) => PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
            etherparse::Ipv4Header {
                dscp: ip.dscp.try_into().expect("6 bits"),
                ecn: ip.ecn.bits().try_into().expect("2 bits"),
                identification: ip.identification,
                dont_fragment: ip.dont_fragment,
                time_to_live: ip.ttl,
                source: ip.source.octets(),
                destination: ip.destination.octets(),
                ..etherparse::Ipv4Header::default()
            },
            etherparse::Ipv4Extensions::default(),
        )),
        IpHeader::V6(ip) => PacketBuilder::ip(etherparse::IpHeaders::Ipv6(
            etherparse::Ipv6Header {
                traffic_class: ip.dscp << 2 | ip.ecn.bits(),
                flow_label: ip.flow_label.try_into().expect("20 bits"),
                hop_limit: ip.hop_limit,
                source: ip.source.octets(),
                destination: ip.destination.octets(),
                ..etherparse::Ipv6Header::default()
            },
            etherparse::Ipv6Extensions::default(),
        )),
    };
    let mut header =
        etherparse::TcpHeader::new(tcp.source_port, tcp.destination_port, tcp.seq, tcp.window);
    header.acknowledgment_number = tcp.ack;
    header.urgent_pointer = tcp.urgent;
    let flag = |bit: u16| tcp.has(bit);
    header.fin = flag(0x001);
    header.syn = flag(0x002);
    header.rst = flag(0x004);
    header.psh = flag(0x008);
    header.ack = flag(0x010);
    header.urg = flag(0x020);
    header.ece = flag(0x040);
    header.cwr = flag(0x080);
    header.ns = flag(0x100);
    header.set_options_raw(tcp.option_bytes).expect("they fit");
    let builder = builder.tcp_header(header);
    let mut packet = Vec::new();
    builder
        .write(&mut packet, payload)
        .expect("a Vec takes all");
    packet
}

proptest! {
    #[test]
    fn a_whole_packet_is_the_one_that_another_library_writes(v6: bool, ip4 in ipv4(), ip6 in ipv6(), tcp in tcp(),
            options in option_bytes(), payload in prop::collection::vec(any::<u8>(), 0..100)) {
        let transport_bytes = 20 + options.len() + payload.len();
        let ip = if v6 {
            IpHeader::V6(Ipv6Header { payload_bytes: transport_bytes as u16, next_header: protocol::TCP, ..ip6 })
        } else {
            IpHeader::V4(Ipv4Header {
                total_bytes: (20 + transport_bytes) as u16, protocol: protocol::TCP, more_fragments: false, fragment_offset: 0, ..ip4
            })
        };
        let tcp = TcpHeader { flags: tcp.flags & 0x1ff, option_bytes: &options, ..tcp };
        let expected = theirs(&ip, &tcp, &payload);
        let mut ours = vec![0; expected.len()];
        let start = ip.write(&mut ours).expect("there is room");
        let end = start + tcp.write(&mut ours[start..]).expect("there is room");
        ours[end..].copy_from_slice(&payload);
        TcpHeader::finish_checksum(&mut ours[start..], ip.pseudo_header_sum(protocol::TCP, transport_bytes)).expect("a header");
        prop_assert_eq!(&ours, &expected);
        let layout = Layout::parse(&expected).expect("a packet");
        prop_assert_eq!((layout.network_bytes, layout.header_bytes, layout.total_bytes), (start, end, expected.len()));
    }

    #[test]
    fn a_datagram_and_an_echo_are_those_that_another_library_writes(v6: bool, ports: (u16, u16), payload in prop::collection::vec(any::<u8>(), 0..100)) {
        let builder = || if v6 { PacketBuilder::ipv6([1; 16], [2; 16], 64) } else { PacketBuilder::ipv4([1; 4], [2; 4], 64) };
        let mut expected = Vec::new();
        builder().udp(ports.0, ports.1).write(&mut expected, &payload).expect("a Vec takes all");
        let mut ours = expected.clone();
        let ip = IpHeader::parse(&expected).expect("a packet");
        let datagram = &mut ours[ip.header_bytes()..];
        datagram[..8].fill(0);
        let header = UdpHeader { source_port: ports.0, destination_port: ports.1, length_bytes: datagram.len() as u16, checksum: 0 };
        header.write(datagram).expect("there is room");
        UdpHeader::finish_checksum(datagram, ip.pseudo_header_sum(protocol::UDP, datagram.len())).expect("a header");
        prop_assert_eq!(&ours, &expected);

        let mut expected = Vec::new();
        let version = if v6 {
            builder().icmpv6_echo_request(ports.0, ports.1).write(&mut expected, &payload).expect("a Vec takes all");
            Version::V6
        } else {
            builder().icmpv4_echo_request(ports.0, ports.1).write(&mut expected, &payload).expect("a Vec takes all");
            Version::V4
        };
        let mut ours = expected.clone();
        let ip = IpHeader::parse(&expected).expect("a packet");
        let message = &mut ours[ip.header_bytes()..];
        message[..8].fill(0);
        IcmpEcho { reply: false, identifier: ports.0, sequence: ports.1, checksum: 0 }.write(version, message).expect("there is room");
        let pseudo = if v6 { ip.pseudo_header_sum(protocol::ICMP_V6, message.len()) } else { 0 };
        IcmpEcho::finish_checksum(message, pseudo).expect("a header");
        prop_assert_eq!(&ours, &expected);
    }
}

#[test]
fn the_reason_names_what_is_wrong() {
    let said = |error: WireError| error.to_string();
    assert_eq!(
        said(Ipv4Header::parse(&[0x45; 12]).expect_err("12 bytes")),
        "IPv4 header: expected at least 20 bytes, got 12"
    );
    assert_eq!(
        said(Ipv4Header::parse(&[0x43; 20]).expect_err("three words")),
        "IPv4 header length in bytes: expected at least 20, got 12"
    );
    assert_eq!(
        said(IpHeader::parse(&[0x50; 20]).expect_err("version 5")),
        "IP version: expected 4 or 6, got 5"
    );
}
