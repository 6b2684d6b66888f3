//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! Sections 4.1 to 4.4 and, of the optional ones, 5.1 (ECN), 5.4 (derandomisation), 5.5 (cap on the step). Choices:
//! 1. The queue's delay is that of the packet that left it last, by time stamps, and 0 once it is empty (section 4.3;
//!    Linux's default), not an estimate from a departure rate (5.2).
//! 2. Updates fall at multiples of the period after the first arrival and happen in the model's time, though late.
//! 3. Always active: it is not switched on and off by the queue's length (5.3).
//! 4. A packet is marked below a drop probability of 10 % and dropped above it (section 5.1).

use super::fifo::Fifo;
use super::{QueueDiscipline, Room, Tally, Waiting, mark};
use crate::error::{ConfigError, positive, span};
use crate::packet::Packet;
use crate::time::{Nanos, Time};
use crate::totals::Count;
use bentpipe_base::random::unit;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PieParameters {
    target: Nanos,
    update: Nanos,
    /// Per second of delay.
    alpha: f64,
    beta: f64,
    max_burst: Nanos,
    mtu: u32,
    ecn: bool,
}

impl PieParameters {
    /// RFC 8033, section 4.2 and 4.4: 15 ms, 15 ms, 1/8, 1 1/4, 150 ms where nothing is given.
    pub fn new(
        target: Option<Nanos>,
        update: Option<Nanos>,
        alpha: Option<f64>,
        beta: Option<f64>,
        max_burst: Option<Nanos>,
        mtu: u32,
        ecn: bool,
    ) -> Result<Self, ConfigError> {
        let it = Self {
            target: target.unwrap_or(Nanos::from_millis(15)),
            update: update.unwrap_or(Nanos::from_millis(15)),
            alpha: alpha.unwrap_or(0.125),
            beta: beta.unwrap_or(1.25),
            max_burst: max_burst.unwrap_or(Nanos::from_millis(150)),
            mtu,
            ecn,
        };
        span("queue.discipline.target_ns", it.target)?;
        span("queue.discipline.update_ns", it.update)?;
        positive("queue.discipline.target_ns", it.target.0)?;
        if it.update < Nanos::from_micros(1) {
            let field = "queue.discipline.update_ns";
            return Err(ConfigError::new(field, it.update.0, "at least 1 us"));
        }
        for (name, gain) in [("alpha", it.alpha), ("beta", it.beta)] {
            if !(gain.is_finite() && gain >= 0.0) {
                let field = format!("queue.discipline.{name}");
                return Err(ConfigError::new(field, gain, "0 or more"));
            }
        }
        span("queue.discipline.max_burst_ns", it.max_burst)?;
        Ok(it)
    }
}

#[derive(Debug)]
pub(crate) struct Pie<P> {
    fifo: Fifo<P>,
    parameters: PieParameters,
    controller: Controller,
    rng: Xoshiro256PlusPlus,
}

/// What changes with the queue's delay, named as in the RFC.
#[derive(Debug)]
struct Controller {
    drop_probability: f64,
    accumulated: f64,
    burst_allowance: Nanos,
    delay: Nanos,
    delay_old: Nanos,
    next_update: Option<Time>,
}

impl<P> Pie<P> {
    pub fn new(parameters: PieParameters, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            fifo: Fifo::new(),
            parameters,
            controller: Controller {
                drop_probability: 0.0,
                accumulated: 0.0,
                burst_allowance: parameters.max_burst,
                delay: Nanos::ZERO,
                delay_old: Nanos::ZERO,
                next_update: None,
            },
            rng,
        }
    }

    /// Whether an arrival is to be dropped or marked (section 4.1, with 5.4).
    fn drop_early(&mut self) -> bool {
        let it = &mut self.controller;
        let calm = it.delay_old.0 < self.parameters.target.0 / 2 && it.drop_probability < 0.2;
        let short = self.fifo.depth().bytes <= 2 * u64::from(self.parameters.mtu);
        if it.burst_allowance > Nanos::ZERO || calm || short {
            return false;
        }
        if it.drop_probability == 0.0 {
            it.accumulated = 0.0;
        }
        it.accumulated += it.drop_probability;
        if it.accumulated < 0.85 {
            return false;
        }
        let drop = it.accumulated >= 8.5 || unit(&mut self.rng) < it.drop_probability;
        if drop {
            it.accumulated = 0.0;
        }
        drop
    }
}

impl Controller {
    /// Lives through the updates up to `now`. The queue has not changed since the last call, so neither has its delay.
    fn update_until(&mut self, now: Time, parameters: &PieParameters) {
        let Some(mut next) = self.next_update else {
            self.next_update = Some(now + parameters.update);
            return;
        };
        while next <= now {
            if self.at_rest(parameters) {
                let missed = (now - next).0 / parameters.update.0;
                next += Nanos(missed * parameters.update.0);
            } else {
                self.update(parameters);
            }
            next += parameters.update;
        }
        self.next_update = Some(next);
    }

