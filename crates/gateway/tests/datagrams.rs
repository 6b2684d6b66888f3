//! Datagrams between two gateways: delivered at most once, whole, and in time; what waits is bounded.

mod ends;

use bentpipe_base::{Nanos, Time};
use bentpipe_gateway::{
    Channel, Config, DATAGRAM_MAX_BYTES, Event, FlowId, OpenError, ResetCode, Session, Target,
};
use ends::{Ends, Victim, config, hello, read_all, target, target_v6};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

fn takes_all(bit_s: u64) -> Config {
    Config {
        takes_udp: true,
        takes_ip: true,
        ..config(bit_s)
    }
}

fn udp(ends: &mut Ends, target: &Target) -> FlowId {
    let now = ends.now;
    ends.near().open_udp(now, 1, target).unwrap()
}

/// All that a session has for its hosts.
fn taken(session: &mut Session) -> Vec<(FlowId, Option<SocketAddr>, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(it) = session.poll_received() {
        all.push((it.flow, it.address, it.bytes));
    }
    all
}

#[test]
fn an_association_and_its_first_datagram_cross_in_one_flight_and_answers_come_back() {
    let delay = Nanos::from_millis(275);
    let mut ends = Ends::new(takes_all(16_000_000), delay);
    for target in [target(), target_v6()] {
        let start = ends.now;
        let flow = udp(&mut ends, &target);
        assert!(ends.near().send_datagram(start, flow, None, b"question"));
        let mut came = None;
        let mut back = None;
        ends.run(Nanos::from_millis(560), |[near, far]| {
            for (flow, address, bytes) in taken(far) {
                assert_eq!((address, &bytes[..]), (None, &b"question"[..]));
                came = Some(bytes);
                assert!(far.send_datagram(start, flow, None, b"answer"));
            }
            back = back.take().or(taken(near).pop());
        });
        assert!(came.is_some());
        assert_eq!(back, Some((flow, None, b"answer".to_vec())));
        let channel = Channel::Udp(target);
        assert_eq!(
            ends.events[1].pop(),
            Some(Event::OpenedChannel { flow, channel })
        );
    }
}

#[test]
fn datagrams_of_any_length_keep_their_boundaries_and_addresses() {
    let mut ends = Ends::over(1200, takes_all(16_000_000), Nanos::from_millis(20));
    let flow = udp(&mut ends, &target());
    let ip = {
        let now = ends.now;
        ends.near().open_ip(now, 1).unwrap()
    };
    let v4 = SocketAddr::new(Ipv4Addr::new(192, 0, 2, 7).into(), 53);
    let v6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 65_535);
    let lengths = [
        0,
        1,
        1100,
        1180,
        1190,
        1200,
        1472,
        1473,
        5000,
        DATAGRAM_MAX_BYTES,
    ];
    let mut sent = Vec::new();
    for (at, &length) in lengths.iter().enumerate() {
        for (flow, address) in [(flow, None), (flow, Some(v4)), (flow, Some(v6)), (ip, None)] {
            let bytes: Vec<u8> = (0..length).map(|it| (it * 7 + at) as u8).collect();
            let now = ends.now;
            assert!(ends.near().send_datagram(now, flow, address, &bytes));
            sent.push((flow, address, bytes));
            ends.run(Nanos::from_millis(50), |_| {});
        }
    }
    let now = ends.now;
    let too_long = vec![0; DATAGRAM_MAX_BYTES + 1];
    assert!(!ends.near().send_datagram(now, flow, None, &too_long));
    assert_eq!(ends.near().figures().datagrams.too_long, 1);
    ends.run(Nanos::from_secs(1), |_| {});
    let came = taken(ends.far());
    let brief = |all: &[(FlowId, Option<SocketAddr>, Vec<u8>)]| -> Vec<_> {
        all.iter().map(|it| (it.0, it.1, it.2.len())).collect()
    };
    assert_eq!(brief(&came), brief(&sent));
    assert!(came == sent, "the bytes differ");
    assert_eq!(ends.far().waiting_datagram_bytes(), 0);
}

#[test]
fn many_datagrams_of_one_ethernet_packet_share_packets() {
    let mut ends = Ends::over(1200, takes_all(16_000_000), Nanos::from_millis(20));
    let flow = udp(&mut ends, &target());
    let now = ends.now;
    for _ in 0..100 {
        ends.near().send_datagram(now, flow, None, &[3; 1472]);
    }
    ends.run(Nanos::from_secs(1), |_| {});
    assert_eq!(taken(ends.far()).len(), 100);
    let figures = ends.near().figures().datagrams;
    // 147,200 bytes in packets of 1189: with headers 126 or 127.
    assert!((124..130).contains(&figures.packets), "{figures:?}");
}

