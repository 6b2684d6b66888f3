//! How connections end where TCP is ended at near and at far: half closed, reset, or cut by the path. Every byte crosses once.

use crate::split::{bulk, geo};
use bentpipe_base::{Direction, Nanos, Time};
use bentpipe_path::config::{LossConfig, QueueLimit};
use bentpipe_sim::node::{Node, Outbox};
use bentpipe_sim::packet::Packet;
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::tunnel::{Redundancy, TunnelConfig};
use proptest::prelude::*;

#[test]
fn one_side_may_close_while_the_other_goes_on_sending() {
    let spec = geo(bulk(Direction::Down, None), 16_000_000, Some("cubic"));
    let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    // Closed before it is connected it would never connect.
    pair.run_until(Time::ZERO + Nanos::from_millis(10));
    pair.write(connection, Side::Client, 100_000);
    pair.close(connection, Side::Client);
    pair.run_until(Time::ZERO + Nanos::from_secs(5));
    assert_eq!(pair.received(Side::Server), 100_000);
    let state = |pair: &Pair, side| pair.socket(connection, side).expect("open").state();
    assert_eq!(state(&pair, Side::Server), bentpipe_tcp::State::CloseWait);
    assert_eq!(state(&pair, Side::Client), bentpipe_tcp::State::FinWait2);
    pair.write(connection, Side::Server, 200_000);
    pair.close(connection, Side::Server);
    pair.run_until(Time::ZERO + Nanos::from_secs(20));
    assert_eq!(pair.received(Side::Client), 200_000);
    for side in Side::BOTH {
        assert!(pair.socket(connection, side).expect("it was").is_closed());
    }
}

#[test]
fn a_reset_passes_the_proxies() {
    let spec = geo(bulk(Direction::Down, None), 16_000_000, Some("cubic"));
    for side in Side::BOTH {
        let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
        let connection = pair.connect();
        pair.write(connection, Side::Client, 50_000_000);
        pair.run_until(Time::ZERO + Nanos::from_secs(3));
        assert!(pair.received(Side::Server) > 0);
        pair.abort(connection, side);
        pair.run_until(Time::ZERO + Nanos::from_millis(3300));
        let other = pair.socket(connection, side.other()).expect("it was");
        assert!(other.is_closed(), "{side:?} was reset");
        for each in pair.split().expect("it is split") {
            assert_eq!((each.resets, each.connect_failures), (1, 0));
        }
    }
}

/// Loses all that goes up from near.
#[derive(Debug)]
struct Gap;

impl Node for Gap {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        if packet.address.to != Seat::Server {
            out.send(now, packet);
        }
    }
}

#[test]
fn a_client_whose_server_cannot_be_reached_is_told_by_a_reset_when_near_gives_up() {
    let spec = geo(bulk(Direction::Down, None), 16_000_000, Some("cubic"));
    let gap: Box<dyn Node> = Box::new(Gap);
    let mut pair = Pair::new(&spec, vec![(Seat::Near, gap)]).expect("a sound specification");
    let connection = pair.connect();
    pair.run_until(Time::ZERO + Nanos::from_secs(60));
    let client = |pair: &Pair| pair.socket(connection, Side::Client).expect("open").state();
    assert_eq!(client(&pair), bentpipe_tcp::State::Established);
    pair.run_until(Time::ZERO + Nanos::from_secs(200));
    assert_eq!(client(&pair), bentpipe_tcp::State::Closed);
    let [near, far] = pair.split().expect("it is split");
    assert_eq!(
        (near.connections, near.connect_failures, near.resets),
        (1, 1, 0)
    );
    assert_eq!(far.connections, 0);
}

#[derive(Clone, Copy, Debug)]
enum End {
    Open,
    Closes,
    Resets,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![2 => Just(End::Open), 3 => Just(End::Closes), 1 => Just(End::Resets)]
}

#[derive(Debug)]
struct Case {
    loss: f64,
    duplicate: f64,
    corrupt: f64,
    seed: u64,
    /// By the side that sends them.
    bytes: [u64; 2],
    ends: [End; 2],
    at_ms: [i64; 2],
    buffer: u64,
    tunnelled: bool,
}

