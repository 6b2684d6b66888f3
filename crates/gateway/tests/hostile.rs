//! What a peer with a valid key cannot do.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{
    Config, Event, FlowId, Frame, Frames, Hello, OLDEST_VERSION, ResetCode, VERSION, Why,
};
use ends::{Ends, Victim, config, hello, read_all, target, target_v6};

fn data(flow: u64, offset: u64, bytes: &[u8]) -> Frame<'_> {
    let flow = FlowId(flow);
    Frame::Data {
        flow,
        offset,
        bytes,
        end: false,
    }
}

#[test]
fn a_session_needs_packets_in_which_every_frame_has_room() {
    for packet_max_bytes in [0, 1, 10, 40, 127, 128] {
        let mut victim = Victim::new(
            config(16_000_000),
            Hello {
                packet_max_bytes,
                ..hello()
            },
        );
        victim.send(&[data(0, 0, &[7, 7, 7])]);
        victim.wait(Nanos::from_secs(3));
        assert_eq!(victim.session.has_session(), packet_max_bytes >= 128);
    }
}

#[test]
fn a_session_speaks_the_lower_version_of_both_and_ends_where_one_is_too_old() {
    for (version, is_spoken) in [
        (OLDEST_VERSION - 1, false),
        (VERSION, true),
        (VERSION + 1, true),
        (u16::MAX, true),
    ] {
        let mut victim = Victim::new(config(16_000_000), Hello { version, ..hello() });
        victim.wait(Nanos::from_secs(1));
        assert_eq!(victim.session.has_session(), is_spoken, "{version}");
        let too_old = |it: &Event| *it == Event::Lost(Why::Version(version));
        assert_eq!(victim.events.iter().any(too_old), !is_spoken, "{version}");
        if is_spoken {
            let flow = victim.session.open(1, &target());
            assert!(flow.is_ok_and(|flow| victim.session.write(flow, b"bytes") == 5));
        }
    }
}

#[test]
fn a_hello_of_zeros_or_of_the_largest_numbers_stops_no_timer() {
    for all in [0, u64::MAX] {
        let hello = Hello {
            kept_packets: all as u32,
            flow_credit: all,
            session_credit: all,
            flows: all as u32,
            ..hello()
        };
        let mut victim = Victim::new(config(16_000_000), hello);
        if let Ok(flow) = victim.session.open(1, &target()) {
            victim.session.write(flow, &[1; 5000]);
            victim.session.finish(flow);
        }
        victim.send(&[data(0, 0, &[7, 7, 7])]);
        victim.wait(Nanos::from_secs(3));
        assert!(victim.session.has_session());
    }
}

/// Frames of what a session has sent.
fn frames(packets: &[Vec<u8>]) -> impl Iterator<Item = Frame<'_>> {
    packets
        .iter()
        .flat_map(|it| Frames::of(it))
        .map(Result::unwrap)
}

#[test]
fn flows_that_are_reset_are_not_replaced_before_their_resets_have_left() {
    let max_flows = 2000;
    let config = Config {
        max_flows,
        ..config(16_000_000)
    };
    let mut victim = Victim::new(config, hello());
    let mut opened = 0;
    for _ in 0..200 {
        // The peer opens all flows that it may, and none of them has a target.
        let limits = frames(&victim.sent).filter_map(|it| match it {
            Frame::FlowsCredit { limit } => Some(limit),
            _ => None,
        });
        let limit = limits.max().unwrap_or(max_flows.into());
        while opened < limit {
            victim.send(&[data(2 * opened, 0, &[1])]);
            opened += 1;
        }
        victim.poll();
        let resets = frames(&victim.sent).filter(|it| matches!(it, Frame::Reset { .. }));
        let wait = opened - resets.count() as u64;
        assert!(wait <= max_flows.into(), "{wait} resets wait to be sent");
        victim.now += Nanos::from_micros(800);
    }
    assert!(
        victim.session.has_session() && opened > 10_000,
        "{opened} opened"
    );
}

