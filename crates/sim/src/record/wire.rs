//! A simulated packet as the bytes that a capture shows: TCP with Linux's options, an echo or a datagram, payload of zeros
//! where it is a length only, checksums right unless the channel flipped a bit.

use crate::packet::{Body, Echo, Packet};
use crate::rows::Captured;
use crate::seat::{Seat, Side};
use bentpipe_path::packet::Packet as _;
use bentpipe_tcp::segment::{Segment, flag};
use bentpipe_wire::{
    IcmpEcho, IpHeader, Ipv4Header, Ipv6Header, TcpHeader, TcpOption, TcpOptionBuffer, UdpHeader,
    Version, WireError, protocol,
};
use std::net::{Ipv4Addr, Ipv6Addr};

const HOPS: u8 = 64;

/// Puts the packet into `bytes`, replacing what is there. An error where its headers do not fit into its length.
pub(crate) fn write(captured: &Captured, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    let packet = &captured.packet;
    let version = if captured.ip == 6 {
        Version::V6
    } else {
        Version::V4
    };
    let protocol = match (&packet.body, version) {
        (Body::Tcp(_), _) => protocol::TCP,
        (Body::Bytes(_) | Body::Datagram(_), _) => protocol::UDP,
        (Body::Echo(_), Version::V6) => protocol::ICMP_V6,
        (Body::Echo(_), Version::V4) => protocol::ICMP,
    };
    bytes.clear();
    bytes.resize(packet.wire_bytes() as usize, 0);
    let ip = ip_header(packet, version, protocol, bytes.len());
    let start = ip.write(bytes)?;
    let transport = &mut bytes[start..];
    let pseudo = ip.pseudo_header_sum(protocol, transport.len());
    match &packet.body {
        Body::Tcp(segment) => tcp(captured, segment, pseudo, transport)?,
        Body::Bytes(datagram) => udp(&datagram.payload, pseudo, transport)?,
        Body::Datagram(_) => udp(&[], pseudo, transport)?,
        Body::Echo(each) => {
            let pseudo = if version == Version::V6 { pseudo } else { 0 };
            echo(packet, *each, version, pseudo, transport)?;
        }
    }
    if packet.corrupted
        && let Some(last) = bytes.last_mut()
    {
        *last ^= 1;
    }
    Ok(())
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

fn ip_header(
    packet: &Packet,
    version: Version,
    protocol: u8,
    total_bytes: usize,
) -> IpHeader<'static> {
    let [source, destination] = [packet.address.from, packet.address.to].map(number);
    match version {
        Version::V4 => IpHeader::V4(Ipv4Header {
            dscp: 0,
            ecn: packet.ecn(),
            total_bytes: total_bytes as u16,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: HOPS,
            protocol,
            source: Ipv4Addr::new(10, 77, 0, source),
            destination: Ipv4Addr::new(10, 77, 0, destination),
            options: &[],
        }),
        Version::V6 => IpHeader::V6(Ipv6Header {
            dscp: 0,
            ecn: packet.ecn(),
            flow_label: 0,
            payload_bytes: total_bytes.saturating_sub(Ipv6Header::BYTES) as u16,
            next_header: protocol,
            hop_limit: HOPS,
            source: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, source.into()),
            destination: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, destination.into()),
        }),
    }
}

fn tcp(
    captured: &Captured,
    segment: &Segment,
    pseudo: u64,
    out: &mut [u8],
) -> Result<(), WireError> {
    let [source_port, destination_port] = match captured.sender {
        Side::Client => [captured.client_port, captured.server_port],
        Side::Server => [captured.server_port, captured.client_port],
    };
    let ack = if segment.has(flag::ACK) {
        captured.initial_ack.wrapping_add(segment.ack as u32)
    } else {
        0
    };
    let options = options(captured, segment)?;
    let header = TcpHeader {
        source_port,
        destination_port,
        seq: captured.initial_seq.wrapping_add(segment.seq as u32),
        ack,
        flags: segment.flags.into(),
        window: segment.window,
        option_bytes: options.as_bytes(),
        ..TcpHeader::default()
    };
    header.write(out)?;
    TcpHeader::finish_checksum(out, pseudo)
}