#[test]
fn what_far_does_not_take_is_refused() {
    for (udp, ip) in [(false, true), (true, false)] {
        let settings = Config {
            takes_udp: udp,
            takes_ip: ip,
            ..config(16_000_000)
        };
        let mut ends = Ends::new(settings, Nanos::from_millis(20));
        let now = ends.now;
        let flow = if udp {
            ends.near().open_ip(now, 1)
        } else {
            ends.near().open_udp(now, 1, &target())
        };
        let flow = flow.unwrap();
        ends.near().send_datagram(now, flow, None, b"x");
        ends.run(Nanos::from_secs(1), |_| {});
        let code = ResetCode::NotAllowed;
        assert!(ends.events[0].contains(&Event::Reset { flow, code }));
        assert!(taken(ends.far()).is_empty() && ends.events[1].len() == 1);
        assert_eq!(ends.far().waiting_datagram_bytes(), 0);
        assert!(!ends.near().send_datagram(now, flow, None, b"x"));
    }
}

#[test]
fn a_gateway_that_knows_no_datagrams_gets_none() {
    let short = bentpipe_gateway::Hello {
        datagram_packets: 0,
        ..hello()
    };
    let mut victim = Victim::new(takes_all(16_000_000), short);
    let now = victim.now;
    let refused = Err(OpenError::NoDatagrams);
    assert_eq!(victim.session.open_udp(now, 1, &target()), refused);
    assert_eq!(victim.session.open_ip(now, 1), refused);
    // What it sends there all the same is left out.
    victim.session.handle_datagram(now, &[1, 0, 0, 0, 0, 99]);
    assert!(victim.session.has_session());
    assert_eq!(victim.session.figures().malformed, 1);
}

#[test]
fn an_association_that_is_idle_ends_on_both_sides_and_one_that_is_used_does_not() {
    let idle = Nanos::from_secs(120);
    let settings = Config {
        association_idle: idle,
        ..takes_all(16_000_000)
    };
    let mut ends = Ends::new(settings, Nanos::from_millis(20));
    let flows = [udp(&mut ends, &target()), udp(&mut ends, &target())];
    for at in 0..10 {
        let now = ends.now;
        // One way is enough.
        let from = &mut ends.sessions[at % 2];
        from.send_datagram(now, flows[0], None, b"still here");
        ends.run(Nanos::from_secs(30), |_| {});
    }
    let code = ResetCode::TimedOut;
    for (session, events) in ends.sessions.iter().zip(&ends.events) {
        assert!(session.has_flow(flows[0]) && !session.has_flow(flows[1]));
        assert!(events.contains(&Event::Reset {
            flow: flows[1],
            code
        }));
    }
    ends.run(Nanos::from_secs(121), |_| {});
    for session in &ends.sessions {
        assert_eq!(session.figures().flows, 0);
        assert_eq!(session.figures().datagrams.associations, 0);
    }
}

/// A voice call's packets from near to far, one each 20 ms, perhaps beside bulk bytes: the share that came, and the longest delay.
fn call(ends: &mut Ends, packets: u32, with_bulk: bool) -> (f64, Nanos) {
    let flow = udp(ends, &target());
    let bulk = with_bulk.then(|| ends.near().open(2, &target()).unwrap());
    let start = ends.now + Nanos::from_secs(3);
    ends.run(Nanos::from_secs(3), |[near, far]| {
        if let Some(bulk) = bulk {
            near.write(bulk, &[1; 15_000]);
            read_all(far, bulk);
        }
    });
    let (mut longest, mut came) = (Nanos::ZERO, BTreeSet::new());
    // The last ones come when no more are sent.
    for number in 0..packets + 30 {
        let now = start + Nanos(i64::from(number) * 20_000_000);
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.resize(172, 7);
        if number < packets {
            assert!(ends.near().send_datagram(now, flow, None, &bytes));
        }
        // In steps, so that the time is known at which a datagram comes.
        for _ in 0..20 {
            ends.run(Nanos::from_millis(1), |[near, far]| {
                if let Some(bulk) = bulk {
                    near.write(bulk, &[1; 15_000]);
                    read_all(far, bulk);
                }
            });
            for (_, _, bytes) in taken(ends.far()) {
                let number = u32::from_be_bytes(*bytes.first_chunk().unwrap());
                assert!(came.insert(number), "{number} came twice");
                assert!(bytes.len() == 172 && bytes[4..].iter().all(|it| *it == 7));
                let sent = start + Nanos(i64::from(number) * 20_000_000);
                longest = longest.max(ends.now - sent);
            }
        }
    }
    (came.len() as f64 / f64::from(packets), longest)
}

