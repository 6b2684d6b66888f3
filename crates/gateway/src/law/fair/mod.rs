//! A rate that is found, and shared with others. Alone it paces at what the path delivers and keeps the queue empty, as BBR does
//! (draft-ietf-ccwg-bbr-04). Where others fill the queue, it takes as much as one CUBIC flow would (RFC 9438). Departures:
//!
//! 1. What the channel loses is no loss for the law: only overflow slows it down ([`Losses`]).
//! 2. `Startup` also ends when eight round trips in a row show a queue, so the queue is not filled (5.3.1.2 waits for three rounds
//!    without growth, which end it too).
//! 3. `ProbeDown` empties the queue in each cycle, so there is no `ProbeRTT` (5.3.4): the least round trip is seen in any case.
//! 4. There are no limits after losses outside probes (`inflight_shortterm`, 5.5.10): the limit is what is delivered in a round trip
//!    and a little more, so a queue does not grow in `ProbeCruise`.
//! 5. A probe that found more is followed by a larger one, one that met overflow by a smaller one.
//! 6. A queue that does not empty although this sender leaves it room is others'. Jitter makes a sender find a little more than the path's
//!    rate, and then the queue is its own. So its window falls below what the path delivers, and shows whose it is. Others' is also one that
//!    overflows though it is longer than what the probe adds, or a probe that overflows and yet brings more: it took that from others. Then
//!    the window is CUBIC's. Who knows the path's rate has had the path, and makes room at once (RFC 9438, 4.7). Who has just come waits for
//!    the first overflow.
//! 7. Now and then the window falls below what the path delivers. If the queue is then empty, the sender probes again as if it was alone.
//!    An empty queue does not prove that: two CUBIC flows that have just backed off leave a short one empty too. So the window that CUBIC
//!    would have goes on growing, and bounds what is under way. Alone it has soon outgrown what the path carries. Where those who have
//!    backed off would still fill the queue, an empty one is a proof, and the bound ends.

mod states;

use super::cubic::{Cubic, PACKET};
use super::delays::Delays;
use super::flight::Flight;
use super::losses::Losses;
use super::{Heard, Law, Sending};
use bentpipe_base::{Nanos, Time};

/// Section 2.4: the least gains that double what is under way in each round trip.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.8;
/// What a probe adds at first, at least and at most.
const UP: f64 = 0.25;
const LEAST_UP: f64 = 0.03;
const MOST_UP: f64 = 1.0;
/// Section 2.5: BBR.LossThresh.
const LOSS_THRESHOLD: f64 = 0.02;
/// A queue that drops as much as this in a round, and not by a probe, is filled by others.
const LOSS_OF_OTHERS: f64 = 0.005;
/// Until a round trip is known.
const FIRST_BIT_S: f64 = 4e6;
const FIRST_BYTES: f64 = 10.0 * PACKET;
/// Section 2.8 has four packets. Ten, as at the start, come through where most are lost.
const LEAST_BYTES: f64 = 10.0 * PACKET;
const LEAST_BIT_S: f64 = 100e3;
/// In a test of whether others fill the queue, so much of the share is under way.
const TEST_SHARE: f64 = 0.85;
const TEST_EVERY: Nanos = Nanos::from_secs(10);
const TEST_ROUNDS: i64 = 16;
/// A probe follows after so long at the least, or after so many round trips.
const CRUISE: Nanos = Nanos::from_secs(1);
const CRUISE_ROUNDS: i64 = 4;
/// So many rounds in a row the queue did not empty: others fill it.
const HELD_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Cruise,
    Up,
    Down,
    Shared,
    Test,
}

/// What is sent until the packets that are under way at its begin have passed.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    ends_at: u64,
    least: Option<Nanos>,
    greatest: Nanos,
}

/// A queue that did not empty in `Cruise`: others fill it, or the rate that was found is a little more than the path's.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// What the path delivered while the queue stood, in bit/s: its rate, if nobody else is there.
    delivered: f64,
    under_way: u64,
    /// When the state began whose losses made it: a probe follows as soon as without them. `None`: the queue stood.
    overflow_since: Option<Time>,
}

#[derive(Clone, Debug)]
pub(super) struct Fair {
    cap: Option<f64>,
    report_every: Nanos,
    flight: Flight,
    losses: Losses,
    delays: Delays,
    waits_until: Time,
    /// Highest delivery rates of the present cycle and the one before.
    best: [f64; 2],
    is_limited: bool,
    state: State,
    since: Time,
    round: Round,
    rounds: u32,
    /// Of `Startup`: what may be under way, the rate at which growth was seen last, rounds since then, and samples in a row with a queue.
    window: f64,
    full: (f64, u32),
    high: u32,
    up: f64,
    best_before: f64,
    met_overflow: bool,
    /// The last probe met a full queue or brought nothing more: alone, no probe can bring more than what is known by now.
    is_known: bool,
    held: u32,
    /// When `Cruise` began last, and the bytes that had left the path by then.
    cruised_from: (Time, u64),
    /// What is known of a queue that does not empty, while `Test` finds out whose it is.
    doubt: Option<Doubt>,
    /// What a CUBIC flow would have under way by now: known once others have been seen, and a bound in each state since then.
    cubic: Option<Cubic>,
    next_test: Time,
    /// The least round trip since the flight was short enough.
    tested: Option<(Time, Nanos)>,
    /// Overflow of what was sent before is already answered.
    answered: u64,
    rate: f64,
    limit: f64,
}

