//! Packets that a Linux 6.18 kernel sent through TUN devices without offload, so with every checksum complete: over IPv4 and
//! IPv6 a TCP connection that carries 3 bytes there and 5 back, a ping of 4 bytes, a datagram of 3 bytes to a closed port and
//! the ICMP error that answers it, and IPv6's router solicitations.

use bentpipe_wire::layout::Transport;
use bentpipe_wire::tcp::flag;
use bentpipe_wire::{
    IcmpEcho, IpHeader, Ipv4Header, Layout, TcpHeader, TcpOption, UdpHeader, Version, protocol,
};

fn packets() -> Vec<Vec<u8>> {
    let lines = include_str!("captured/linux-6.18.hex").lines();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two hexadecimal digits")
    };
    lines
        .map(|line| line.as_bytes().chunks(2).map(byte).collect())
        .collect()
}

/// What a packet's transport was found to be.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Tcp,
    Udp,
    Echo { reply: bool },
    Other,
}

/// Reads a packet, writes each of its headers again, and computes its checksums anew: the packet must not change.
fn read_and_written_again(packet: &[u8]) -> Found {
    let ip = IpHeader::parse(packet).expect("an IP packet");
    let mut again = packet.to_vec();
    let start = ip.write(&mut again).expect("there is room");
    assert!(matches!(ip, IpHeader::V6(_)) || Ipv4Header::is_checksum_right(packet));
    let layout = Layout::parse(packet).expect("an IP packet");
    assert_eq!(layout.total_bytes, packet.len());
    assert_eq!(layout.network_bytes, start);
    let transport = &mut again[start..];
    let pseudo = ip.pseudo_header_sum(ip.protocol(), transport.len());
    let (version, icmp_pseudo) = match ip {
        IpHeader::V4(_) => (Version::V4, 0),
        IpHeader::V6(_) => (Version::V6, pseudo),
    };
    let found = match ip.protocol() {
        protocol::TCP => {
            assert_eq!(layout.transport, Transport::Tcp);
            let header = TcpHeader::parse(&packet[start..]).expect("a TCP header");
            assert_eq!(layout.header_bytes, start + header.header_bytes());
            assert!(header.options().all(|option| option.is_ok()));
            header.write(transport).expect("there is room");
            TcpHeader::finish_checksum(transport, pseudo).expect("a header");
            Found::Tcp
        }
        protocol::UDP => {
            assert_eq!(layout.transport, Transport::Udp);
            let header = UdpHeader::parse(&packet[start..]).expect("a UDP header");
            assert_eq!(usize::from(header.length_bytes), transport.len());
            header.write(transport).expect("there is room");
            UdpHeader::finish_checksum(transport, pseudo).expect("a header");
            Found::Udp
        }
        protocol::ICMP | protocol::ICMP_V6 => {
            assert_eq!(layout.transport, Transport::Other);
            let echo = IcmpEcho::parse(&packet[start..], version);
            if let Ok(echo) = echo {
                echo.write(version, transport).expect("there is room");
            }
            IcmpEcho::finish_checksum(transport, icmp_pseudo).expect("a header");
            echo.map_or(Found::Other, |echo| Found::Echo { reply: echo.reply })
        }
        other => panic!("nothing of protocol {other} was sent"),
    };
    assert_eq!(again, packet);
    found
}

#[test]
fn what_linux_sent_is_read_and_written_again_byte_by_byte() {
    let packets = packets();
    let of = |version: u8| {
        let found: Vec<_> = packets
            .iter()
            .filter(|packet| packet[0] >> 4 == version)
            .map(|packet| read_and_written_again(packet))
            .collect();
        let count = |kind: &Found| found.iter().filter(|it| *it == kind).count();
        assert!(count(&Found::Tcp) >= 8, "handshake, data, end: {found:?}");
        assert_eq!(count(&Found::Udp), 1);
        assert_eq!(count(&Found::Echo { reply: false }), 1);
        assert_eq!(count(&Found::Echo { reply: true }), 1);
        assert!(count(&Found::Other) >= 1, "the closed port's error");
    };
    of(4);
    of(6);
}

#[test]
fn a_syn_of_linux_has_the_options_that_it_is_known_to_send() {
    let packets = packets();
    let syns = packets.iter().filter_map(|packet| {
        let ip = IpHeader::parse(packet).ok()?;
        (ip.protocol() == protocol::TCP).then_some(())?;
        let header = TcpHeader::parse(&packet[ip.header_bytes()..]).ok()?;
        (header.flags == flag::SYN).then_some((matches!(ip, IpHeader::V4(_)), header))
    });
    let mut seen = 0;
    for (v4, header) in syns {
        seen += 1;
        let options: Vec<_> = header
            .options()
            .map(|option| match option.expect("whole") {
                TcpOption::Timestamps { echo, .. } => TcpOption::Timestamps { value: 0, echo },
                other => other,
            })
            .collect();
        let expected = [
            TcpOption::MaximumSegmentSize(if v4 { 1460 } else { 1440 }),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { value: 0, echo: 0 },
            TcpOption::NoOperation,
            TcpOption::WindowScale(10),
        ];
        assert_eq!(options, expected);
        assert_eq!(header.destination_port, 8080);
    }
    assert_eq!(seen, 2);
}
