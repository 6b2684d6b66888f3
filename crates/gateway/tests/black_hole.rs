//! Long packets vanish, short ones arrive, and reports come for these.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{FlowId, Session};
use ends::{Ends, config, read_all, target};

const SECOND: Nanos = Nanos::from_secs(1);

/// A flow through which `from` sends 20,020 bytes at once: long packets and a short one at the end.
fn ends_that_send(from: usize) -> (Ends, FlowId) {
    let mut ends = Ends::new(config(8_000_000), Nanos::from_millis(20));
    for session in &mut ends.sessions {
        session.tell_unheard();
    }
    let flow = ends.near().open(1, &target()).unwrap();
    ends.run(SECOND, |sessions: &mut [Session; 2]| {
        read_all(&mut sessions[0], flow);
        read_all(&mut sessions[1], flow);
    });
    ends.longest = 1300;
    assert_eq!(ends.sessions[from].write(flow, &vec![7; 20_020]), 20_020);
    (ends, flow)
}

#[test]
fn both_gateways_learn_that_one_packet_never_arrives_though_others_do() {
    for from in [0, 1] {
        let (mut ends, flow) = ends_that_send(from);
        let mut unheard = [0, 0];
        let mut looks = 0;
        ends.run(Nanos(10 * SECOND.0), |sessions: &mut [Session; 2]| {
            read_all(&mut sessions[0], flow);
            read_all(&mut sessions[1], flow);
        });
        for _ in 0..50 {
            ends.run(Nanos::from_millis(100), |sessions: &mut [Session; 2]| {
                read_all(&mut sessions[1 - from], flow);
            });
            looks += 1;
            for (unheard, session) in unheard.iter_mut().zip(&ends.sessions) {
                *unheard += u32::from(session.is_unheard(ends.now));
            }
        }
        assert_eq!(unheard, [looks, looks], "from {from}");
    }
}

#[test]
fn where_a_third_is_lost_by_chance_no_packet_counts_as_never_arriving() {
    let mut ends = Ends::new(config(8_000_000), Nanos::from_millis(20));
    ends.loss = 0.33;
    for session in &mut ends.sessions {
        session.tell_unheard();
    }
    let flow = ends.near().open(1, &target()).unwrap();
    let mut longest = 0;
    let mut row = 0;
    for _ in 0..300 {
        ends.run(Nanos::from_millis(100), |sessions: &mut [Session; 2]| {
            sessions[0].write(flow, &[7; 10_000]);
            read_all(&mut sessions[1], flow);
        });
        let now = ends.now;
        row = if ends.near().is_unheard(now) {
            row + 1
        } else {
            0
        };
        longest = longest.max(row);
    }
    // What far says holds for a second. Near changes the carrier after three.
    assert!(longest < 20, "{longest} tenths of a second in a row");
}
