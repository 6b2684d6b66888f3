//! The bench for tests, and boxes on it.

use bentpipe_base::{Ecn, Nanos, Time};
use bentpipe_reading::Entries;
use bentpipe_sim::node::{BoxSpec, Node, Outbox};
use bentpipe_sim::packet::{Address, Body, Bytes, ConnectionId, Packet};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::spec::SimSpec;
use std::cell::RefCell;
use std::rc::Rc;

const SECOND: Time = Time(1_000_000_000);

/// 10 ms each way.
fn spec() -> SimSpec {
    let mut spec = SimSpec::default();
    for pipe in [&mut spec.down, &mut spec.up] {
        pipe.propagation.delay_ns = Nanos::from_millis(10);
    }
    spec
}

/// Bytes that the server has read a second after the client wrote 100 kB, and how many more segments
/// arrived than were sent.
fn upload(spec: &SimSpec) -> (u64, u64) {
    let mut pair = Pair::new(spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    pair.write(connection, Side::Client, 100_000);
    pair.run_until(SECOND);
    let sample = |side| {
        let socket = pair.socket(connection, side).expect("open");
        socket.sample(pair.now())
    };
    let arrived = sample(Side::Server).segments_in;
    (
        pair.received(Side::Server),
        arrived - sample(Side::Client).segments_out,
    )
}

fn duplicator(seat: Seat) -> BoxSpec {
    BoxSpec {
        seat,
        kind: "duplicator".into(),
        parameters: Entries::from_iter([("every".into(), 10.0)]),
    }
}

#[test]
fn a_duplicator_at_either_end_of_the_path_duplicates_what_passes_and_loses_nothing() {
    let (received, duplicates) = upload(&spec());
    assert_eq!((received, duplicates), (100_000, 0));
    for seat in [Seat::Near, Seat::Far] {
        let boxes = vec![duplicator(seat)];
        let (received, duplicates) = upload(&SimSpec { boxes, ..spec() });
        assert_eq!(received, 100_000);
        // Of 100 kB in segments of 1448 bytes with their ACKs, some 110 packets.
        assert!((5..=15).contains(&duplicates), "{duplicates} at {seat:?}");
    }
}

#[test]
fn a_seat_taken_twice_and_an_unknown_box_are_named() {
    let said = |boxes| {
        let spec = SimSpec { boxes, ..spec() };
        Pair::new(&spec, Vec::new())
            .err()
            .expect("refused")
            .to_string()
    };
    assert_eq!(
        said(vec![duplicator(Seat::Near), duplicator(Seat::Near)]),
        "the seat `near` is taken twice; it has room for one"
    );
    assert_eq!(
        said(vec![duplicator(Seat::Server)]),
        "the seat `server` is taken twice; it has room for one"
    );
    let mut unknown = duplicator(Seat::Far);
    unknown.kind = "shredder".into();
    let refusal = said(vec![unknown]);
    assert!(
        refusal.starts_with("unknown kind of box `shredder`; expected one of: "),
        "{refusal}"
    );
    assert!(refusal.contains("duplicator"), "{refusal}");
}

#[test]
fn a_parameter_of_a_box_that_is_unknown_or_wrong_is_named() {
    let said = |name: &str, value| {
        let mut wrong = duplicator(Seat::Far);
        wrong.parameters = Entries::from_iter([(name.into(), value)]);
        let boxes = vec![wrong];
        let refused = Pair::new(&SimSpec { boxes, ..spec() }, Vec::new()).err();
        refused.expect("refused").to_string()
    };
    for wrong in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert_eq!(
            said("every", wrong),
            format!("box `duplicator`: every: expected a number from 1 to 1000000000, got {wrong}")
        );
    }
    assert_eq!(
        said("every", 1.5),
        "box `duplicator`: every: expected a whole number, got 1.5"
    );
    assert_eq!(
        said("evry", 10.0),
        "box `duplicator`: unknown parameter `evry`; known are every"
    );
}

/// When each datagram came, and its bytes.
type Arrivals = Rc<RefCell<Vec<(Time, Vec<u8>)>>>;

/// Far takes datagrams for itself; everything else passes.
#[derive(Debug)]
struct Ends(Arrivals);

impl Node for Ends {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match &packet.body {
            Body::Bytes(bytes) if packet.address.to == Seat::Far => {
                self.0.borrow_mut().push((now, bytes.payload.to_vec()));
            }
            _ => out.send(now, packet),
        }
    }
}

fn datagram(address: Address) -> Packet {
    let bytes = Bytes {
        payload: b"a repair".as_slice().into(),
        header_bytes: 28,
        ecn: Ecn::NotEct,
        repair: false,
    };
    Packet::new(ConnectionId::default(), address, Body::Bytes(bytes))
}

#[test]
fn a_datagram_carries_its_bytes_from_near_to_far_beside_tcp() {
    let arrived = Arrivals::default();
    let near = Ends(Rc::default());
    let far = Ends(Rc::clone(&arrived));
    let boxes: Vec<(Seat, Box<dyn Node>)> =
        vec![(Seat::Near, Box::new(near)), (Seat::Far, Box::new(far))];
    let mut pair = Pair::new(&spec(), boxes).expect("a sound specification");
    let connection = pair.connect();
    pair.write(connection, Side::Client, 100_000);
    let address = Address {
        from: Seat::Near,
        to: Seat::Far,
        server: None,
    };
    pair.send(datagram(address));
    pair.run_until(SECOND);
    assert_eq!(
        *arrived.borrow(),
        [(Time(10_000_000), b"a repair".to_vec())]
    );
    assert_eq!(pair.received(Side::Server), 100_000);
}

/// Every packet leaves 5 ms after it came.
#[derive(Debug)]
struct Delays;

impl Node for Delays {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        out.send(now + Nanos::from_millis(5), packet);
    }
}

#[test]
fn a_box_that_sends_later_delays_what_passes_by_that_much() {
    let arrived = Arrivals::default();
    let far = Ends(Rc::clone(&arrived));
    let boxes: Vec<(Seat, Box<dyn Node>)> =
        vec![(Seat::Near, Box::new(Delays)), (Seat::Far, Box::new(far))];
    let mut pair = Pair::new(&spec(), boxes).expect("a sound specification");
    let connection = pair.connect();
    pair.write(connection, Side::Client, 100_000);
    pair.send(datagram(Address {
        from: Seat::Client,
        to: Seat::Far,
        server: None,
    }));
    pair.run_until(SECOND);
    assert_eq!(
        *arrived.borrow(),
        [(Time(15_000_000), b"a repair".to_vec())]
    );
    assert_eq!(pair.received(Side::Server), 100_000);
}