#[test]
fn the_hosts_here_open_no_more_flows_than_the_settings_allow_whatever_the_peer_allows() {
    let config = Config {
        max_flows: 100,
        ..config(16_000_000)
    };
    let mut victim = Victim::new(
        config,
        Hello {
            flows: u32::MAX,
            ..hello()
        },
    );
    let opened: Vec<_> = (0..200)
        .filter_map(|_| victim.session.open(1, &target()).ok())
        .collect();
    assert_eq!(opened.len(), 100);
    for &flow in &opened {
        victim.session.reset(flow, ResetCode::Host);
    }
    assert!(
        victim.session.open(1, &target()).is_err(),
        "its reset has not left"
    );
    victim.wait(Nanos::from_secs(1));
    assert!(victim.session.open(1, &target()).is_ok());
}

#[test]
fn a_flow_in_too_many_pieces_is_reset() {
    let config = Config {
        session_window: 1 << 20,
        flow_window: 1 << 20,
        ..config(1_000_000)
    };
    let mut victim = Victim::new(config, hello());
    for at in 0..3000 {
        victim.send(&[data(0, 2 * at + 2, &[1])]);
        victim.wait(Nanos::from_millis(1));
    }
    let code = ResetCode::Overloaded;
    assert!(victim.events.contains(&Event::Reset {
        flow: FlowId(0),
        code
    }));
    assert!(victim.session.has_session() && victim.session.waiting_bytes() == 0);
    // Other flows go on.
    victim.send(&[data(2, 0, &target().to_bytes())]);
    victim.poll();
    assert!(matches!(victim.events.last(), Some(Event::Opened { .. })));
}

#[test]
fn a_flow_that_ends_without_a_target_is_reset() {
    let mut victim = Victim::new(config(16_000_000), hello());
    let flow = FlowId(0);
    victim.send(&[Frame::Data {
        flow,
        offset: 0,
        bytes: &[],
        end: true,
    }]);
    victim.wait(Nanos::from_millis(10));
    assert!(!victim.session.has_flow(flow));
    let reset = [3, 0, ResetCode::Target as u8];
    assert!(
        victim
            .sent
            .iter()
            .any(|it| it.windows(3).any(|it| it == reset)),
        "{:?}",
        victim.sent
    );
}

#[test]
fn a_target_may_come_in_pieces() {
    let mut victim = Victim::new(config(16_000_000), hello());
    let target = target_v6().to_bytes();
    for (at, byte) in target.iter().enumerate() {
        victim.send(&[data(0, at as u64, &[*byte])]);
        victim.poll();
    }
    assert!(
        matches!(victim.events.last(), Some(Event::Opened { .. })),
        "{:?}",
        victim.events
    );
}

/// Three of four flows hold three quarters of what may wait. The fourth goes on with the last quarter.
#[test]
fn hosts_that_take_nothing_do_not_stop_the_others() {
    let config = Config {
        session_window: 4 << 20,
        flow_window: 1 << 20,
        flow_start_window: 1 << 20,
        ..config(100_000_000)
    };
    let mut ends = Ends::new(config, Nanos::from_millis(50));
    let flows: Vec<_> = (0..4)
        .map(|_| ends.near().open(1, &target()).unwrap())
        .collect();
    let mut read = 0;
    ends.run(Nanos::from_secs(30), |[near, far]| {
        for &flow in &flows {
            near.write(flow, &[5; 10_000]);
        }
        // Three of four take nothing.
        read += read_all(far, flows[0]);
    });
    assert!(read > 100_000_000, "{read} bytes in 30 s");
}

