//! The choice of the carrier, moment by moment.

use super::Action::{Connect, Drop, Use};
use super::Kind::{Quic, Tls};
use super::*;

struct World {
    start: Instant,
    now: Instant,
    choice: Choice,
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl World {
    fn new(has_tls: bool) -> Self {
        let start = Instant::now();
        let mut choice = Choice::new(ChoiceConfig::default(), start);
        if has_tls {
            choice.allow_tls();
        }
        Self {
            start,
            now: start,
            choice,
        }
    }

    /// Lets so much time pass, and says what was to be done, and when.
    fn pass(&mut self, time: Duration) -> Vec<(u128, Action)> {
        let end = self.now + time;
        let mut done = Vec::new();
        loop {
            while let Some(action) = self.choice.poll(self.now) {
                done.push(((self.now - self.start).as_millis(), action));
            }
            match self.choice.timeout().filter(|&at| at <= end) {
                Some(at) => self.now = at.max(self.now),
                None => break,
            }
        }
        self.now = end;
        done
    }

    fn connected(&mut self, kind: Kind) {
        self.choice.on_connected(self.now, kind);
    }

    fn ended(&mut self, kind: Kind) {
        self.choice.on_ended(self.now, kind);
    }

    fn silent(&mut self) {
        self.choice.on_quic_silence(Some(self.now));
    }

    fn heard(&mut self) {
        self.choice.on_quic_silence(None);
    }

    /// A session over TLS, since UDP is blocked from the beginning.
    fn over_tls() -> Self {
        let mut world = Self::new(true);
        world.pass(ms(3000));
        world.connected(Tls);
        assert_eq!(world.pass(ms(27_000)), [(3000, Use(Tls))]);
        world.choice.on_established();
        world
    }
}

#[test]
fn where_udp_is_answered_there_is_no_tcp() {
    let mut world = World::new(true);
    assert_eq!(world.pass(ms(2900)), []);
    world.connected(Quic);
    assert_eq!(world.pass(ms(600_000)), [(2900, Use(Quic))]);
}

#[test]
fn udp_without_an_answer_is_taken_for_blocked_and_what_is_there_first_is_used() {
    let mut world = World::new(true);
    assert_eq!(world.pass(ms(4000)), [(3000, Connect(Tls))]);
    let mut late = World::new(true);
    late.pass(ms(4000));
    world.connected(Tls);
    assert_eq!(world.pass(ms(1000)), [(4000, Use(Tls))]);
    // QUIC was only slow.
    late.connected(Quic);
    assert_eq!(late.pass(ms(9000)), [(4000, Use(Quic)), (4000, Drop(Tls))]);
}

#[test]
fn quic_is_tried_less_and_less_and_taken_when_it_connects() {
    let mut world = World::over_tls();
    let mut waits = Vec::new();
    for _ in 0..8 {
        let before = world.now;
        world.ended(Quic);
        let due = world.choice.timeout().expect("QUIC is tried again");
        assert_eq!(
            world.pass(due - before).last().map(|it| it.1),
            Some(Connect(Quic))
        );
        waits.push((due - before).as_secs());
        world.pass(ms(30_000));
    }
    assert_eq!(waits, [20, 40, 80, 160, 300, 300, 300, 300]);
    world.connected(Quic);
    let actions = world.pass(ms(60_000));
    let actions: Vec<_> = actions.into_iter().map(|it| it.1).collect();
    assert_eq!(actions, [Use(Quic), Drop(Tls)]);
}

#[test]
fn quic_that_falls_silent_is_left_when_tcp_gets_through_and_it_still_says_nothing() {
    let mut world = World::new(true);
    world.connected(Quic);
    world.pass(ms(1_000_000));
    world.silent();
    assert_eq!(world.pass(ms(3200)), [(1_003_000, Connect(Tls))]);
    world.connected(Tls);
    let left = [(1_003_700, Use(Tls)), (1_003_700, Drop(Quic))];
    assert_eq!(world.pass(ms(9000)), left);
    // It had worked for long, so it is tried soon.
    assert_eq!(world.pass(ms(5000)), [(1_013_700, Connect(Quic))]);
}

#[test]
fn an_outage_of_the_whole_path_does_not_move_the_session() {
    let mut world = World::new(true);
    world.connected(Quic);
    world.pass(ms(1000));
    world.silent();
    // TCP gets no answer either. It begins anew, so that its own waiting times stay short.
    let tries = [
        (4000, Connect(Tls)),
        (14_000, Drop(Tls)),
        (14_000, Connect(Tls)),
    ];
    assert_eq!(world.pass(ms(20_000)), tries);
    // The path is back, and TCP happens to be faster.
    world.connected(Tls);
    assert_eq!(world.pass(ms(400)), []);
    world.heard();
    assert_eq!(world.pass(ms(600_000)), [(21_400, Drop(Tls))]);
}

#[test]
fn when_tls_is_lost_both_connect_again() {
    let mut world = World::over_tls();
    world.ended(Quic);
    world.pass(ms(5000));
    world.ended(Tls);
    let actions: Vec<_> = world.pass(ms(2000)).into_iter().map(|it| it.1).collect();
    assert_eq!(actions, [Connect(Quic), Connect(Tls)]);
}

#[test]
fn failures_at_once_do_not_make_a_busy_loop() {
    let mut world = World::new(true);
    let mut tries = 0;
    world.ended(Quic);
    while world.now < world.start + ms(60_000) {
        for (_, action) in world.pass(ms(10)) {
            let Connect(kind) = action else {
                panic!("{action:?}");
            };
            world.ended(kind);
            tries += 1;
        }
    }
    assert!((20..60).contains(&tries), "{tries} tries in a minute");
}

#[test]
fn without_tcp_quic_tries_again_and_again() {
    let mut world = World::new(false);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let before = world.now;
        world.ended(Quic);
        let due = world.choice.timeout().expect("QUIC is tried again");
        assert_eq!(world.pass(due - before).len(), 1);
        waits.push((due - before).as_millis());
    }
    assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
}
