//! A simulated packet as the bytes that a capture shows: IPv4 (RFC 791) or IPv6 (RFC 8200), TCP with its options (RFC
//! 9293, 2018, 7323) or an echo (RFC 792, 4443), payload of zeros, checksums right unless the channel flipped a bit.

use bentpipe_path::packet::{Ecn, Packet as _};
use bentpipe_sim::packet::{Body, Bytes, Echo, Packet};
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::sink::Captured;
use bentpipe_tcp::segment::{Segment, flag};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const HOPS: u8 = 64;

/// Puts the packet into `bytes`, replacing what is there.
pub(crate) fn write(captured: &Captured, bytes: &mut Vec<u8>) {
    let packet = &captured.packet;
    let protocol = match (&packet.body, captured.ip) {
        (Body::Tcp(_), _) => TCP,
        (Body::Bytes(_), _) => UDP,
        (Body::Echo(_), 6) => ICMP_V6,
        (Body::Echo(_), _) => ICMP,
    };
    bytes.clear();
    let pseudo = match captured.ip {
        6 => ipv6(packet, protocol, bytes),
        _ => ipv4(packet, protocol, bytes),
    };
    let transport = bytes.len();
    let checksum_at = match &packet.body {
        Body::Tcp(segment) => tcp(captured, segment, bytes),
        Body::Echo(each) => echo(packet, *each, captured.ip, bytes),
        Body::Bytes(datagram) => udp(datagram, bytes),
    };
    bytes.resize(packet.wire_bytes() as usize, 0);
    let pseudo = if protocol == ICMP { 0 } else { pseudo };
    let checksum = !fold(pseudo + sum(&bytes[transport..]));
    bytes[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    if packet.corrupted
        && let Some(last) = bytes.last_mut()
    {
        *last ^= 1;
    }
}

/// The last part of an end's address.
fn number(seat: Seat) -> u8 {
    match seat {
        Seat::Client => 1,
        Seat::Server => 2,
        Seat::Near => 3,
        Seat::Far => 4,
    }
}

/// RFC 3168, section 5.
fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

fn ipv4(packet: &Packet, protocol: u8, bytes: &mut Vec<u8>) -> u64 {
    let address = |seat| [10, 77, 0, number(seat)];
    let length = packet.wire_bytes() as u16;
    bytes.extend([0x45, codepoint(packet.ecn())]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, HOPS, protocol, 0, 0]);
    bytes.extend(address(packet.address.from));
    bytes.extend(address(packet.address.to));
    let checksum = !fold(sum(bytes));
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    sum(&bytes[12..20]) + u64::from(protocol) + u64::from(length - 20)
}

fn ipv6(packet: &Packet, protocol: u8, bytes: &mut Vec<u8>) -> u64 {
    let length = packet.wire_bytes() as u16 - 40;
    bytes.extend([0x60, codepoint(packet.ecn()) << 4, 0, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([protocol, HOPS]);
    for seat in [packet.address.from, packet.address.to] {
        bytes.extend([
            0xfd,
            0x77,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            number(seat),
        ]);
    }
    sum(&bytes[8..40]) + u64::from(protocol) + u64::from(length)
}

/// Returns where the checksum lies.
fn tcp(captured: &Captured, segment: &Segment, bytes: &mut Vec<u8>) -> usize {
    let start = bytes.len();
    let ports = match captured.sender {
        Side::Client => [captured.client_port, captured.server_port],
        Side::Server => [captured.server_port, captured.client_port],
    };
    for port in ports {
        bytes.extend(port.to_be_bytes());
    }
    let seq = captured.initial_seq.wrapping_add(segment.seq as u32);
    let ack = if segment.has(flag::ACK) {
        captured.initial_ack.wrapping_add(segment.ack as u32)
    } else {
        0
    };
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0, segment.flags]);
    bytes.extend(segment.window.to_be_bytes());
    bytes.extend([0; 4]);
    options(captured, segment, bytes);
    let header = segment.wire_bytes as usize - segment.payload as usize - start;
    bytes.resize(start + header, 1);
    bytes[start + 12] = (header as u8 / 4) << 4;
    start + 16
}

/// In Linux's order (`tcp_options_write`), padded with NOPs.
fn options(captured: &Captured, segment: &Segment, bytes: &mut Vec<u8>) {
    if segment.has(flag::SYN) {
        bytes.extend([2, 4]);
        bytes.extend(segment.syn.mss.to_be_bytes());
        match (segment.syn.sack_permitted, segment.timestamps) {
            (true, Some(_)) => bytes.extend([4, 2]),
            (true, None) => bytes.extend([1, 1, 4, 2]),
            (false, Some(_)) => bytes.extend([1, 1]),
            (false, None) => {}
        }
    } else if segment.timestamps.is_some() {
        bytes.extend([1, 1]);
    }
    if let Some((value, echo)) = segment.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
    }
    if segment.has(flag::SYN)
        && let Some(scale) = segment.syn.window_scale
    {
        bytes.extend([1, 3, 3, scale]);
    }
    if !segment.sack.is_empty() {
        bytes.extend([1, 1, 5, 2 + 8 * segment.sack.len() as u8]);
        for edges in segment.sack.iter(segment.ack) {
            for edge in [edges.0, edges.1] {
                bytes.extend(captured.initial_ack.wrapping_add(edge as u32).to_be_bytes());
            }
        }
    }
}

/// Returns where the checksum lies. Ports say nothing: the connection is the two seats'.
fn udp(datagram: &Bytes, bytes: &mut Vec<u8>) -> usize {
    let start = bytes.len();
    bytes.extend([0; 4]);
    bytes.extend((8 + datagram.payload.len() as u16).to_be_bytes());
    bytes.extend([0; 2]);
    bytes.resize(usize::from(datagram.header_bytes), 0);
    bytes.extend(datagram.payload.iter());
    start + 6
}

/// Returns where the checksum lies. The identifier is the workload's place, from 1.
fn echo(packet: &Packet, echo: Echo, ip: u8, bytes: &mut Vec<u8>) -> usize {
    let start = bytes.len();
    let kind = match (echo.reply, ip) {
        (false, 6) => 128,
        (true, 6) => 129,
        (false, _) => 8,
        (true, _) => 0,
    };
    bytes.extend([kind, 0, 0, 0]);
    bytes.extend((packet.connection.index as u16 + 1).to_be_bytes());
    bytes.extend((packet.connection.generation as u16 + 1).to_be_bytes());
    start + 2
}

/// Of big-endian 16-bit words (RFC 1071); an odd last byte counts as if a zero followed.
fn sum(bytes: &[u8]) -> u64 {
    bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low)))
        .sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
