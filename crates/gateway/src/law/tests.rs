//! The laws on a path in virtual time: a line with a queue, a channel that loses, and reports each 20 ms.

use super::{Heard, Law, Sending, law};
use crate::config::Rate;
use bentpipe_base::{Nanos, SplitMix64, Time};
use std::collections::VecDeque;

const REPORTS: Nanos = Nanos::from_millis(20);
const BYTES: u64 = 1500;
const STEP: Nanos = Nanos::from_micros(250);

struct Path {
    law: Box<dyn Law>,
    now: Time,
    bit_s: f64,
    base: Nanos,
    queue_bytes: f64,
    loss: f64,
    dark: bool,
    random: SplitMix64,
    free_at: Time,
    next: Time,
    number: u64,
    /// When a report could say that a packet came, or that it did not; whether the queue dropped it; when it was sent.
    coming: VecDeque<(Time, u64, Option<bool>, Time)>,
    next_report: Time,
    queue_peak: f64,
    sent: u64,
    delivered: u64,
}

impl Path {
    fn new(rate: Rate, mbit_s: f64, base_ms: i64, bdps: f64, loss: f64) -> Self {
        let base = Nanos::from_millis(base_ms);
        Self {
            law: law(rate, REPORTS),
            now: Time::ZERO,
            bit_s: mbit_s * 1e6,
            base,
            queue_bytes: mbit_s * 1e6 / 8.0 * base.as_secs_f64() * bdps,
            loss,
            dark: false,
            random: SplitMix64(5),
            free_at: Time::ZERO,
            next: Time::ZERO,
            number: 0,
            coming: VecDeque::new(),
            next_report: Time::ZERO,
            queue_peak: 0.0,
            sent: 0,
            delivered: 0,
        }
    }

    fn send(&mut self) {
        let number = self.number;
        self.number += 1;
        self.sent += BYTES;
        let bytes = BYTES;
        self.law.on_sent(self.now, Sending { bytes, number });
        let waiting = (self.free_at - self.now).0.max(0) as f64 * self.bit_s / 8e9;
        self.queue_peak = self.queue_peak.max(waiting);
        if self.dark {
            return;
        }
        if waiting + BYTES as f64 > self.queue_bytes {
            let at = self.free_at + self.base;
            self.coming.push_back((at, number, Some(true), self.now));
            return;
        }
        let span = Nanos((BYTES as f64 * 8e9 / self.bit_s) as i64);
        self.free_at = self.free_at.max(self.now) + span;
        let lost = (self.random.draw() >> 11) as f64 / (1_u64 << 53) as f64 <= self.loss;
        let fate = (lost && self.loss > 0.0).then_some(false);
        let at = self.free_at + self.base;
        self.coming.push_back((at, number, fate, self.now));
    }

    fn report(&mut self) {
        let (mut decided, mut lost, mut overflow) = (0, 0, 0);
        let mut newest = None;
        while let Some((at, number, fate, sent)) = self.coming.pop_front_if(|it| it.0 <= self.now) {
            decided += 1;
            match fate {
                None => {
                    newest = Some((number, at, at - sent));
                    self.delivered += BYTES;
                }
                Some(queue) => {
                    lost += 1;
                    overflow += u64::from(queue);
                }
            }
        }
        let Some((newest, came, round_trip)) = newest else {
            return;
        };
        let heard = Heard {
            newest,
            came,
            round_trip: Some(round_trip),
            is_new: true,
            decided,
            lost,
            overflow,
            judged_overflow: overflow,
            after_silence: false,
        };
        self.law.on_report(self.now, &heard);
    }

    /// Mbit/s that were delivered in the seconds up to `end`.
    fn run(&mut self, end: f64) -> f64 {
        let (from, before) = (self.now, self.delivered);
        while self.now.as_secs_f64() < end {
            self.now += STEP;
            while self.next <= self.now && self.law.has_room() {
                self.send();
                let span = BYTES as f64 * 8e9 / self.law.rate_bit_s() as f64;
                self.next = self.next.max(self.now - STEP) + Nanos(span as i64);
            }
            if self.next_report <= self.now {
                self.report();
                self.next_report = self.now + REPORTS;
            }
        }
        (self.delivered - before) as f64 * 8e-6 / (self.now - from).as_secs_f64()
    }
}

