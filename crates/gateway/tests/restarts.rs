//! What becomes of near's flows when far is started anew: none is acted on twice.

mod ends;

use bentpipe_base::{Nanos, Time};
use bentpipe_gateway::{Event, FlowId, ResetCode, Role, Session};
use ends::{DATAGRAM, Ends, config, target};

const MS: i64 = 1_000_000;
/// Far's machine when the test begins.
const CLOCK_US: u64 = 500_000_000;

/// A session that is up, of a near that wants its flows back.
fn ends() -> Ends {
    let mut ends = Ends::new(config(8_000_000), Nanos::from_millis(20));
    ends.near().give_back_flows();
    let mut far = Session::new(config(8_000_000), Role::Far, 7, 7).unwrap();
    far.set_began(Time::ZERO, CLOCK_US);
    *ends.far() = far;
    connect(&mut ends);
    ends
}

fn connect(ends: &mut Ends) {
    let now = ends.now;
    for session in &mut ends.sessions {
        session.on_carrier_connected(now, DATAGRAM);
    }
    pass(ends, 1);
}

fn pass(ends: &mut Ends, ms: i64) {
    ends.run(Nanos(ms * MS), |_| {});
}

/// Another far, which takes the port now. Near does not know yet: what it sends is lost.
fn restart(ends: &mut Ends) {
    let now = ends.now;
    let mut far = Session::new(config(8_000_000), Role::Far, 8, 8).unwrap();
    far.set_began(now, CLOCK_US + (now.0 / 1000).unsigned_abs());
    *ends.far() = far;
}

fn ask(ends: &mut Ends) -> FlowId {
    let flow = ends.near().open(1, &target()).unwrap();
    assert_eq!(ends.near().write(flow, b"question"), 8);
    ends.near().finish(flow);
    flow
}

fn returned(ends: &Ends) -> Vec<(FlowId, Vec<u8>)> {
    let events = ends.events[0].iter();
    let returned = events.filter_map(|event| match event {
        Event::Returned { flow, bytes } => Some((*flow, bytes.clone())),
        _ => None,
    });
    returned.collect()
}

fn was_reset(ends: &Ends, flow: FlowId) -> bool {
    let code = ResetCode::SessionLost;
    ends.events[0].contains(&Event::Reset { flow, code })
}

#[test]
fn a_flow_that_left_after_far_was_started_anew_is_given_back_and_one_from_before_is_not() {
    let mut ends = ends();
    pass(&mut ends, 500);
    let before = ask(&mut ends);
    pass(&mut ends, 1);
    restart(&mut ends);
    pass(&mut ends, 300);
    let after = ask(&mut ends);
    pass(&mut ends, 300);
    connect(&mut ends);
    assert_eq!(returned(&ends), [(after, b"question".to_vec())]);
    assert!(was_reset(&ends, before) && !was_reset(&ends, after));
}

#[test]
fn what_never_left_is_given_back_whatever_far_says_of_itself() {
    let mut ends = ends();
    pass(&mut ends, 500);
    let sent = ask(&mut ends);
    pass(&mut ends, 1);
    let now = ends.now;
    for session in &mut ends.sessions {
        session.on_carrier_lost(now);
    }
    let waits = ask(&mut ends);
    pass(&mut ends, 300);
    *ends.far() = Session::new(config(8_000_000), Role::Far, 8, 8).unwrap();
    connect(&mut ends);
    assert_eq!(returned(&ends), [(waits, b"question".to_vec())]);
    assert!(was_reset(&ends, sent));
}

#[test]
fn a_flow_that_far_has_got_is_not_given_back() {
    let mut ends = ends();
    let flow = ask(&mut ends);
    pass(&mut ends, 500);
    let opened = |event: &Event| matches!(event, Event::Opened { .. });
    assert!(ends.events[1].iter().any(opened));
    // It says that it was there before the flow was opened: that cannot be, and it is not believed.
    let mut far = Session::new(config(8_000_000), Role::Far, 8, 8).unwrap();
    far.set_began(Time::ZERO, CLOCK_US);
    *ends.far() = far;
    connect(&mut ends);
    assert_eq!(returned(&ends), []);
    assert!(was_reset(&ends, flow));
}

#[test]
fn the_same_far_that_has_forgotten_the_session_is_no_new_one() {
    let mut ends = ends();
    pass(&mut ends, 500);
    let mut far = Session::new(config(8_000_000), Role::Far, 7, 9).unwrap();
    far.set_began(ends.now, CLOCK_US + 500_000);
    *ends.far() = far;
    pass(&mut ends, 300);
    let flow = ask(&mut ends);
    pass(&mut ends, 300);
    connect(&mut ends);
    assert_eq!(returned(&ends), []);
    assert!(was_reset(&ends, flow));
}
