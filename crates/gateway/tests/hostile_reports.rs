//! A peer with a valid key whose reports say whatever it likes: the control law and the probes go by them.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{Config, Rate};
use ends::{Victim, config, hello, target};
use proptest::prelude::*;

/// Numbers near the ones that were sent, and any others.
fn field() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0..100_u32,
        2 => Just(0_u32),
        1 => Just(u32::MAX),
        1 => any::<u32>(),
    ]
}

/// A report without ranges, or with one.
fn report() -> impl Strategy<Value = Vec<u8>> {
    let fields = prop::array::uniform12(field());
    (fields, any::<u16>(), prop::option::of(field())).prop_map(|(fields, deficit, range)| {
        let mut frame = vec![0];
        frame.extend((2 << 28 | fields[0] & 0x0fff_ffff).to_be_bytes());
        frame.extend((fields[1] & 0x0fff_ffff).to_be_bytes());
        frame.extend(fields[2..].iter().flat_map(|it| it.to_be_bytes()));
        frame.extend(fields[1].to_be_bytes());
        frame.extend(deficit.to_be_bytes());
        frame.extend(u16::from(range.is_some()).to_be_bytes());
        frame.extend(range.map(u32::to_be_bytes).into_iter().flatten());
        frame
    })
}

proptest! {
    #[test]
    fn whatever_reports_say_the_session_goes_on_and_comes_to_rest(
        law in prop_oneof![Just(Rate::Fixed(16_000_000)), Just(Rate::Capped(8_000_000)), Just(Rate::Fair)],
        reports in prop::collection::vec((report(), 0..60_i64), 1..40),
    ) {
        let mut victim = Victim::new(Config { rate: law, ..config(16_000_000) }, hello());
        let flow = victim.session.open(1, &target()).unwrap();
        for (report, millis) in reports {
            victim.session.write(flow, &vec![1; 20_000]);
            victim.session.handle_datagram(victim.now, &report);
            victim.session.handle_timeout(victim.now);
            victim.wait(Nanos::from_millis(millis));
        }
        prop_assert!(victim.session.has_session());
        prop_assert_eq!(victim.session.figures().malformed, 0);
        victim.wait(Nanos::from_secs(20));
        prop_assert!(victim.session.has_session());
    }
}
