//! A lane: what a client does over one connection at a time.

use super::exchange::Exchange;
use crate::packet::ConnectionId;
use crate::rows::Cached;
use bentpipe_path::time::Time;
use std::ops::Range;

/// What is to be fetched, or sent.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Its number: on its page, or by its popularity; else 1.
    pub object: u32,
    /// Of the whole object, and the part of it that is wanted.
    pub size: u64,
    pub range: Range<u64>,
    /// The first of the range, where an accelerator shares the file between connections.
    pub piece: Option<usize>,
}

impl Wanted {
    pub fn whole(object: u32, size: u64) -> Self {
        Self {
            object,
            size,
            range: 0..size,
            piece: None,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// A request of this lane and what has come of it.
#[derive(Debug)]
pub(super) struct Item {
    pub flow: u64,
    pub wanted: Wanted,
    pub exchange: Exchange,
    pub start: Time,
    pub connected: Option<Time>,
    pub first_byte: Option<Time>,
    /// Of the body.
    pub carried: u64,
    pub cache: Option<Cached>,
    /// Of the connection before this item, and of the one between cache and server for it.
    pub retransmits_before: u64,
    pub retransmits_upstream: u64,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    pub connection: Option<ConnectionId>,
    pub item: Option<Item>,
    /// Answers begun, so that one whose connection has failed meanwhile is not given on the next.
    pub turn: u64,
    /// A range has failed on it: it takes no other.
    pub failed: bool,
}

/// What becomes of a lane's connection after an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
    /// The client closes while more is coming.
    Reset,
    /// There is none any more.
    Gone,
}
