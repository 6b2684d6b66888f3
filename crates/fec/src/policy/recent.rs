//! What was sent within the hold.

use bentpipe_base::{Nanos, Time};
use std::collections::VecDeque;

/// The packets and repairs of the last `within`, and the longest time between two such packets.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    within: Nanos,
    /// So many packets at most: those of a window.
    most: usize,
    packets: VecDeque<Time>,
    repairs: VecDeque<Time>,
    /// How many packets there ever were.
    count: u64,
    /// Times between packets, with the later one's number: those that are longer than all after them.
    gaps: VecDeque<(Nanos, u64)>,
}

impl Recent {
    pub fn new(within: Nanos, most: u32) -> Self {
        Self {
            within,
            most: most as usize,
            packets: VecDeque::new(),
            repairs: VecDeque::new(),
            count: 0,
            gaps: VecDeque::new(),
        }
    }

    pub fn on_packet(&mut self, now: Time) {
        if let Some(&last) = self.packets.back() {
            let gap = now - last;
            while self.gaps.pop_back_if(|it| it.0 <= gap).is_some() {}
            self.gaps.push_back((gap, self.count));
        }
        self.packets.push_back(now);
        self.count += 1;
        let within = self.within;
        let is_old = |at: Time| at + within <= now;
        while self.packets.len() > self.most || self.packets.front().is_some_and(|&at| is_old(at)) {
            self.packets.pop_front();
        }
        while self.repairs.pop_front_if(|at| is_old(*at)).is_some() {}
        // A time between packets counts while both are there.
        let first = self.count - self.packets.len() as u64;
        while self.gaps.pop_front_if(|it| it.1 <= first).is_some() {}
    }

    /// When the last packet was pushed.
    pub fn on_repair(&mut self) {
        self.repairs.extend(self.packets.back());
    }

    pub fn packets(&self) -> u32 {
        self.packets.len() as u32
    }

    pub fn repairs(&self) -> u32 {
        self.repairs.len() as u32
    }

    /// The longest time between two packets, and the whole time if there are no two.
    pub fn longest_gap(&self) -> Nanos {
        self.gaps.front().map_or(self.within, |it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_what_looking_through_all_packets_finds(
            gaps in prop::collection::vec(0..40_i64, 1..100), most in 1..20_u32,
        ) {
            let mut recent = Recent::new(Nanos(100), most);
            let mut times = Vec::new();
            let mut now = Time::ZERO;
            for gap in gaps {
                now += Nanos(gap);
                times.push(now);
                recent.on_packet(now);
                let young: Vec<_> = times.iter().rev().take(most as usize).take_while(|&&at| at + Nanos(100) > now).collect();
                let longest = young.windows(2).map(|it| *it[0] - *it[1]).max();
                prop_assert_eq!(recent.packets() as usize, young.len());
                prop_assert_eq!(recent.longest_gap(), longest.unwrap_or(Nanos(100)));
            }
        }
    }
}
