//! Any bytes as an IP packet: every header is read or refused, and one that was read is written again as it was, save
//! reserved bits and the IPv4 checksum.

#![no_main]

use bentpipe_wire::{
    IcmpEcho, IpHeader, Layout, TcpHeader, TcpOption, TcpOptionBuffer, TcpOptions, UdpHeader, Version,
};
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;

fuzz_target!(|bytes: &[u8]| {
    let mut out = [0; 60];
    if let Ok(ip) = IpHeader::parse(bytes) {
        let length = ip.write(&mut out).expect("what was read can be written");
        assert_eq!(IpHeader::parse(&out[..length]), Ok(ip));
        // All is as it was but the reserved flag and the checksum.
        let spoiled = |at: usize| matches!(ip, IpHeader::V4(_)) && [6, 10, 11].contains(&at);
        assert!((0..length).all(|at| spoiled(at) || out[at] == bytes[at]));
        let (from, to, octets) = match ip.addresses() {
            (IpAddr::V4(from), IpAddr::V4(to)) => (12, 16, [from.octets(), to.octets()].concat()),
            (IpAddr::V6(from), IpAddr::V6(to)) => (8, 24, [from.octets(), to.octets()].concat()),
            mixed => panic!("addresses of two versions: {mixed:?}"),
        };
        assert_eq!(bytes[from..2 * to - from], octets);
        let layout = Layout::parse(bytes).expect("it has an IP header");
        assert!(layout.network_bytes >= length && layout.header_bytes <= bytes.len());
        assert_eq!(layout.ecn(bytes), ip.ecn());
        std::hint::black_box(layout.flow_hash(bytes));
    }
    if let Ok(tcp) = TcpHeader::parse(bytes) {
        let length = tcp.write(&mut out).expect("what was read can be written");
        assert_eq!(out[..length], bytes[..length]);
    }
    let mut again = TcpOptionBuffer::default();
    let mut count = 0;
    for option in TcpOptions::new(bytes) {
        count += 1;
        assert!(count <= bytes.len());
        let Ok(option) = option else { continue };
        if again.push(option).is_ok() {
            assert!(TcpOptions::new(again.as_bytes()).any(|it| it == Ok(option)));
        }
        if let TcpOption::Sack(blocks) = option {
            assert!(blocks.iter().count() > 0);
        }
    }
    if let Ok(udp) = UdpHeader::parse(bytes) {
        udp.write(&mut out).expect("there is room");
        assert_eq!(out[..UdpHeader::BYTES], bytes[..UdpHeader::BYTES]);
    }
    for version in [Version::V4, Version::V6] {
        if let Ok(echo) = IcmpEcho::parse(bytes, version) {
            echo.write(version, &mut out).expect("there is room");
            assert_eq!(out[..IcmpEcho::BYTES], bytes[..IcmpEcho::BYTES]);
        }
    }
});
