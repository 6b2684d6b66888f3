//! Beyond the far end: each server at its own delay. One direction of the way between the far end and the servers.
//!
//! The order of packets of one server is kept, so the order within a flow is. A server's packets wait for each other, not for
//! those of other servers. What belongs to no server has no way to go and passes at once, and so does everything on a link
//! beyond which no servers are.

use crate::packet::{Packet, ServerId};
use bentpipe_base::EventQueue;
use bentpipe_base::time::Time;
use bentpipe_path::Terrestrial;
use core::num::NonZeroU16;
use std::collections::VecDeque;

/// Nothing between: packets leave when they enter.
const DIRECT: usize = 0;

#[derive(Debug, Default)]
struct ServerLine {
    delay: Option<Terrestrial>,
    under_way: VecDeque<(Time, Packet)>,
}

#[derive(Debug)]
pub(crate) struct ServerLines {
    /// By server, after the direct one.
    lines: Vec<ServerLine>,
    /// When the first packet of each line that is not empty leaves.
    first: EventQueue<usize>,
}

impl Default for ServerLines {
    fn default() -> Self {
        Self {
            lines: vec![ServerLine::default()],
            first: EventQueue::default(),
        }
    }
}

impl ServerLines {
    /// A server behind this delay; `None` where there are more than 65535.
    pub fn add(&mut self, delay: Terrestrial) -> Option<ServerId> {
        let number = u16::try_from(self.lines.len()).ok()?;
        self.lines.push(ServerLine {
            delay: Some(delay),
            under_way: VecDeque::new(),
        });
        NonZeroU16::new(number).map(ServerId)
    }

    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        let number = packet
            .address
            .server
            .map_or(DIRECT, |server| server.0.get().into());
        let number = if number < self.lines.len() {
            number
        } else {
            DIRECT
        };
        let line = &mut self.lines[number];
        let leaves = line.delay.as_mut().map_or(now, |delay| delay.leaves(now));
        if line.under_way.is_empty() {
            self.first.push(leaves, number);
        }
        line.under_way.push_back((leaves, packet));
    }

    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.first.next_time()
    }

    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        let (at, &number) = self.first.first()?;
        if at > now {
            return None;
        }
        let under_way = &mut self.lines[number].under_way;
        let (_, packet) = under_way.pop_front()?;
        let next = under_way.front().map(|&(leaves, _)| leaves);
        // A burst's packets leave one after the other before those of other servers at the same instant.
        if next != Some(at) {
            self.first.pop();
            if let Some(leaves) = next {
                self.first.push(leaves, number);
            }
        }
        Some(packet)
    }
}
