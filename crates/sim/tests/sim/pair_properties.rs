//! Over a box that loses, holds back and duplicates what the test says, every byte arrives once. The connections' invariants are
//! checked after each segment and timer (crates/tcp/src/socket/invariants.rs), the pipes' conservation after each packet.

use bentpipe_base::{Nanos, Time};
use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::node::{Node, Outbox};
use bentpipe_sim::packet::Packet;
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::spec::SimSpec;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Fate {
    Pass,
    Lose,
    Twice,
    /// Held back for so many milliseconds; what comes behind overtakes it.
    Late(i64),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Pass),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Twice),
        2 => (1_i64..400).prop_map(Fate::Late),
    ]
}

/// Deals each packet the next fate of the list; those after the list's end pass.
#[derive(Debug)]
struct Fates {
    fates: std::vec::IntoIter<Fate>,
    /// By the time at which they go on.
    held: VecDeque<(Time, Packet)>,
}

impl Fates {
    fn node(fates: Vec<Fate>) -> Box<dyn Node> {
        Box::new(Self {
            fates: fates.into_iter(),
            held: VecDeque::new(),
        })
    }
}

impl Node for Fates {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match self.fates.next().unwrap_or(Fate::Pass) {
            Fate::Pass => out.send(now, packet),
            Fate::Lose => {}
            Fate::Twice => {
                out.send(now, packet.clone());
                out.send(now, packet);
            }
            Fate::Late(ms) => {
                let until = now + Nanos::from_millis(ms);
                let place = self.held.partition_point(|(at, _)| *at <= until);
                self.held.insert(place, (until, packet));
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.held.front().map(|(at, _)| *at)
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        while self.held.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, packet)) = self.held.pop_front() {
                out.send(now, packet);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_whatever_becomes_of_each_packet(
        near in prop::collection::vec(fate(), 0..250),
        far in prop::collection::vec(fate(), 0..250),
        bytes in (1_u64..400_000, 0_u64..200_000),
        delay_ms in 1_i64..300,
        queue in prop::option::of(2_u64..60),
        control in prop::sample::select(vec!["reno", "cubic", "bbr", "bbr3", "hybla", "slow-start"]),
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        coalesce in prop::sample::select(vec![0_i64, 50_000]),
        seed in 0_u64..1000,
    ) {
        let mut spec = SimSpec { seed, ..SimSpec::default() };
        for pipe in [&mut spec.down, &mut spec.up] {
            let mut config = PipeConfig::default();
            if let Some(packets) = queue {
                config.shaper = ShaperConfig::Fixed { rate_bit_s: 8_000_000 };
                config.queue.limit = QueueLimit::Packets { packets };
            }
            config.propagation.delay_ns = Nanos::from_millis(delay_ms);
            *pipe = config;
        }
        for host in [&mut spec.client, &mut spec.server] {
            host.tcp.congestion_control = control.into();
            host.tcp.sack = sack;
            host.tcp.timestamps = timestamps;
            host.coalesce_ns = Nanos(coalesce);
        }
        let boxes = vec![(Seat::Near, Fates::node(near)), (Seat::Far, Fates::node(far))];
        let mut pair = Pair::new(&spec, boxes).expect("a sound specification");
        let connection = pair.connect();
        pair.write(connection, Side::Client, bytes.0);
        // The server's socket is there when the SYN has come; the SYN may have to be sent often.
        let mut seconds = 0;
        while pair.socket(connection, Side::Server).is_none() && seconds < 1000 {
            seconds += 1;
            pair.run_until(Time(seconds * 1_000_000_000));
        }
        pair.write(connection, Side::Server, bytes.1);
        pair.run_until(Time((seconds + 4000) * 1_000_000_000));
        prop_assert_eq!(pair.received(Side::Server), bytes.0);
        prop_assert_eq!(pair.received(Side::Client), bytes.1);
        for side in Side::BOTH {
            let window = pair.socket(connection, side).expect("open").window();
            prop_assert_eq!((window.packets_out, window.in_flight()), (0, 0));
        }
    }
}
