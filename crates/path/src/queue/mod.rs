//! The queue before the shaper: a discipline, and the limit over it.
//!
//! A discipline is one file that implements [`Discipline`] and one line in [`disciplines!`] below.

mod fifo;
mod limit;

pub(crate) use limit::{Limit, Room};

use crate::config::{self, QueueConfig};
use crate::error::ConfigError;
use crate::packet::Packet;
use crate::time::Time;
use crate::totals::Count;
use fifo::Fifo;

/// A packet in the pipe, with what is asked of it again and again.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub packet: P,
    pub bytes: u32,
    /// When it arrived at the queue.
    pub arrived: Time,
}

/// What a discipline did to packets during one call, for the meter.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Dropped because the limit was reached.
    pub tail: Count,
    /// Dropped to signal congestion.
    pub aqm: Count,
    pub marks: u64,
}

impl Tally {
    pub fn is_empty(&self) -> bool {
        self.tail.packets == 0 && self.aqm.packets == 0 && self.marks == 0
    }
}

/// A queue discipline. Times never go back from one call to the next.
pub(crate) trait Discipline<P: Packet> {
    /// A packet arrives at `now`. The discipline keeps what it holds within `room`, dropping as it sees fit.
    fn enqueue(&mut self, now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally);

    /// The shaper begins to serve at `now`. `None` where nothing is left to serve, which may be because the
    /// discipline dropped all that waited.
    fn dequeue(&mut self, now: Time, tally: &mut Tally) -> Option<Waiting<P>>;

    fn depth(&self) -> Count;
}

/// The disciplines, each with its type: static dispatch, so that a pipe is `Send` where its packets are.
macro_rules! disciplines {
    ($($variant:ident($kind:ident)),* $(,)?) => {
        #[derive(Debug)]
        pub(crate) enum Queue<P> {
            $($variant($kind<P>)),*
        }

        impl<P: Packet> Discipline<P> for Queue<P> {
            fn enqueue(&mut self, now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
                match self {
                    $(Self::$variant(queue) => queue.enqueue(now, arrival, room, tally)),*
                }
            }

            fn dequeue(&mut self, now: Time, tally: &mut Tally) -> Option<Waiting<P>> {
                match self {
                    $(Self::$variant(queue) => queue.dequeue(now, tally)),*
                }
            }

            fn depth(&self) -> Count {
                match self {
                    $(Self::$variant(queue) => queue.depth()),*
                }
            }
        }
    };
}

disciplines! {
    Fifo(Fifo),
}

impl<P: Packet> Queue<P> {
    pub fn new(
        config: &QueueConfig,
        _mtu: u32,
        _rate_bit_s: Option<u64>,
        _seed: u64,
        _place: &str,
    ) -> Result<Self, ConfigError> {
        match config.discipline {
            config::Discipline::Fifo => Ok(Self::Fifo(Fifo::new())),
            _ => Err(ConfigError::new("queue.discipline", "", "fifo")),
        }
    }
}
