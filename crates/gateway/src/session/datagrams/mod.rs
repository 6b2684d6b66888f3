//! UDP associations and channels for IP packets: what waits to be sent, what has come, and when an association is over.
//!
//! Nothing here is sent again. Where there is no room, the oldest goes: this is the only place where a gateway drops what a host gave.

mod arriving;
mod leaving;

pub use arriving::Received;
pub(super) use arriving::{Arriving, PieceError};
pub(super) use leaving::{Leaving, Wrote};

use crate::config::Config;
use crate::flow::FlowId;
use crate::target::Channel;
use bentpipe_base::{Nanos, OrderedMap, OrderedSet, Time};

/// What a datagram that waits takes beside its bytes.
const RECORD_BYTES: u64 = 96;

/// What has become of datagrams. Counts are of the session's whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramFigures {
    /// Those that are open.
    pub associations: u64,
    /// That hosts gave, and that were handed to them.
    pub sent: u64,
    pub sent_bytes: u64,
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Packets of the code: new ones, repairs, and those that repairs have recovered.
    pub packets: u64,
    pub repairs: u64,
    pub recovered: u64,
    /// Not sent: longer than 65,535 bytes; the oldest where there was no room; too old; and left when their association ended.
    pub too_long: u64,
    pub dropped_full: u64,
    pub dropped_old: u64,
    pub dropped_closed: u64,
    /// Came, and were not handed over: of an association that was over, or was not known in time; the driver did not take them; and those of which
    /// pieces were missing.
    pub late: u64,
    pub early_dropped: u64,
    pub not_taken: u64,
    pub incomplete: u64,
    /// Packets that were no longer kept when they came, or far from all others.
    pub left_out: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Association {
    pub channel: Channel,
    last_used: Time,
    /// Its place in the deadlines.
    deadline: Time,
}

#[derive(Debug)]
pub(super) struct Datagrams {
    by_id: OrderedMap<FlowId, Association>,
    /// When to look whether an association is still used.
    deadlines: OrderedSet<(Time, FlowId)>,
    idle: Nanos,
    pub leaving: Leaving,
    pub arriving: Arriving,
    pub sent: u64,
    pub sent_bytes: u64,
    pub too_long: u64,
    pub late: u64,
}

impl Datagrams {
    pub fn new(config: &Config) -> Self {
        Self {
            by_id: OrderedMap::new(),
            deadlines: OrderedSet::new(),
            idle: config.association_idle,
            leaving: Leaving::new(config.datagram_buffer, config.datagram_wait),
            arriving: Arriving::new(config.datagram_buffer),
            sent: 0,
            sent_bytes: 0,
            too_long: 0,
            late: 0,
        }
    }

    pub fn open(&mut self, now: Time, id: FlowId, channel: Channel) {
        let deadline = now + self.idle;
        let association = Association {
            channel,
            last_used: now,
            deadline,
        };
        self.by_id.insert(id, association);
        self.deadlines.insert((deadline, id));
    }

    /// The association, which is used now.
    pub fn touch(&mut self, now: Time, id: FlowId) -> Option<&Association> {
        let association = self.by_id.get_mut(id)?;
        association.last_used = now;
        Some(association)
    }

    pub fn has(&self, id: FlowId) -> bool {
        self.by_id.contains_key(id)
    }

    pub fn forget(&mut self, id: FlowId) {
        self.arriving.settle_early(id, false);
        if let Some(association) = self.by_id.remove(id) {
            self.deadlines.remove((association.deadline, id));
            self.leaving.forget(id);
        }
    }

    /// When an association may be idle for too long, or something has waited too long.
    pub fn next_deadline(&self) -> Option<Time> {
        let idle = self.deadlines.first().map(|it| it.0);
        idle.into_iter().chain(self.arriving.next_expiry()).min()
    }

    /// An association that was idle for too long: it is to be forgotten.
    pub fn next_idle(&mut self, now: Time) -> Option<FlowId> {
        while let Some((at, id)) = self.deadlines.first().filter(|it| it.0 <= now) {
            let association = self.by_id.get_mut(id)?;
            let over = association.last_used + self.idle;
            if over <= now {
                return Some(id);
            }
            association.deadline = over;
            self.deadlines.remove((at, id));
            self.deadlines.insert((over, id));
        }
        None
    }

    pub fn figures(&self) -> DatagramFigures {
        DatagramFigures {
            associations: self.by_id.len() as u64,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            too_long: self.too_long,
            late: self.late,
            ..self.arriving.figures(self.leaving.figures())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_associations_that_are_over() {
        let mut datagrams = Datagrams::new(&Config::fixed(16_000_000, 90));
        let mut now = Time::ZERO;
        for number in 0..1000 {
            datagrams.open(now, FlowId(number), Channel::Ip);
            now += Nanos::from_secs(1);
            datagrams.touch(now, FlowId(number));
            // Each lives as long as ten others.
            if let Some(old) = number.checked_sub(10) {
                datagrams.forget(FlowId(old));
            }
            assert!(datagrams.deadlines.len() <= 11);
            assert_eq!(datagrams.next_idle(now), None);
        }
        for number in 990..1000 {
            datagrams.forget(FlowId(number));
        }
        assert_eq!(datagrams.next_deadline(), None);
    }

    #[test]
    fn an_association_that_is_used_is_not_idle() {
        let mut datagrams = Datagrams::new(&Config::fixed(16_000_000, 90));
        let at = |secs| Time::ZERO + Nanos::from_secs(secs);
        datagrams.open(at(0), FlowId(0), Channel::Ip);
        datagrams.touch(at(200), FlowId(0));
        assert_eq!(datagrams.next_idle(at(300)), None);
        assert_eq!(datagrams.next_deadline(), Some(at(500)));
        assert_eq!(datagrams.next_idle(at(500)), Some(FlowId(0)));
        datagrams.forget(FlowId(0));
        assert_eq!(datagrams.next_deadline(), None);
    }
}
