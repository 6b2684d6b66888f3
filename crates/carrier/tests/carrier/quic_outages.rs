//! Outages, changed addresses, restarts.

use crate::net::{MS, Net, Path, SECOND, Side, identity, seeded};
use bentpipe_carrier::quic::{Config, Endpoint};
use bentpipe_carrier::{Event, Why};
use std::time::Duration;

fn control(body: &'static str) -> Event {
    Event::Control(body.into())
}

/// How long after the path is back the first message that was given during the outage reaches the other end.
fn resumed_after(outage: Duration, rtt: Duration, from: Side) -> Duration {
    let mut net = Net::connected(
        Path {
            delay: rtt / 2,
            ..Path::geo()
        },
        &seeded(),
    );
    net.path.open = false;
    net.send_control(from, b"during the outage").unwrap();
    net.run(outage);
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
    net.path.open = true;
    let back = net.now;
    net.events = [Vec::new(), Vec::new()];
    net.run(10 * SECOND);
    let to = if from == Side::Near {
        Side::Far
    } else {
        Side::Near
    };
    let arrived = net.events[to as usize]
        .iter()
        .find(|(_, _, event)| *event == control("during the outage"));
    arrived.expect("control messages survive").0 - back
}

#[test]
fn after_an_outage_messages_move_within_a_probe_interval_and_one_and_a_half_round_trips() {
    // The outage's end falls at any time between two probes.
    for phase in 0..8 {
        for (seconds, rtt) in [
            (20, 550 * MS),
            (600, 550 * MS),
            (600, 40 * MS),
            (600, 1500 * MS),
        ] {
            for from in [Side::Near, Side::Far] {
                let resumed = resumed_after(seconds * SECOND + phase * 33 * MS, rtt, from);
                // The probe arrives, is acknowledged at most 25 ms later, and what was given meanwhile is repeated.
                let most = (250 + 25 + 1) * MS + rtt.mul_f64(1.5);
                assert!(
                    resumed <= most,
                    "{seconds} s, {rtt:?}, {from:?}: {resumed:?} > {most:?}"
                );
            }
        }
    }
}

#[test]
fn an_idle_connection_is_noticed_to_be_back_and_datagrams_pass_at_once() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.path.open = false;
    net.run(600 * SECOND);
    net.path.open = true;
    let back = net.now;
    // A datagram waits for nothing: no window, no timer.
    net.send_datagram(Side::Near, b"first").unwrap();
    net.run(275 * MS);
    assert!(
        net.take(Side::Far)
            .contains(&Event::Datagram("first".into()))
    );
    let peer = net.peer(Side::Near).unwrap();
    net.run(2 * SECOND);
    let heard = net.near.statistics(peer).unwrap().last_heard;
    assert!(heard > back && heard <= net.now);
}

#[test]
fn a_connection_that_hears_nothing_for_the_idle_timeout_ends_on_both_sides() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.path.open = false;
    net.run(890 * SECOND);
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
    net.run(60 * SECOND);
    assert_eq!(
        (net.why(Side::Near), net.why(Side::Far)),
        (Some(Why::TimedOut), Some(Why::TimedOut))
    );
    assert_eq!(net.near.peers().count() + net.far.peers().count(), 0);
}

#[test]
fn an_idle_connection_lives_for_hours_and_costs_little() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.sent_bytes = [0; 2];
    net.run(3600 * SECOND);
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
    let bytes = net.sent_bytes[0] + net.sent_bytes[1];
    println!("an idle hour: {bytes} bytes of UDP payload");
    assert!(bytes < 150_000, "{bytes}");
}

#[test]
fn a_silent_path_is_asked_four_times_a_second_and_no_more() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.path.open = false;
    net.run(20 * SECOND);
    net.sent_bytes = [0; 2];
    net.sent_packets = [0; 2];
    net.run(100 * SECOND);
    println!(
        "100 s of outage: {:?} packets, {:?} bytes",
        net.sent_packets, net.sent_bytes
    );
    assert!(
        (390..=550).contains(&net.sent_packets[0]),
        "{:?}",
        net.sent_packets
    );
    assert!(net.sent_bytes[0] < 50_000, "{:?}", net.sent_bytes);
}

#[test]
fn the_near_end_may_change_its_address_at_any_time() {
    let mut net = Net::connected(Path::geo(), &seeded());
    for (number, address) in ["198.51.100.20:7000", "192.0.2.7:51001", "198.51.100.21:9"]
        .into_iter()
        .enumerate()
    {
        net.path.near = address.parse().unwrap();
        net.lose_all_under_way();
        // Every second time the host notices; a NAT that changes its mapping is not noticed.
        if number % 2 == 0 {
            let now = net.now;
            net.near.network_changed(now);
        }
        net.send_datagram(Side::Near, b"from the new address")
            .unwrap();
        net.run(300 * MS);
        assert!(
            net.take(Side::Far)
                .contains(&Event::Datagram("from the new address".into()))
        );
        net.send_control(Side::Far, b"to the new address").unwrap();
        net.run(1500 * MS);
        assert!(
            net.take(Side::Near)
                .contains(&control("to the new address"))
        );
    }
    assert_eq!((net.why(Side::Near), net.why(Side::Far)), (None, None));
}

#[test]
fn an_address_that_changed_during_an_outage_is_found_without_traffic() {
    let mut net = Net::connected(Path::geo(), &seeded());
    net.path.open = false;
    net.send_control(Side::Far, b"for the new address").unwrap();
    net.run(120 * SECOND);
    net.path.near = "198.51.100.77:4000".parse().unwrap();
    net.path.open = true;
    let back = net.now;
    net.run(5 * SECOND);
    let arrived = net.events[0]
        .iter()
        .find(|(_, _, event)| *event == control("for the new address"))
        .unwrap()
        .0;
    println!("after a new address: {:?}", arrived - back);
    assert!(arrived - back <= 2 * SECOND);
}

#[test]
fn a_far_end_that_restarted_says_so() {
    let config = Config {
        seed: None,
        ..seeded()
    };
    let mut net = Net::connected(Path::geo(), &config);
    net.far = Endpoint::far(config, &identity(2), [identity(1).public()].into(), net.now).unwrap();
    net.lose_all_under_way();
    net.send_datagram(Side::Near, &[1; 1000]).unwrap();
    net.run(551 * MS);
    assert_eq!(net.why(Side::Near), Some(Why::Reset));
    let now = net.now;
    net.near.connect(now).unwrap();
    net.events = [Vec::new(), Vec::new()];
    net.run(SECOND);
    assert!(net.peer(Side::Near).is_some() && net.peer(Side::Far).is_some());
}