/// The invariants of each relay (crates/sim/src/split/relay.rs) are checked after each segment and timer: what left one of
/// its sockets is what came to the other, in order, and no end overtakes a byte.
fn check(case: &Case) -> Result<(), TestCaseError> {
    let mut spec = geo(bulk(Direction::Down, None), 8_000_000, Some("cubic"));
    spec.seed = case.seed >> 2;
    for pipe in [&mut spec.down, &mut spec.up] {
        pipe.propagation.delay_ns = Nanos::from_millis(30);
        pipe.queue.limit = QueueLimit::Bytes { bytes: 30_000 };
        pipe.channel.loss = LossConfig::Bernoulli { p: case.loss };
        pipe.channel.duplicate = case.duplicate;
        pipe.channel.corrupt = case.corrupt;
    }
    let split = spec.split.as_mut().expect("it is split");
    for host in [&mut split.near, &mut split.far, &mut split.path] {
        host.tcp.tcp_rmem = [4096, case.buffer, 2 * case.buffer];
        host.tcp.tcp_wmem = [4096, case.buffer, 2 * case.buffer];
    }
    spec.tunnel = case.tunnelled.then_some(TunnelConfig {
        redundancy: Redundancy::Fixed { ratio: 0.1 },
        window_packets: 64,
        hold_ns: Nanos::from_millis(20),
        exact: None,
    });
    let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    let mut order = [(case.at_ms[0], 0), (case.at_ms[1], 1)];
    order.sort_unstable();
    // The server's socket is there when far has reached it.
    for (at_ms, number) in order {
        let side = Side::BOTH[number];
        pair.run_until(pair.now() + Nanos::from_millis(at_ms));
        let mut seconds = 0;
        while pair.socket(connection, side).is_none() && seconds < 300 {
            pair.run_until(pair.now() + Nanos::from_secs(1));
            seconds += 1;
        }
        if pair.socket(connection, side).is_none() {
            continue; // the client reset it before
        }
        pair.write(connection, side, case.bytes[number]);
        match case.ends[number] {
            End::Open => {}
            End::Closes => {
                // Closed before it is connected it would never connect.
                pair.run_until(pair.now() + Nanos::from_secs(1));
                pair.close(connection, side);
            }
            End::Resets => pair.abort(connection, side),
        }
    }
    pair.run_until(pair.now() + Nanos::from_secs(3000));
    let reset = case.ends.iter().any(|end| matches!(end, End::Resets));
    for (side, sent) in Side::BOTH.into_iter().zip(case.bytes) {
        let got = pair.received(side.other());
        prop_assert!(got <= sent);
        prop_assert!(reset || got == sent, "{} of {} bytes", got, sent);
    }
    let [near, far] = pair.split().expect("it is split");
    if reset {
        // A RST is sent once: where the path lost it, the other side never hears of it.
        let told = [near, far]
            .iter()
            .all(|each| each.resets + each.connect_failures > 0);
        for socket in Side::BOTH
            .iter()
            .filter_map(|side| pair.socket(connection, *side))
        {
            prop_assert!(socket.is_closed() || !told, "{:?}", socket.state());
        }
    } else {
        prop_assert_eq!([near.up_bytes, far.down_bytes], case.bytes);
        prop_assert_eq!(
            (near.down_bytes, far.up_bytes),
            (case.bytes[1], case.bytes[0])
        );
        prop_assert_eq!(near.resets + far.resets, 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_crosses_once_and_in_order_whatever_is_lost_and_however_it_ends(
        loss in 0.0..0.15_f64, duplicate in 0.0..0.05_f64, corrupt in 0.0..0.02_f64, seed: u64,
        bytes in prop::array::uniform2(0..400_000_u64), ends in prop::array::uniform2(end()),
        at_ms in prop::array::uniform2(0..4000_i64), buffer in 8_192..200_000_u64, tunnelled: bool,
    ) {
        check(&Case { loss, duplicate, corrupt, seed, bytes, ends, at_ms, buffer, tunnelled })?;
    }
}

#[test]
fn a_proxy_that_has_passed_on_both_ends_is_done_whatever_becomes_of_the_last_ack() {
    // The last ACK of a closing is lost here, and its socket times out in the end.
    let case = Case {
        loss: 0.101_232_539_820_494_17,
        duplicate: 0.037_020_194_321_396_31,
        corrupt: 0.0,
        seed: 10_198_029_336_613_322_004,
        bytes: [229_831, 11_281],
        ends: [End::Closes, End::Closes],
        at_ms: [1533, 0],
        buffer: 35_859,
        tunnelled: true,
    };
    check(&case).expect("both sides closed after the last byte");
}