/// Many flows whose hosts take nothing, from the beginning or from some time on, hold most of what may wait. The one that goes on has a share.
#[test]
fn hosts_that_take_nothing_do_not_stop_the_others_however_many_they_are() {
    for (stalled, after) in [(11, 0), (100, 0), (11, 5)] {
        let config = Config {
            session_window: 4 << 20,
            flow_window: 1 << 20,
            flow_start_window: 1 << 20,
            ..config(100_000_000)
        };
        let mut ends = Ends::new(config, Nanos::from_millis(50));
        let flows: Vec<_> = (0..=stalled)
            .map(|_| ends.near().open(1, &target()).unwrap())
            .collect();
        let mut read = 0;
        for takes_all in [true, false] {
            let secs = if takes_all { after } else { 40 };
            read = 0;
            ends.run(Nanos::from_secs(secs), |[near, far]| {
                for &flow in &flows {
                    near.write(flow, &[5; 10_000]);
                }
                read += read_all(far, flows[0]);
                for &flow in flows.iter().filter(|_| takes_all) {
                    read_all(far, flow);
                }
            });
        }
        let share = 40 * (4 << 20) / (stalled + 2);
        assert!(read > 2 * share, "{read} bytes in 40 s beside {stalled}");
    }
}

/// Its target has to cross, and an end without bytes.
#[test]
fn a_flow_ends_while_hosts_of_others_take_nothing() {
    let config = Config {
        session_window: 1 << 20,
        flow_window: 1 << 20,
        flow_start_window: 1 << 20,
        ..config(100_000_000)
    };
    let mut ends = Ends::new(config, Nanos::from_millis(50));
    let late = ends.near().open(1, &target()).unwrap();
    let stalled: Vec<_> = (0..5)
        .map(|_| ends.near().open(1, &target()).unwrap())
        .collect();
    ends.run(Nanos::from_secs(5), |[near, _]| {
        for &flow in &stalled {
            near.write(flow, &[5; 10_000]);
        }
    });
    ends.near().finish(late);
    ends.far().finish(late);
    ends.run(Nanos::from_secs(1), |_| {});
    assert!(ends.far().has_ended(late) || !ends.far().has_flow(late));
    assert!(!ends.near().has_flow(late));
}

/// The peer gives no credit for the bytes of hosts at all.
#[test]
fn an_end_without_bytes_needs_no_credit() {
    let hello = Hello {
        session_credit: 0,
        flow_credit: 0,
        ..hello()
    };
    let mut victim = Victim::new(config(16_000_000), hello);
    for flow in [0, 2] {
        victim.send(&[data(flow, 0, &target().to_bytes())]);
    }
    victim.session.write(FlowId(2), &[1; 100]);
    victim.session.finish(FlowId(2));
    victim.session.finish(FlowId(0));
    victim.wait(Nanos::from_secs(1));
    let ends: Vec<_> = frames(&victim.sent)
        .filter_map(|it| match it {
            Frame::Data {
                flow, bytes, end, ..
            } => Some((flow, bytes.len(), end)),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(FlowId(0), 0, true)]);
}

#[test]
fn flows_that_the_peer_has_reset_make_room_for_others() {
    let config = Config {
        max_flows: 10,
        ..config(16_000_000)
    };
    let mut victim = Victim::new(config, hello());
    for flow in 0..100 {
        let flow = FlowId(2 * flow);
        victim.send(&[Frame::Reset { flow, code: 1 }]);
        victim.wait(Nanos::from_millis(50));
        assert!(victim.session.has_session(), "at flow {flow}");
    }
}

#[test]
fn a_session_in_which_no_host_takes_anything_rests() {
    let config = Config {
        session_window: 4 << 20,
        flow_window: 1 << 20,
        flow_start_window: 1 << 20,
        ..config(100_000_000)
    };
    let mut ends = Ends::new(config, Nanos::from_millis(50));
    let flows: Vec<_> = (0..8)
        .map(|_| ends.near().open(1, &target()).unwrap())
        .collect();
    ends.run(Nanos::from_secs(30), |[near, _]| {
        for &flow in &flows {
            near.write(flow, &[5; 10_000]);
        }
    });
    // Eight hold as much as one more would find.
    let waiting = ends.far().waiting_bytes();
    let most = (4 << 20) * 8 / 9;
    assert!(waiting.abs_diff(most) < 50_000, "{waiting} bytes wait");
}