#[test]
fn a_call_beside_a_full_load_hardly_waits() {
    let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(275));
    let (share, longest) = call(&mut ends, 500, true);
    assert!(share > 0.9999, "{share}");
    assert!(longest <= Nanos::from_millis(280), "{longest:?}");
}

#[test]
fn repairs_recover_most_of_what_a_call_loses_in_time_also_beside_a_full_load() {
    for with_bulk in [false, true] {
        let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(275));
        ends.loss = 0.02;
        let (share, longest) = call(&mut ends, 3000, with_bulk);
        let figures = ends.near().figures().datagrams;
        assert!(share > 0.996, "{share} {figures:?}");
        assert!(longest <= Nanos::from_millis(275 + 120), "{longest:?}");
        let share = figures.repairs as f64 / figures.packets as f64;
        assert!(share <= 0.5, "{figures:?}");
    }
}

#[test]
fn over_a_carrier_that_loses_nothing_there_are_no_repairs() {
    let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(20));
    for session in &mut ends.sessions {
        session.set_reliable(true);
    }
    let (share, _) = call(&mut ends, 100, false);
    assert!(share > 0.9999, "{share}");
    assert_eq!(ends.near().figures().datagrams.repairs, 0);
}

#[test]
fn without_losses_there_are_no_repairs_after_a_while() {
    let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(20));
    call(&mut ends, 2000, false);
    let before = ends.near().figures().datagrams.repairs;
    call(&mut ends, 1000, false);
    let after = ends.near().figures().datagrams.repairs;
    assert!(after - before < 150, "{} repairs", after - before);
}

#[test]
fn datagrams_and_byte_streams_of_two_users_share_alike_and_what_waits_is_bounded() {
    let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(20));
    let stream = ends.near().open(2, &target()).unwrap();
    let flow = udp(&mut ends, &target());
    let (mut of_stream, mut of_datagrams) = (0, 0);
    for _ in 0..10_000 {
        let now = ends.now;
        // 24 Mbit/s.
        for _ in 0..3 {
            ends.near().send_datagram(now, flow, None, &[1; 1000]);
        }
        ends.run(Nanos::from_millis(1), |[near, far]| {
            near.write(stream, &[1; 15_000]);
            of_stream += read_all(far, stream);
        });
        of_datagrams += taken(ends.far())
            .iter()
            .map(|it| it.2.len() as u64)
            .sum::<u64>();
    }
    let figures = ends.near().figures().datagrams;
    assert!(
        figures.dropped_full + figures.dropped_old > 10_000,
        "{figures:?}"
    );
    let share = of_stream as f64 / of_datagrams as f64;
    assert!((0.9..1.15).contains(&share), "{of_stream} {of_datagrams}");
    // With all headers the rate is full.
    let all = (of_stream + of_datagrams) as f64 / 20e6;
    assert!(all > 0.88, "{all}");
    let flow_left = ends.near().has_flow(flow);
    let now = ends.now;
    ends.near().reset(flow, ResetCode::Closed);
    assert!(flow_left && !ends.near().send_datagram(now, flow, None, b"x"));
    ends.run(Nanos::from_secs(2), |_| {});
    let code = ResetCode::Closed;
    assert!(ends.events[1].contains(&Event::Reset { flow, code }));
}

#[test]
fn datagrams_that_waited_for_an_outage_are_not_sent_after_it() {
    let mut ends = Ends::new(takes_all(16_000_000), Nanos::from_millis(20));
    let flow = udp(&mut ends, &target());
    ends.run(Nanos::from_millis(100), |_| {});
    let now = ends.now;
    ends.near().on_carrier_lost(now);
    ends.far().on_carrier_lost(now);
    for _ in 0..200 {
        let now = ends.now;
        ends.near().send_datagram(now, flow, None, b"old");
        ends.run(Nanos::from_millis(20), |_| {});
    }
    let now: Time = ends.now;
    for session in &mut ends.sessions {
        session.on_carrier_connected(now, ends::DATAGRAM);
    }
    ends.run(Nanos::from_secs(1), |_| {});
    let came = taken(ends.far()).len();
    assert!((20..30).contains(&came), "{came}");
}
