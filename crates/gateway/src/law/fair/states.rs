//! What follows what: the states of the law, and what moves it from one to the next.

use super::super::cubic::{Cubic, PACKET};
use super::{
    CRUISE, CRUISE_ROUNDS, Doubt, Fair, HELD_ROUNDS, LEAST_UP, LOSS_OF_OTHERS, LOSS_THRESHOLD,
    MOST_UP, Round, State, TEST_EVERY, TEST_ROUNDS, TEST_SHARE, UP,
};
use bentpipe_base::{Nanos, Time};

impl Fair {
    fn enter(&mut self, now: Time, state: State) {
        self.state = state;
        self.since = now;
        self.rounds = 0;
        self.high = 0;
        self.tested = None;
        match state {
            State::Up => {
                self.best_before = self.best();
                self.met_overflow = false;
                self.forget_oldest_best();
            }
            State::Cruise => {
                self.held = 0;
                self.cruised_from = (now, self.flight.passed());
            }
            State::Shared => self.held = 0,
            State::Startup | State::Drain | State::Down | State::Test => {}
        }
    }

    pub(super) fn step(
        &mut self,
        now: Time,
        passed: u64,
        was_full: bool,
        round_ended: Option<Round>,
    ) {
        if let Some(round) = round_ended {
            self.rounds += 1;
            self.on_round(now, &round);
        }
        let is_short = self.flight.under_way() as f64 <= self.carries(0.0) + 2.0 * PACKET;
        let base = self.delays.least();
        if was_full && self.state != State::Test {
            let round_trip = Nanos(self.delays.smoothed().unwrap_or(0.0) as i64);
            if let Some(cubic) = &mut self.cubic {
                cubic.on_passed(now, passed, round_trip);
            }
        }
        match self.state {
            State::Startup => {
                if was_full {
                    self.window += passed as f64;
                }
                if self.high >= 8 {
                    self.enter(now, State::Drain);
                }
            }
            State::Drain => {
                if is_short || self.rounds >= 4 {
                    self.enter(now, State::Cruise);
                }
            }
            State::Cruise => {
                let span = CRUISE.max(Nanos(base.0 * CRUISE_ROUNDS));
                if now - self.since >= span && !self.is_limited {
                    self.settle_probe();
                    self.enter(now, State::Up);
                }
            }
            State::Up => {
                if now - self.since >= base {
                    self.enter(now, State::Down);
                }
            }
            State::Down => {
                if (is_short && self.rounds >= 1) || self.rounds >= 5 {
                    self.end_probe(now);
                }
            }
            State::Shared => self.step_shared(now),
            State::Test => self.step_test(now),
        }
    }

    fn step_shared(&mut self, now: Time) {
        let round_trip = Nanos(self.delays.smoothed().unwrap_or(0.0) as i64);
        if self.losses.overflow_share(false) > 0.0 && self.flight.passed() >= self.answered {
            if let Some(cubic) = &mut self.cubic {
                cubic.on_overflow();
            }
            self.answered = self.flight.sent();
            self.losses.forget_round();
            // Right after it the queue is shorter than it is in the mean.
            self.next_test = self.next_test.max(now + round_trip + round_trip);
        }
        if now >= self.next_test {
            self.enter(now, State::Test);
        }
    }

    fn step_test(&mut self, now: Time) {
        // The limit is still that of the state before when this one has just begun.
        let limit = self.limit.min(TEST_SHARE * self.carries(0.0));
        let is_short = self.flight.under_way() as f64 <= limit + 2.0 * PACKET;
        if self.tested.is_none() && (is_short || self.rounds >= 3) {
            self.tested = Some((now, Nanos(i64::MAX)));
        }
        let round_trip = self.delays.smoothed().unwrap_or(0.0);
        if let Some((from, least)) = self.tested
            && (now - from).0 as f64 > round_trip
        {
            let paused = now - self.since;
            let doubt = self.doubt.take();
            if self.delays.stands(least) {
                if let Some(doubt) = doubt {
                    self.share(now, doubt.under_way, doubt.overflow_since.is_some());
                    return;
                }
                if let Some(cubic) = &mut self.cubic {
                    cubic.pause(paused);
                }
                self.next_test = now + self.test_every();
                self.enter(now, State::Shared);
            } else if let Some(doubt) = doubt {
                self.losses.learn_unsure();
                self.enter(now, State::Cruise);
                match doubt.overflow_since {
                    Some(since) => self.since = since,
                    None if self.is_limited => {}
                    None => self.best = [doubt.delivered, 0.0],
                }
            } else {
                // An empty queue proves that nobody is there only where those who have just backed off would still fill it.
                if self.delays.outlasts_back_off(Cubic::AFTER_OVERFLOW) {
                    self.cubic = None;
                    self.is_known = false;
                    self.up = UP;
                    self.enter(now, State::Up);
                } else {
                    self.enter(now, State::Cruise);
                }
            }
        }
    }

