//! What a peer with a valid key cannot do with datagrams.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{
    Channel, Config, Datagram, DatagramFrame, Event, FlowId, Frame, Piece, ResetCode,
};
use ends::{Victim, config, hello, target};
use std::net::{Ipv4Addr, SocketAddr};

const BUFFER: u64 = 1 << 17;

fn victim() -> Victim {
    let config = Config {
        takes_udp: true,
        takes_ip: true,
        datagram_buffer: BUFFER,
        ..config(16_000_000)
    };
    Victim::new(config, hello())
}

fn open(flow: u64, channel: Channel, victim: &mut Victim) {
    let flow = FlowId(flow);
    victim.send(&[Frame::Data {
        flow,
        offset: 0,
        bytes: &channel.to_bytes(),
        end: false,
    }]);
    victim.poll();
}

fn whole(flow: u64, bytes: &[u8]) -> DatagramFrame<'_> {
    let flow = FlowId(flow);
    DatagramFrame::Whole(Datagram {
        flow,
        address: None,
        bytes,
    })
}

fn piece(number: u64, total: u64, offset: u64, bytes: &[u8]) -> DatagramFrame<'_> {
    DatagramFrame::Piece(Piece {
        number,
        total,
        offset,
        bytes,
    })
}

#[test]
fn what_no_gateway_sends_ends_the_session() {
    let v4 = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 1);
    let with_address = DatagramFrame::Whole(Datagram {
        flow: FlowId(2),
        address: Some(v4),
        bytes: b"x",
    });
    let two = {
        let mut bytes = Vec::new();
        let datagram = Datagram {
            flow: FlowId(0),
            address: None,
            bytes: b"x",
        };
        datagram.write(&mut bytes);
        datagram.write(&mut bytes);
        bytes
    };
    let violations = [
        vec![whole(1, b"never opened here")],
        vec![whole(400_000, b"no credit for it")],
        vec![whole(4, b"a byte stream")],
        vec![with_address],
        vec![piece(7, 100, 0, &[1; 50]), piece(7, 100, 49, &[1; 50])],
        vec![piece(7, 100, 0, &[1; 50]), piece(7, 99, 50, &[1; 49])],
        vec![piece(7, 10, 0, &[9; 10])],
        vec![piece(7, two.len() as u64, 0, &two)],
    ];
    for frames in violations {
        let mut victim = victim();
        open(0, Channel::Udp(target()), &mut victim);
        open(2, Channel::Ip, &mut victim);
        victim.send(&[Frame::Data {
            flow: FlowId(4),
            offset: 0,
            bytes: &target().to_bytes(),
            end: false,
        }]);
        victim.send_datagrams(&[whole(0, b"right"), whole(2, b"right")]);
        assert!(victim.session.has_session());
        victim.send_datagrams(&frames);
        assert!(!victim.session.has_session(), "{frames:?}");
    }
}

#[test]
fn bytes_behind_an_association_s_target_reset_it() {
    for (bytes, end) in [(&[1][..], false), (&[][..], true)] {
        let mut victim = victim();
        open(0, Channel::Udp(target()), &mut victim);
        let flow = FlowId(0);
        victim.send(&[Frame::Data {
            flow,
            offset: Channel::Udp(target()).to_bytes().len() as u64,
            bytes,
            end,
        }]);
        victim.poll();
        let code = ResetCode::Target;
        assert!(victim.events.contains(&Event::Reset { flow, code }));
        // Datagrams that are under way are left out.
        victim.send_datagrams(&[whole(0, b"late")]);
        assert_eq!(victim.session.figures().datagrams.late, 1);
        assert!(victim.session.has_session() && victim.session.poll_received().is_none());
    }
}

#[test]
fn datagrams_without_an_association_and_pieces_without_others_take_bounded_memory_and_time() {
    let mut victim = victim();
    for number in 0..2000_u64 {
        let early = whole(2 * (number % 900), &[1; 1000]);
        victim.send_datagrams(&[early]);
        victim.send_datagrams(&[piece(number, 65_000, number % 60_000, &[1; 10])]);
        assert!(victim.session.waiting_datagram_bytes() <= 2 * BUFFER);
    }
    victim.wait(Nanos::from_secs(3));
    open(0, Channel::Udp(target()), &mut victim);
    victim.send_datagrams(&[whole(0, b"right")]);
    // What was too old is gone.
    let received = victim.session.poll_received();
    assert_eq!(received.map(|it| it.bytes), Some(b"right".to_vec()));
    assert_eq!(victim.session.waiting_datagram_bytes(), 0);
    let figures = victim.session.figures().datagrams;
    assert_eq!((figures.early_dropped, figures.incomplete), (2000, 2000));
}

#[test]
fn a_driver_that_takes_nothing_loses_the_oldest() {
    let mut victim = victim();
    open(0, Channel::Udp(target()), &mut victim);
    for number in 0..2000_u32 {
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.resize(1000, 0);
        victim.send_datagrams(&[whole(0, &bytes)]);
        assert!(victim.session.waiting_datagram_bytes() <= BUFFER);
    }
    let first = victim.session.poll_received().unwrap();
    let first = u32::from_be_bytes(*first.bytes.first_chunk().unwrap());
    let not_taken = victim.session.figures().datagrams.not_taken;
    assert_eq!(u64::from(first), not_taken);
    assert!(not_taken > 1800, "{not_taken}");
}