#[test]
fn the_rate_is_found_within_ten_round_trips() {
    for (mbit_s, base_ms) in [(16.0, 550), (20.0, 100), (100.0, 40), (2.0, 300)] {
        let mut path = Path::new(Rate::Fair, mbit_s, base_ms, 1.0, 0.0);
        let begun = 12.0 * base_ms as f64 / 1e3;
        path.run(begun);
        let share = path.run(begun + 20.0) / mbit_s;
        assert!(share > 0.94, "{mbit_s} Mbit/s, {base_ms} ms: {share}");
    }
}

#[test]
fn what_the_channel_loses_does_not_slow_it_down() {
    for loss in [0.001, 0.01, 0.05] {
        let mut path = Path::new(Rate::Fair, 16.0, 550, 1.0, loss);
        path.run(20.0);
        let share = path.run(80.0) / (16.0 * (1.0 - loss));
        assert!(share > 0.94, "loss {loss}: {share}");
    }
}

#[test]
fn alone_it_leaves_the_queue_empty_but_for_its_probes() {
    let mut path = Path::new(Rate::Fair, 16.0, 550, 1.0, 0.01);
    path.run(15.0);
    path.queue_peak = 0.0;
    path.run(75.0);
    // A probe adds a quarter for a round trip.
    let share = path.queue_peak / path.queue_bytes;
    assert!(share < 0.4, "{share} of the queue");
}

#[test]
fn a_queue_that_is_too_short_for_probes_loses_little() {
    let mut path = Path::new(Rate::Fair, 16.0, 550, 0.03, 0.0);
    path.run(15.0);
    let (sent, delivered) = (path.sent, path.delivered);
    let rate = path.run(135.0);
    let kept = (path.delivered - delivered) as f64 / (path.sent - sent) as f64;
    assert!(kept > 0.97 && rate > 14.0, "{kept} came, {rate} Mbit/s");
}

#[test]
fn a_cap_is_never_exceeded() {
    let mut path = Path::new(Rate::Capped(5_000_000), 16.0, 100, 1.0, 0.01);
    for second in 1..30 {
        let before = path.sent;
        path.run(f64::from(second));
        let sent = (path.sent - before) * 8;
        assert!(sent <= 5_000_000 + 2 * BYTES * 8, "{sent} bits");
        assert!(path.law.rate_bit_s() <= 5_000_000);
    }
    assert!(path.run(60.0) > 4.8);
}

#[test]
fn a_slower_line_is_followed_within_seconds_and_a_faster_one_too() {
    let mut path = Path::new(Rate::Fair, 16.0, 100, 1.0, 0.0);
    path.run(10.0);
    path.bit_s = 4e6;
    path.run(25.0);
    assert!(path.law.rate_bit_s() < 8_000_000);
    path.bit_s = 16e6;
    path.run(45.0);
    assert!(path.run(65.0) > 14.0);
}

#[test]
fn after_an_outage_the_rate_is_still_known() {
    let mut path = Path::new(Rate::Fair, 16.0, 550, 1.0, 0.0);
    path.run(15.0);
    path.dark = true;
    path.run(35.0);
    path.dark = false;
    // What was lost is no longer under way once a report says that something came.
    let heard = Heard {
        newest: path.number - 1,
        came: path.now,
        round_trip: None,
        is_new: false,
        decided: path.number,
        lost: 1000,
        overflow: 0,
        judged_overflow: 0,
        after_silence: true,
    };
    path.law.on_report(path.now, &heard);
    path.run(37.0);
    let rate = path.run(40.0);
    assert!(rate > 14.0, "{rate} Mbit/s");
}

#[test]
fn a_fixed_rate_stays_whatever_is_lost() {
    let mut path = Path::new(Rate::Fixed(8_000_000), 16.0, 100, 1.0, 0.3);
    path.run(20.0);
    assert_eq!(path.law.rate_bit_s(), 8_000_000);
    assert!(path.law.has_room());
}
