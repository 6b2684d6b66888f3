//! The packets that are missing, and when each is asked for exactly.
//!
//! A packet is due when it has been missing for a while. Asked for is then what makes all due packets known, and no more: either the
//! younger packets that their equations need, or the due packets themselves, whichever are fewer. To ask for the younger
//! ones always would never end: when those are due, their equations need still younger ones, since each round trip
//! brings new losses.

use super::round_trip::RoundTrip;
use crate::decoder::Decoder;
use crate::frame::{RANGE_MAX_PACKETS, REPORT_MAX_RANGES};
use bentpipe_base::{Nanos, OrderedSet, Time};
use std::collections::VecDeque;

/// How missing packets are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactConfig {
    /// A packet is asked for when it has been missing so long: the time that repairs and late packets are given.
    pub patience: Nanos,
    /// Asked for again after this, until a round trip has been measured.
    pub again: Nanos,
    /// Asked for so many times; [`Self::WITHOUT_END`]: until it comes.
    pub tries: u8,
}

impl ExactConfig {
    /// Packets are asked for until they come: the sender keeps them until the receiver has them.
    pub const WITHOUT_END: u8 = u8::MAX;

    fn gives_up(&self, asked: u8) -> bool {
        self.tries != Self::WITHOUT_END && asked >= self.tries
    }
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    id: u64,
    /// Since when it is missing, or when it was asked for last.
    since: Time,
    asked: u8,
}

/// So many missing packets are gone through at most for each report: those that 64 reports can ask for. At 1 Gbit/s and a report each 10 ms that
/// is 0.6 s of asking, a round trip. A peer that skips a million numbers must not have a million looked at in each report.
const MOST_LOOKED_AT: usize = 1 << 16;

#[derive(Clone, Debug)]
pub(crate) struct MissingPackets {
    exact: Option<ExactConfig>,
    /// By number. Those that came since are removed when the list is gone through.
    list: VecDeque<Missing>,
    /// Those behind the list, which is full: their numbers, and since when they are missing.
    later: VecDeque<(u64, Time)>,
    round_trip: RoundTrip,
    next_due: Option<Time>,
}

impl MissingPackets {
    pub fn new(exact: Option<ExactConfig>) -> Self {
        Self {
            exact,
            list: VecDeque::new(),
            later: VecDeque::new(),
            round_trip: RoundTrip::new(exact.map_or(Nanos::ZERO, |it| it.again)),
            next_due: None,
        }
    }

    /// When packets are to be asked for next.
    pub fn next_due(&self) -> Option<Time> {
        self.next_due
    }

    /// A packet that is newer than all was named, and this one did not come with it.
    pub fn add(&mut self, now: Time, id: u64) {
        if let Some(exact) = self.exact {
            self.later.push_back((id, now));
            if self.list.len() < MOST_LOOKED_AT {
                self.fill_list(|_| false);
            }
            let due = now + exact.patience;
            self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
        }
    }

    /// A packet came that was asked for.
    pub fn on_exact(&mut self, now: Time, id: u64) {
        if let Some(at) = self.place(id) {
            // After the second asking it is not known which one was answered.
            if self.list[at].asked == 1 {
                self.round_trip.on_sample(now, now - self.list[at].since);
            }
        }
    }

    /// The path's least round trip: what comes sooner after it was asked for is no answer.
    pub fn set_least_round_trip(&mut self, least: Nanos) {
        self.round_trip.set_soonest(least);
    }

    /// From now on a packet is asked for when it has been missing so long.
    pub fn set_patience(&mut self, patience: Nanos) {
        if let Some(exact) = &mut self.exact {
            exact.patience = patience;
        }
    }

    /// Numbers before this one are no longer kept.
    pub fn forget_before(&mut self, first: u64) {
        while self.list.front().is_some_and(|it| it.id < first) {
            self.list.pop_front();
        }
        while self.later.front().is_some_and(|it| it.0 < first) {
            self.later.pop_front();
        }
    }

