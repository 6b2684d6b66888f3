//! Whose bytes are next: deficit round robin (Shreedhar and Varghese, 1995) between local users, and between the flows of each. Who has had
//! nothing to send for a round comes first, as in RFC 8290 (section 4.2): a keystroke does not wait for a download.

use bentpipe_base::{OrderedMap, OrderedSet};
use std::collections::VecDeque;

/// Bytes that one that was idle may send before it takes its turn with the others: ten packets, as many as TCP begins with (RFC 6928).
const NEW_QUANTUM: i64 = 15_000;
/// Bytes of each turn.
const QUANTUM: i64 = 1500;
/// Fewer places are not worth looking through.
const LEAST_TIDIED: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    deficit: i64,
    list: List,
    has_work: bool,
}

/// Turns between keys.
#[derive(Clone, Debug, Default)]
struct Turns {
    entries: OrderedMap<u64, Entry>,
    new: VecDeque<u64>,
    old: VecDeque<u64>,
    working: usize,
}

impl Turns {
    fn set_work(&mut self, key: u64, has_work: bool) {
        match self.entries.get_mut(key) {
            Some(entry) => {
                self.working += usize::from(has_work);
                self.working -= usize::from(entry.has_work);
                entry.has_work = has_work;
            }
            None if has_work => {
                self.working += 1;
                let entry = Entry {
                    deficit: NEW_QUANTUM,
                    list: List::New,
                    has_work,
                };
                self.entries.insert(key, entry);
                self.new.push_back(key);
            }
            None => {}
        }
    }

    /// The key whose turn it is.
    fn next(&mut self) -> Option<u64> {
        loop {
            let (key, list) = match (self.new.front(), self.old.front()) {
                (Some(&key), _) => (key, List::New),
                (None, Some(&key)) => (key, List::Old),
                (None, None) => return None,
            };
            let is_alone = self.entries.len() == 1;
            let Some(entry) = self.entries.get_mut(key).filter(|it| it.list == list) else {
                self.pop(list);
                continue;
            };
            if entry.has_work && entry.deficit > 0 {
                return Some(key);
            }
            if !entry.has_work && (list == List::Old || is_alone) {
                self.entries.remove(key);
                self.pop(list);
                continue;
            }
            // A new one that has nothing more waits for a round as an old one, so that it is not new at once again.
            if entry.deficit <= 0 {
                entry.deficit += QUANTUM;
            }
            entry.list = List::Old;
            self.pop(list);
            self.old.push_back(key);
        }
    }

    fn pop(&mut self, list: List) {
        match list {
            List::New => self.new.pop_front(),
            List::Old => self.old.pop_front(),
        };
    }

    /// A key is over.
    fn remove(&mut self, key: u64) {
        self.set_work(key, false);
        self.entries.remove(key);
        self.tidy();
    }

    /// Places of keys that are over go when their turn comes, and all at once where that does not happen.
    fn tidy(&mut self) {
        if self.new.len() + self.old.len() > 2 * self.entries.len() + LEAST_TIDIED {
            for (places, list) in [(&mut self.new, List::New), (&mut self.old, List::Old)] {
                let mut seen = OrderedSet::new();
                let is_at = |key: &u64| self.entries.get(*key).is_some_and(|it| it.list == list);
                places.retain(|key| is_at(key) && seen.insert(*key));
            }
        }
    }

    /// Forgets keys that have no work, where they are many: no turn comes to them.
    fn tidy_idle(&mut self) {
        if self.entries.len() > 2 * self.working + LEAST_TIDIED {
            self.entries.retain(|it| it.has_work);
            self.tidy();
        }
    }

    fn charge(&mut self, key: u64, bytes: i64) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.deficit -= bytes;
        }
    }

    /// Whether the key is among those that were idle.
    fn is_new(&self, key: u64) -> bool {
        self.entries.get(key).is_some_and(|it| it.list == List::New)
    }

    fn has_work(&self) -> bool {
        self.working > 0
    }
}

/// Users by number, and their flows by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduler {
    users: Turns,
    flows: OrderedMap<u64, Turns>,
}

impl Scheduler {
    /// A flow has bytes that may be sent, or has none.
    pub fn set_work(&mut self, user: u64, flow: u64, has_work: bool) {
        let turns = self.flows.get_or_insert_with(user, Turns::default);
        turns.set_work(flow, has_work);
        self.users.set_work(user, turns.has_work());
        if turns.entries.is_empty() {
            self.flows.remove(user);
        }
    }

