//! The queue before the shaper: a discipline, and the limit over it.
//!
//! A discipline is one file that implements [`QueueDiscipline`] and one line in [`disciplines!`] below.

mod codel;
mod fifo;
mod fq_codel;
mod head_drop;
mod limit;
mod pie;
mod red;
mod titration;

pub(crate) use limit::{CheckedLimit, Room};
pub(crate) use titration::TitratedQueue;

use crate::config::{self, QueueConfig};
use crate::error::ConfigError;
use crate::packet::{Ecn, Packet};
use crate::time::Time;
use crate::totals::Count;
use bentpipe_base::stream;
use codel::{Codel, CodelParameters};
use fifo::Fifo;
use fq_codel::FqCodel;
use head_drop::HeadDrop;
use pie::{Pie, PieParameters};
use rand_core::Rng;
use red::{Red, RedParameters};

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

/// Marks a packet as having met congestion (RFC 3168), if it is capable; `false` where it is not.
pub(crate) fn mark<P: Packet>(waiting: &mut Waiting<P>, tally: &mut Tally) -> bool {
    match waiting.packet.ecn() {
        Ecn::NotEct => false,
        Ecn::Ce => true,
        Ecn::Ect0 | Ecn::Ect1 => {
            waiting.packet.mark_ce();
            tally.marks += 1;
            true
        }
    }
}

/// A queue discipline. Times never go back from one call to the next.
pub(crate) trait QueueDiscipline<P: Packet> {
    /// A packet arrives at `now`. The discipline keeps what it holds within `room`, dropping as it sees fit.
    fn enqueue(&mut self, now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally);

    /// A packet arrives where nothing waits and the shaper begins to serve it at once: no limit holds for it. `None` where
    /// the discipline has its own reasons to drop it.
    fn pass(&mut self, now: Time, arrival: Waiting<P>, tally: &mut Tally) -> Option<Waiting<P>> {
        self.enqueue(now, arrival, Room::UNLIMITED, tally);
        self.dequeue(now, tally)
    }

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

        impl<P: Packet> QueueDiscipline<P> for Queue<P> {
            #[inline]
            fn enqueue(&mut self, now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
                match self {
                    $(Self::$variant(queue) => queue.enqueue(now, arrival, room, tally)),*
                }
            }

            #[inline]
            fn pass(&mut self, now: Time, arrival: Waiting<P>, tally: &mut Tally) -> Option<Waiting<P>> {
                match self {
                    $(Self::$variant(queue) => queue.pass(now, arrival, tally)),*
                }
            }

            #[inline]
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
    HeadDrop(HeadDrop),
    Red(Red),
    Codel(Codel),
    FqCodel(FqCodel),
    Pie(Pie),
}

impl<P: Packet> Queue<P> {
    /// `rate_bit_s` is the shaper's, for disciplines that count in packet times.
    pub fn new(
        config: &QueueConfig,
        mtu: u32,
        rate_bit_s: Option<u64>,
        seed: u64,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let ecn = config.ecn;
        let mut rng = stream(seed, &format!("{place}/queue"));
        Ok(match config.discipline {
            config::Discipline::Fifo => Self::Fifo(Fifo::new()),
            config::Discipline::HeadDrop => Self::HeadDrop(HeadDrop::new()),
            config::Discipline::Red {
                min_bytes,
                max_bytes,
                max_probability,
                weight,
            } => {
                let parameters = RedParameters::new(
                    min_bytes,
                    max_bytes,
                    max_probability,
                    weight,
                    mtu,
                    rate_bit_s,
                )?;
                Self::Red(Red::new(parameters, ecn, rng))
            }
            config::Discipline::Codel {
                target_ns,
                interval_ns,
            } => Self::Codel(Codel::new(CodelParameters::new(
                target_ns,
                interval_ns,
                ecn,
                mtu,
            )?)),
            config::Discipline::FqCodel {
                target_ns,
                interval_ns,
                flows,
                quantum_bytes,
            } => {
                let parameters = CodelParameters::new(target_ns, interval_ns, ecn, mtu)?;
                let perturbation = rng.next_u64();
                Self::FqCodel(FqCodel::new(
                    flows,
                    quantum_bytes,
                    parameters,
                    perturbation,
                )?)
            }
            config::Discipline::Pie {
                target_ns,
                update_ns,
                alpha,
                beta,
                max_burst_ns,
            } => {
                let parameters =
                    PieParameters::new(target_ns, update_ns, alpha, beta, max_burst_ns, mtu, ecn)?;
                Self::Pie(Pie::new(parameters, rng))
            }
        })
    }
}
