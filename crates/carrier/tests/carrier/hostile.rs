//! Bytes that nobody should send: they are refused, and nothing panics or grows.

use crate::net::{MS, NEAR, Net, Path, SECOND, Side, seeded};
use bentpipe_carrier::framing::{
    Frame, HEADER_BYTES, Kind, MAX_BODY_BYTES, Reader, Stream, write, write_close,
};
use bentpipe_carrier::{Event, Why};
use bytes::BytesMut;
use proptest::prelude::*;

proptest! {
    #[test]
    fn noise_in_place_of_packets_disturbs_no_connection(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 1..20),
        copied in any::<bool>(),
    ) {
        let mut net = Net::connected(Path::geo(), &seeded());
        for packet in packets {
            let mut packet = packet;
            if copied && packet.len() > 20 {
                // With the header of a packet that is under way.
                let mut real = Vec::new();
                net.send_datagram(Side::Near, &[1; 100]).unwrap();
                let now = net.now;
                if net.near.poll_transmit(now, &mut real).is_some() {
                    packet[..15].copy_from_slice(&real[..15]);
                }
            }
            let now = net.now;
            net.far.handle(now, NEAR.parse().unwrap(), None, None, packet[..].into());
            net.near.handle(now, crate::net::FAR.parse().unwrap(), None, None, packet[..].into());
            net.run(MS);
        }
        net.run(SECOND);
        net.take(Side::Far);
        net.send_control(Side::Near, b"still there").unwrap();
        net.run(2 * SECOND);
        prop_assert!(net.take(Side::Far).contains(&Event::Control("still there".into())));
    }

    #[test]
    fn flaws_in_the_packets_of_a_handshake_let_nobody_in_and_stop_nobody(
        flaws in prop::collection::vec((0..4usize, any::<u16>(), 1u8..), 1..6),
    ) {
        let mut net = Net::new(Path::geo(), &seeded());
        net.flaws = flaws;
        net.run(25 * SECOND);
        let mut events = [Side::Near, Side::Far].map(|side| net.take(side));
        if events.iter().flatten().any(fell) {
            events = connected_again(&mut net);
        }
        for events in events {
            prop_assert!(events.iter().any(|event| matches!(event, Event::Connected { .. })), "{events:?}");
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written_however_the_stream_is_cut(
        bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..3000)), 1..20),
        cut in 1..5000usize,
        reason: String,
    ) {
        let mut stream = BytesMut::new();
        let mut expected = vec![Frame::Open];
        write(Kind::Open, &[], &mut stream);
        for (control, body) in bodies {
            let kind = if control { Kind::Control } else { Kind::Datagram };
            write(kind, &body, &mut stream);
            let body = body.into();
            expected.push(if control { Frame::Control(body) } else { Frame::Datagram(body) });
        }
        write_close(u64::MAX, &reason, &mut stream);
        let mut reader = Reader::new(Stream::Tls);
        let mut found = Vec::new();
        for mut piece in stream.chunks(cut) {
            while !piece.is_empty() {
                let taken = reader.push(piece);
                prop_assert!(taken > 0);
                piece = &piece[taken..];
                while let Some(frame) = reader.next_frame().unwrap() {
                    found.push(frame);
                }
                prop_assert!(reader.held_bytes() < HEADER_BYTES + MAX_BODY_BYTES);
            }
        }
        let Some(Frame::Close { code: u64::MAX, reason: said }) = found.pop() else { panic!("{found:?}") };
        prop_assert!(reason.starts_with(&said) && said.len() + 4 > reason.len().min(256));
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn frames_that_are_not_in_the_specification_are_refused_for_good() {
    for (stream, bytes, words) in [
        (Stream::Tls, &[4][..], "unknown frame kind 4"),
        (
            Stream::QuicControl,
            &[2],
            "a frame of kind Datagram is not allowed on this stream",
        ),
        (
            Stream::QuicControl,
            &[3],
            "a frame of kind Close is not allowed on this stream",
        ),
        (
            Stream::Tls,
            &[0, 0, 1],
            "a frame of kind Open has 1 bytes, expected 0 to 0",
        ),
        (
            Stream::Tls,
            &[1, 0, 0],
            "a frame of kind Control has 0 bytes, expected 1 to 16384",
        ),
        (
            Stream::Tls,
            &[1, 0x40, 1],
            "a frame of kind Control has 16385 bytes, expected 1 to 16384",
        ),
        (
            Stream::Tls,
            &[3, 0, 7],
            "a frame of kind Close has 7 bytes, expected 8 to 264",
        ),
    ] {
        let mut reader = Reader::new(stream);
        reader.push(bytes);
        let error = reader.next_frame().unwrap_err();
        assert_eq!(error.to_string(), words);
        reader.push(&[0, 0, 0]);
        assert_eq!(reader.next_frame(), Err(error));
    }
}

/// noq-proto 1.4.0 panics on these ("advance out of bounds", where it writes a packet of the handshake).
#[test]
fn a_panic_of_the_library_ends_one_connection_and_no_more() {
    let mut net = Net::new(Path::geo(), &seeded());
    net.flaws = vec![(2, 25201, 1), (3, 30498, 128)];
    net.run(25 * SECOND);
    let events = [Side::Near, Side::Far].map(|side| net.take(side));
    assert!(events.iter().flatten().any(fell), "{events:?}");
    for events in connected_again(&mut net) {
        let is_connected = |event: &Event| matches!(event, Event::Connected { .. });
        assert!(events.iter().any(is_connected), "{events:?}");
    }
}

/// Whether the library panicked.
fn fell(event: &Event) -> bool {
    let (Event::Closed { why } | Event::Refused { why, .. }) = event else {
        return false;
    };
    matches!(why, Why::Transport(said) if said.contains("defect of the QUIC library"))
}

/// What both ends say when near has connected once more, over a path that damages nothing.
fn connected_again(net: &mut Net) -> [Vec<Event>; 2] {
    net.flaws.clear();
    let now = net.now;
    net.near.connect(now).unwrap();
    net.run(10 * SECOND);
    [Side::Near, Side::Far].map(|side| net.take(side))
}