    /// Whether an update would change nothing.
    fn at_rest(&self, parameters: &PieParameters) -> bool {
        self.drop_probability == 0.0
            && self.delay == Nanos::ZERO
            && self.delay_old == Nanos::ZERO
            && self.burst_allowance == parameters.max_burst
    }

    /// Section 4.2, with the scaling of its table, and 4.4.
    fn update(&mut self, parameters: &PieParameters) {
        let over = (self.delay - parameters.target).as_secs_f64();
        let growth = (self.delay - self.delay_old).as_secs_f64();
        let mut step = parameters.alpha * over + parameters.beta * growth;
        step /= match self.drop_probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.drop_probability >= 0.1 {
            step = step.min(0.02);
        }
        self.drop_probability += step;
        if self.delay == Nanos::ZERO && self.delay_old == Nanos::ZERO {
            self.drop_probability *= 0.98;
        }
        self.drop_probability = self.drop_probability.clamp(0.0, 1.0);
        self.burst_allowance = (self.burst_allowance - parameters.update).max(Nanos::ZERO);
        let half = Nanos(parameters.target.0 / 2);
        if self.drop_probability == 0.0 && self.delay < half && self.delay_old < half {
            self.burst_allowance = parameters.max_burst;
        }
        self.delay_old = self.delay;
    }
}

impl<P: Packet> QueueDiscipline<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        self.controller.update_until(now, &self.parameters);
        if !room.takes(self.fifo.depth(), arrival.bytes) {
            tally.tail.add(arrival.bytes);
            return;
        }
        if self.drop_early() {
            let may_mark = self.parameters.ecn && self.controller.drop_probability < 0.1;
            if !(may_mark && mark(&mut arrival, tally)) {
                tally.aqm.add(arrival.bytes);
                return;
            }
        }
        self.fifo.push(arrival);
    }

    fn dequeue(&mut self, now: Time, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.controller.update_until(now, &self.parameters);
        let head = self.fifo.pop()?;
        self.controller.delay = if self.fifo.depth().packets == 0 {
            Nanos::ZERO
        } else {
            now - head.arrived
        };
        Some(head)
    }

    fn depth(&self) -> Count {
        self.fifo.depth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> PieParameters {
        PieParameters::new(None, None, None, None, None, 1500, false)
            .expect("the defaults are valid")
    }

    /// At 30 ms of delay, up from 20, with this probability.
    fn controller(drop_probability: f64) -> Controller {
        Controller {
            drop_probability,
            accumulated: 0.0,
            burst_allowance: Nanos::from_millis(40),
            delay: Nanos::from_millis(30),
            delay_old: Nanos::from_millis(20),
            next_update: None,
        }
    }

    #[test]
    fn the_step_is_scaled_by_the_table_of_the_rfc() {
        // 1/8 x 15 ms over + 5/4 x 10 ms growth.
        let step = 0.125 * 0.015 + 1.25 * 0.010;
        let table = [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.5, 1.0),
        ];
        for (before, divisor) in table {
            let mut it = controller(before);
            it.update(&parameters());
            let found = it.drop_probability - before;
            assert!((found - step / divisor).abs() < 1e-12, "{before}: {found}");
        }
    }

    #[test]
    fn the_step_is_capped_at_two_hundredths_once_the_probability_is_high() {
        let mut it = controller(0.5);
        it.delay = Nanos::from_millis(500);
        it.update(&parameters());
        assert!((it.drop_probability - 0.52).abs() < 1e-12);
    }

    #[test]
    fn an_empty_queue_lets_the_probability_decay_and_then_restores_the_burst() {
        let mut it = controller(0.01);
        (it.delay, it.delay_old) = (Nanos::ZERO, Nanos::ZERO);
        it.update(&parameters());
        let expected = (0.01 - 0.125 * 0.015 / 2.0) * 0.98;
        assert!((it.drop_probability - expected).abs() < 1e-12);
        assert_eq!(it.burst_allowance, Nanos::from_millis(25));
        for _ in 0..1_000 {
            it.update(&parameters());
        }
        assert!(it.at_rest(&parameters()));
    }

    #[test]
    fn updates_that_come_late_are_made_up_for() {
        let (mut late, mut timely) = (controller(0.01), controller(0.01));
        let update = parameters().update;
        for it in [&mut late, &mut timely] {
            it.update_until(Time::ZERO, &parameters());
        }
        for n in 1..=40 {
            timely.update_until(Time(n * update.0), &parameters());
        }
        late.update_until(Time(40 * update.0 + 7), &parameters());
        assert_eq!(
            late.drop_probability.to_bits(),
            timely.drop_probability.to_bits()
        );
        assert_eq!(late.next_update, timely.next_update);
    }
}