    /// A flow is over.
    pub fn forget(&mut self, user: u64, flow: u64) {
        if let Some(turns) = self.flows.get_mut(user) {
            turns.remove(flow);
            self.users.set_work(user, turns.has_work());
            if turns.entries.is_empty() {
                self.flows.remove(user);
            }
        }
        self.users.tidy_idle();
    }

    #[cfg(test)]
    fn has_work(&self) -> bool {
        self.users.has_work()
    }

    /// The user and the flow whose turn it is, and whether it comes before the others since it was idle.
    pub fn next(&mut self) -> Option<(u64, u64, bool)> {
        loop {
            let user = self.users.next()?;
            let Some(turns) = self.flows.get_mut(user) else {
                self.users.set_work(user, false);
                continue;
            };
            if let Some(flow) = turns.next() {
                let is_new = turns.is_new(flow) || self.users.is_new(user);
                return Some((user, flow, is_new));
            }
            self.users.set_work(user, false);
        }
    }

    pub fn charge(&mut self, user: u64, flow: u64, bytes: usize) {
        self.users.charge(user, bytes as i64);
        if let Some(turns) = self.flows.get_mut(user) {
            turns.charge(flow, bytes as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Sends packets of 1400 bytes of flows that always have more, and returns the bytes of each.
    fn serve(scheduler: &mut Scheduler, packets: usize) -> BTreeMap<(u64, u64), usize> {
        let mut sent = BTreeMap::new();
        for _ in 0..packets {
            let (user, flow, _) = scheduler.next().unwrap();
            scheduler.charge(user, flow, 1400);
            *sent.entry((user, flow)).or_insert(0) += 1400;
        }
        sent
    }

    #[test]
    fn users_share_alike_however_many_flows_they_have() {
        let mut scheduler = Scheduler::default();
        for flow in 0..9 {
            scheduler.set_work(1, flow, true);
        }
        scheduler.set_work(2, 100, true);
        let sent = serve(&mut scheduler, 5000);
        let of = |user| -> usize {
            let all = sent.iter().filter(|(key, _)| key.0 == user);
            all.map(|(_, bytes)| bytes).sum()
        };
        assert!(of(1).abs_diff(of(2)) < 40_000, "{} {}", of(1), of(2));
        let flows: Vec<_> = (0..9).map(|flow| sent[&(1, flow)]).collect();
        let spread = flows.iter().max().unwrap() - flows.iter().min().unwrap();
        assert!(spread < 40_000, "{flows:?}");
    }

    #[test]
    fn one_that_was_idle_comes_before_those_that_were_not() {
        let mut scheduler = Scheduler::default();
        for flow in 0..5 {
            scheduler.set_work(1, flow, true);
        }
        serve(&mut scheduler, 1000);
        scheduler.set_work(1, 77, true);
        assert_eq!(scheduler.next(), Some((1, 77, true)));
        scheduler.charge(1, 77, 60);
        scheduler.set_work(1, 77, false);
        assert_ne!(scheduler.next().unwrap().1, 77);
        serve(&mut scheduler, 50);
        scheduler.set_work(1, 77, true);
        assert_eq!(scheduler.next(), Some((1, 77, true)));
    }

    #[test]
    fn nothing_is_left_of_flows_that_are_over() {
        let mut scheduler = Scheduler::default();
        for round in 0..100 {
            scheduler.set_work(round, round, true);
            assert!(scheduler.has_work());
            let (user, flow, _) = scheduler.next().unwrap();
            scheduler.charge(user, flow, 1400);
            scheduler.forget(user, flow);
            assert!(!scheduler.has_work());
            assert_eq!(scheduler.next(), None);
        }
        assert!(scheduler.flows.is_empty());
        assert!(scheduler.users.entries.is_empty());
    }

    #[test]
    fn what_comes_and_goes_while_nothing_may_be_sent_takes_bounded_memory() {
        let mut scheduler = Scheduler::default();
        scheduler.set_work(0, 0, true);
        for round in 1..100_000 {
            scheduler.set_work(0, round, true);
            scheduler.forget(0, round);
            scheduler.set_work(round, 0, true);
            scheduler.forget(round, 0);
            scheduler.forget(round, 0);
            let turns = &scheduler.flows.get(0).unwrap();
            assert!(turns.new.len() + turns.old.len() < 1100);
            assert!(scheduler.users.entries.len() < 1100);
            assert!(scheduler.users.new.len() < 4000);
        }
        // The first one lost nothing.
        assert_eq!(scheduler.next(), Some((0, 0, true)));
        scheduler.forget(0, 0);
        assert_eq!(scheduler.next(), None);
    }
}
