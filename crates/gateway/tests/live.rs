//! What changes while a session lasts.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{FlowId, Rate, Session};
use ends::{Ends, config, read_all, target};

const LONG: Nanos = Nanos::from_secs(1);

/// Bytes that reach far in a second of a transfer without end.
fn second(ends: &mut Ends, flow: FlowId) -> u64 {
    let mut came = 0;
    ends.run(LONG, |sessions: &mut [Session; 2]| {
        sessions[0].write(flow, &[7; 10_000]);
        came += read_all(&mut sessions[1], flow);
    });
    came
}

#[test]
fn a_new_rate_holds_at_once_and_the_flow_goes_on() {
    let mut ends = Ends::new(config(8_000_000), Nanos::from_millis(20));
    let flow = ends.near().open(1, &target()).unwrap();
    second(&mut ends, flow);
    let before = second(&mut ends, flow);
    assert!((900_000..1_000_000).contains(&before), "{before}");
    assert!(ends.near().waiting_to_send() > 0);
    ends.near().set_rate(Rate::Fixed(2_000_000)).unwrap();
    assert_eq!(ends.near().rate_bit_s(), Some(2_000_000));
    second(&mut ends, flow);
    let after = second(&mut ends, flow);
    assert!((220_000..250_000).contains(&after), "{after}");
    assert_eq!(ends.near().figures().sessions, 1);
    ends.near().set_rate(Rate::Capped(4_000_000)).unwrap();
    for _ in 0..5 {
        second(&mut ends, flow);
    }
    let capped = second(&mut ends, flow);
    assert!((350_000..500_000).contains(&capped), "{capped}");
}

#[test]
fn a_rate_that_cannot_be_is_refused_and_the_old_one_stays() {
    let mut ends = Ends::new(config(8_000_000), Nanos::from_millis(20));
    assert!(ends.near().set_rate(Rate::Fixed(1)).is_err());
    assert_eq!(ends.near().rate_bit_s(), Some(8_000_000));
}