/// In Linux's order (`tcp_options_write`).
fn options(captured: &Captured, segment: &Segment) -> Result<TcpOptionBuffer, WireError> {
    let mut options = TcpOptionBuffer::default();
    let padding = |options: &mut TcpOptionBuffer| {
        options.push(TcpOption::NoOperation)?;
        options.push(TcpOption::NoOperation)
    };
    if segment.has(flag::SYN) {
        options.push(TcpOption::MaximumSegmentSize(segment.syn.mss))?;
        match (segment.syn.sack_permitted, segment.timestamps) {
            (true, Some(_)) => options.push(TcpOption::SackPermitted)?,
            (true, None) => {
                padding(&mut options)?;
                options.push(TcpOption::SackPermitted)?;
            }
            (false, Some(_)) => padding(&mut options)?,
            (false, None) => {}
        }
    } else if segment.timestamps.is_some() {
        padding(&mut options)?;
    }
    if let Some((value, echo)) = segment.timestamps {
        options.push(TcpOption::Timestamps { value, echo })?;
    }
    if segment.has(flag::SYN)
        && let Some(scale) = segment.syn.window_scale
    {
        options.push(TcpOption::NoOperation)?;
        options.push(TcpOption::WindowScale(scale))?;
    }
    if !segment.sack.is_empty() {
        padding(&mut options)?;
        let absolute = |edge: u64| captured.initial_ack.wrapping_add(edge as u32);
        let blocks = segment.sack.iter(segment.ack);
        options.push_sack(blocks.map(|(left, right)| (absolute(left), absolute(right))))?;
    }
    Ok(options)
}

/// Ports say nothing: the connection is the two seats'. Between the header and the payload are the headers of the datagram's
/// own protocol, of which only the length is known.
fn udp(payload: &[u8], pseudo: u64, out: &mut [u8]) -> Result<(), WireError> {
    let header = UdpHeader {
        length_bytes: out.len() as u16,
        ..UdpHeader::default()
    };
    let found = out.len();
    let needed = header.write(out)? + payload.len();
    let too_short = WireError::TooShort {
        what: "datagram with its payload",
        needed,
        found,
    };
    let start = found
        .checked_sub(payload.len())
        .filter(|&start| start >= UdpHeader::BYTES);
    out[start.ok_or(too_short)?..].copy_from_slice(payload);
    UdpHeader::finish_checksum(out, pseudo)
}

/// The identifier is the workload's place, from 1.
fn echo(
    packet: &Packet,
    echo: Echo,
    version: Version,
    pseudo: u64,
    out: &mut [u8],
) -> Result<(), WireError> {
    let header = IcmpEcho {
        reply: echo.reply,
        identifier: packet.connection.index as u16 + 1,
        sequence: packet.connection.generation as u16 + 1,
        checksum: 0,
    };
    header.write(version, out)?;
    IcmpEcho::finish_checksum(out, pseudo)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Address, Bytes, ConnectionId};
    use bentpipe_path::packet::Ecn;
    use bentpipe_path::time::Time;
    use bentpipe_tables::pcapng::InterfaceDirection;
    use bentpipe_wire::Layout;

    /// A datagram of three bytes from far to near.
    fn datagram(ip: u8, header_bytes: u16) -> Captured {
        let body = Body::Bytes(Bytes {
            payload: [1, 2, 3].into(),
            header_bytes,
            ecn: Ecn::Ect0,
            repair: false,
        });
        let address = Address {
            from: Seat::Far,
            to: Seat::Near,
            server: None,
        };
        Captured {
            time: Time::ZERO,
            at: Seat::Near,
            sender: Side::Server,
            direction: InterfaceDirection::In,
            client_port: 0,
            server_port: 0,
            initial_seq: 0,
            initial_ack: 0,
            ip,
            packet: Packet::new(ConnectionId::default(), address, body),
        }
    }

    #[test]
    fn a_datagram_is_written_with_its_payload_at_the_end_and_a_checksum_that_is_right() {
        // The headers of IP and UDP, then eight bytes of the protocol's own.
        for (ip, header_bytes) in [(4, 36), (6, 56)] {
            let mut bytes = Vec::new();
            write(&datagram(ip, header_bytes), &mut bytes).expect("there is room");
            assert!(bytes.ends_with(&[0, 0, 1, 2, 3]));
            let layout = Layout::parse(&bytes).expect("a packet");
            assert_eq!(layout.total_bytes, usize::from(header_bytes) + 3);
            assert_eq!(layout.ecn(&bytes), Ecn::Ect0);
            let header = IpHeader::parse(&bytes).expect("a packet");
            let mut again = bytes[layout.network_bytes..].to_vec();
            let found = UdpHeader::parse(&again).expect("a header");
            assert_eq!(usize::from(found.length_bytes), again.len());
            let pseudo = header.pseudo_header_sum(protocol::UDP, again.len());
            UdpHeader::finish_checksum(&mut again, pseudo).expect("a header");
            assert_eq!(again, bytes[layout.network_bytes..]);
        }
    }

    #[test]
    fn headers_that_do_not_fit_into_a_packet_are_an_error() {
        // IPv6 and UDP take 48 bytes.
        let mut bytes = Vec::new();
        let error = write(&datagram(6, 28), &mut bytes).expect_err("28 bytes of headers");
        assert!(matches!(error, WireError::TooShort { .. }), "{error}");
    }
}