    fn fill_list(&mut self, is_known: impl Fn(u64) -> bool) {
        while self.list.len() < MOST_LOOKED_AT
            && let Some((id, since)) = self.later.pop_front()
        {
            if !is_known(id) {
                let asked = 0;
                self.list.push_back(Missing { id, since, asked });
            }
        }
    }

    /// What to ask for now, as ranges: the first number and how many.
    pub fn ask(&mut self, now: Time, decoder: &mut Decoder) -> Vec<(u64, u8)> {
        let mut asked = Asked::default();
        let Some(exact) = self
            .exact
            .filter(|_| self.next_due.is_some_and(|at| at <= now))
        else {
            return asked.0;
        };
        self.list.retain(|it| !decoder.is_known(it.id));
        self.fill_list(|id| decoder.is_known(id));
        let again = self.round_trip.timeout();
        let due = |it: &Missing| it.since + if it.asked == 0 { exact.patience } else { again };
        // A packet that is no longer asked for must not keep those waiting whose equation contains it.
        for missing in &self.list {
            if exact.gives_up(missing.asked) && due(missing) <= now {
                decoder.break_promise(missing.id);
            }
        }
        let mut with_equation = Vec::new();
        let mut needed = OrderedSet::new();
        for missing in &mut self.list {
            if exact.gives_up(missing.asked) || due(missing) > now {
                continue;
            }
            if missing.asked > 0 {
                asked.add(now, missing, decoder);
                continue;
            }
            match &decoder.needed(missing.id)[..] {
                [only] if *only == missing.id => asked.add(now, missing, decoder),
                others => {
                    with_equation.push(missing.id);
                    for &id in others {
                        needed.insert(id);
                    }
                }
            }
        }
        let may_be_asked_for = |&id: &u64| {
            self.place(id)
                .is_some_and(|at| !exact.gives_up(self.list[at].asked))
        };
        let ask_for_others =
            needed.len() <= with_equation.len() && needed.iter().all(|id| may_be_asked_for(&id));
        let ask_for = if ask_for_others {
            needed.iter().collect()
        } else {
            with_equation.clone()
        };
        for id in ask_for {
            if let Some(at) = self.place(id)
                && (ask_for_others || !decoder.needed(id).is_empty())
            {
                asked.add(now, &mut self.list[at], decoder);
            }
        }
        // What the packets asked for will give is looked at again when they should have come.
        for id in with_equation {
            if let Some(at) = self.place(id)
                && self.list[at].asked == 0
                && decoder.needed(id).is_empty()
            {
                self.list[at].since = now + again - exact.patience;
            }
        }
        let open = self.list.iter().filter(|it| !exact.gives_up(it.asked));
        self.next_due = open.map(due).min();
        asked.0
    }

    fn place(&self, id: u64) -> Option<usize> {
        self.list.binary_search_by_key(&id, |it| it.id).ok()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.list.len() + self.later.len()
    }

    #[cfg(test)]
    pub fn looked_at(&self) -> usize {
        self.list.len()
    }
}

/// The ranges of a report.
#[derive(Debug, Default)]
struct Asked(Vec<(u64, u8)>);

impl Asked {
    /// Does nothing where there is no room for another range.
    fn add(&mut self, now: Time, missing: &mut Missing, decoder: &mut Decoder) {
        let last = self.0.last_mut();
        let next =
            last.filter(|it| it.0 + u64::from(it.1) == missing.id && it.1 < RANGE_MAX_PACKETS);
        if let Some((_, length)) = next {
            *length += 1;
        } else if self.0.len() < REPORT_MAX_RANGES {
            self.0.push((missing.id, 1));
        } else {
            return;
        }
        missing.asked = missing.asked.saturating_add(1);
        missing.since = now;
        decoder.promise(missing.id);
    }
}