impl Fair {
    pub fn new(cap_bit_s: Option<u64>, report_every: Nanos) -> Self {
        let mut law = Self {
            cap: cap_bit_s.map(|it| it as f64),
            report_every,
            flight: Flight::default(),
            losses: Losses::default(),
            delays: Delays::default(),
            waits_until: Time(i64::MIN / 2),
            best: [0.0; 2],
            is_limited: false,
            state: State::Startup,
            since: Time::ZERO,
            round: Round::default(),
            rounds: 0,
            window: FIRST_BYTES,
            full: (0.0, 0),
            high: 0,
            up: UP,
            best_before: 0.0,
            met_overflow: false,
            is_known: false,
            held: 0,
            cruised_from: (Time::ZERO, 0),
            doubt: None,
            cubic: None,
            next_test: Time::ZERO,
            tested: None,
            answered: 0,
            rate: FIRST_BIT_S,
            limit: FIRST_BYTES,
        };
        law.settle();
        law
    }

    fn best(&self) -> f64 {
        self.best[0].max(self.best[1])
    }

    /// Bytes that the path carries at its rate in the least round trip and so much longer.
    fn carries(&self, longer: f64) -> f64 {
        self.best() * (self.delays.least().0 as f64 + longer) / 8e9
    }

    fn is_shared(&self) -> bool {
        matches!(self.state, State::Shared | State::Test)
    }

    /// Before the first probe. What a full queue drops of a round of `Startup` counts as delivered until it is reported, and it is much.
    fn is_starting(&self) -> bool {
        self.best_before == 0.0 && !self.is_shared()
    }

    fn on_time(&mut self, now: Time, time: Nanos) {
        let time = self.delays.on_round_trip(now, time);
        let round = &mut self.round;
        round.least = Some(round.least.map_or(time, |it| it.min(time)));
        round.greatest = round.greatest.max(time);
        if let Some((_, least)) = &mut self.tested {
            *least = time.min(*least);
        }
        if self.delays.waits(time, self.is_shared()) {
            self.high += 1;
            // Losses are reported when sixteen more packets have come.
            let decided = 16.0 * PACKET * 8e9 / self.rate;
            self.waits_until = now + self.report_every + self.report_every + Nanos(decided as i64);
        } else {
            self.high = 0;
        }
    }

    fn forget_oldest_best(&mut self) {
        if self.best[0] > 0.0 {
            self.best = [0.0, self.best[0]];
        }
    }

    /// Sets the rate and the limit.
    fn settle(&mut self) {
        let best = self.best();
        let longer = 1.5 * self.report_every.0 as f64
            + (self.delays.least().0 as f64 / 16.0).max(self.delays.spread())
            + 2.0 * self.delays.jitter();
        let per_round = |bytes: f64| self.delays.smoothed().map(|it| bytes * 8e9 / it.max(1.0));
        let (rate, limit) = match self.state {
            State::Startup => {
                let paced = per_round(1.25 * self.window).unwrap_or(FIRST_BIT_S);
                ((STARTUP_GAIN * best).max(paced), self.window)
            }
            State::Drain => (DRAIN_GAIN * best, self.carries(longer)),
            State::Cruise => (best, self.carries(longer)),
            State::Up => (
                (1.0 + self.up) * best,
                (1.0 + self.up) * self.carries(longer),
            ),
            State::Down => (DOWN_GAIN * best, 2.0 * self.carries(longer)),
            State::Shared => {
                let window = self.cubic.as_ref().map_or(FIRST_BYTES, Cubic::bytes);
                (per_round(1.15 * window).unwrap_or(best), window)
            }
            State::Test => (TEST_SHARE * best, TEST_SHARE * self.carries(0.0)),
        };
        let limit = self.cubic.map_or(limit, |it| it.bytes().min(limit));
        let least = per_round(LEAST_BYTES).unwrap_or(0.0).max(LEAST_BIT_S);
        self.rate = rate.max(least).min(self.cap.unwrap_or(f64::MAX));
        self.limit = limit.max(LEAST_BYTES);
    }
}

impl Law for Fair {
    fn on_sent(&mut self, now: Time, sending: Sending) {
        self.flight.on_sent(now, sending);
    }

    fn on_nothing_to_send(&mut self) {
        self.flight.on_nothing_to_send();
    }

    fn on_report(&mut self, now: Time, heard: &Heard) {
        if let Some(time) = heard.round_trip.filter(|_| heard.is_new) {
            self.on_time(now, time);
        }
        let was_full = self.flight.under_way() as f64 >= 0.75 * self.limit;
        let before = self.flight.passed();
        let overflow = if heard.after_silence {
            self.losses.forget_round();
            0.0
        } else {
            self.losses.on_report(heard, now <= self.waits_until)
        };
        let sample = self
            .flight
            .on_report(heard.newest, heard.came, overflow * PACKET);
        if let Some(sample) = sample
            && sample.span >= self.delays.least()
            && !(self.is_starting() && self.losses.overflow_share(true) > LOSS_THRESHOLD)
        {
            self.is_limited = sample.limited;
            if !sample.limited || sample.bit_s > self.best() {
                self.best[0] = self.best[0].max(sample.bit_s);
            }
        }
        if let Some(round_trip) = self.delays.smoothed() {
            let old = 1.25 * round_trip + 4.0 * (self.report_every.0 as f64 + self.delays.jitter());
            self.flight.forget_older(now - Nanos(old as i64));
        }
        let passed = self.flight.passed() - before;
        let ended = (self.flight.passed() >= self.round.ends_at).then_some(self.round);
        if ended.is_some() {
            self.round = Round {
                ends_at: self.flight.sent(),
                ..Round::default()
            };
        }
        self.step(now, passed, was_full, ended);
        self.settle();
    }

    fn rate_bit_s(&self) -> u64 {
        self.rate as u64
    }

    fn has_room(&self) -> bool {
        (self.flight.under_way() as f64) < self.limit
    }
}