    fn end_probe(&mut self, now: Time) {
        if self.best() > self.best_before * (1.0 + self.up / 2.0) {
            self.up = (self.up * 2.0).min(MOST_UP);
            self.is_known = self.met_overflow;
            self.enter(now, State::Up);
        } else {
            self.is_known = true;
            self.enter(now, State::Cruise);
        }
    }

    /// Overflow by a probe is known when the queue has been emptied again.
    fn settle_probe(&mut self) {
        self.up = if self.met_overflow {
            (self.up / 2.0).max(LEAST_UP)
        } else {
            (self.up * 2.0).min(UP)
        };
    }

    /// Whether a queue as long as there has been is more than the present probe fills, and what may stand between two reports.
    fn probe_is_short(&self) -> bool {
        let probe = self.up * self.delays.least().0 as f64;
        probe + (self.report_every.0 as f64) < self.delays.longest_wait().0 as f64
    }

    /// Whether the last probe brought more although it overflowed: it took what others had. Before any have been seen, a probe may also
    /// find more because the path's rate is not known yet.
    fn probe_displaced(&self) -> bool {
        let could = self.is_known || self.cubic.is_some();
        could && self.best() > self.best_before * (1.0 + self.up / 4.0)
    }

    /// Others fill the queue, or have just overfilled it.
    fn share(&mut self, now: Time, under_way: u64, overflow: bool) {
        let bytes = self.carries(0.0).max(under_way as f64);
        let mut cubic = match self.cubic {
            Some(cubic) => cubic.with_at_most(bytes),
            None => Cubic::new(bytes, self.is_known),
        };
        // Who knows the path's rate has had the path, and makes room. Who has just come has nothing to give until the queue overflows.
        if overflow || self.cubic.is_some() || self.is_known {
            cubic.on_overflow();
        }
        self.cubic = Some(cubic);
        self.losses.forget_unsure();
        self.up = LEAST_UP;
        self.next_test = now + self.test_every();
        self.answered = self.flight.sent();
        self.enter(now, State::Shared);
    }

    /// The queue does not empty, or the path loses more where the delay does not tell why.
    fn doubt(&mut self, now: Time, overflow: bool) {
        let (from, passed) = self.cruised_from;
        let bytes = (self.flight.passed() - passed) as f64;
        self.doubt = Some(Doubt {
            delivered: bytes * 8e9 / (now - from).0.max(1) as f64,
            under_way: self.flight.under_way(),
            overflow_since: overflow.then_some(self.since),
        });
        self.enter(now, State::Test);
    }

    fn test_every(&self) -> Nanos {
        let rounds = self.delays.smoothed().unwrap_or(0.0) as i64 * TEST_ROUNDS;
        Nanos(TEST_EVERY.0.max(rounds))
    }

    fn on_round(&mut self, now: Time, round: &Round) {
        let delays = self.delays;
        let overflow = self.losses.overflow_share(true) > LOSS_THRESHOLD;
        match self.state {
            State::Startup => {
                if self.best() >= self.full.0 * 1.25 {
                    self.full = (self.best(), 0);
                } else if !self.is_limited {
                    self.full.1 += 1;
                }
                if self.full.1 >= 3 || overflow {
                    self.enter(now, State::Drain);
                }
            }
            State::Cruise | State::Down => {
                if overflow {
                    self.met_overflow = true;
                }
                // The first round's packets were sent before.
                if self.rounds > 1 && round.least.is_some_and(|it| delays.stands(it)) {
                    self.held += 1;
                } else if round.least.is_some() && self.rounds > 1 {
                    self.held = 0;
                }
                let is_others = self.state == State::Cruise && self.rounds > 2;
                let others_overflow = self.best_before > 0.0
                    && self.losses.overflow_share(false) > LOSS_OF_OTHERS
                    && (self.probe_is_short() || self.probe_displaced() || is_others);
                if others_overflow && !self.delays.vary() {
                    self.share(now, self.flight.under_way(), true);
                } else if others_overflow || self.held >= HELD_ROUNDS {
                    self.doubt(now, self.held < HELD_ROUNDS);
                }
            }
            // It tells of packets that were sent before the probe.
            State::Up => {
                let overflow = self.losses.overflow_share(false) > LOSS_OF_OTHERS;
                if overflow && self.cubic.is_some() {
                    self.share(now, self.flight.under_way(), true);
                }
            }
            State::Shared => {
                if self.rounds.is_multiple_of(4) {
                    self.forget_oldest_best();
                }
            }
            State::Drain | State::Test => {}
        }
        self.losses
            .end_round(round.greatest > Nanos::ZERO && delays.is_quiet(round.greatest));
    }
}
