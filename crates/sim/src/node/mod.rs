//! What sits in the network: a [`Node`] is handed packets and says what leaves it. A host is a node; so is a box on the way.
//!
//! A new kind of box is one file beside this one and one line in `kinds!` below.

pub mod config;
pub(crate) mod host;
mod parameters;

pub use parameters::Parameters;

use crate::packet::{ConnectionId, Packet};
use crate::seat::{Seat, Side};
use bentpipe_base::SplitMix64;
use bentpipe_base::time::Time;
use bentpipe_base::words::joined;
use bentpipe_reading::Entries;
use bentpipe_tcp::Notice;
use core::fmt;
use serde::Serialize;
use std::collections::VecDeque;

/// Without its state: the module for a browser then has no words for what nobody prints there.
impl fmt::Debug for dyn Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node")
    }
}

/// A state machine in the network. It does no I/O and reads no clock.
pub trait Node {
    /// A packet has come to this node, which looks at it at `now`. A packet that is addressed to another seat is to be sent
    /// on, unless the node means to lose it.
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox);

    /// The next time at which [`on_timeout`](Self::on_timeout) has something to do. Asked after every call.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come.
    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        let _ = (now, out);
    }
}

/// What nodes leave behind at a call. The network carries the packets towards the seats that they are addressed to.
#[derive(Debug)]
pub struct Outbox {
    pub(crate) packets: Vec<(Time, Packet)>,
    /// What a workload's sockets did.
    pub(crate) notices: VecDeque<(usize, ConnectionId, Side, Notice)>,
    /// Answers to echo requests: workload and sequence number.
    pub(crate) echoes: VecDeque<(usize, u32)>,
    /// Datagrams that have come to a host: workload, the side that they came to, and sequence number.
    pub(crate) datagrams: VecDeque<(usize, Side, u32)>,
    random: SplitMix64,
}

impl Outbox {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            packets: Vec::new(),
            notices: VecDeque::new(),
            echoes: VecDeque::new(),
            datagrams: VecDeque::new(),
            random: SplitMix64(seed ^ 0x5851_f42d_4c95_7f2d),
        }
    }

    /// The packet leaves the node at `at`, which is not before any that it sent earlier.
    pub fn send(&mut self, at: Time, packet: Packet) {
        self.packets.push((at, packet));
    }

    /// The run's own random numbers.
    pub fn random(&mut self) -> u64 {
        self.random.draw()
    }
}

/// A box on the way, as the specification names it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoxSpec {
    pub seat: Seat,
    /// One of [`KINDS`].
    pub kind: String,
    /// In plain numbers, by name.
    pub parameters: Entries<f64>,
}

bentpipe_reading::read_struct!(BoxSpec { seat, kind, parameters = default });

type Build = fn(&mut Parameters) -> Result<Box<dyn Node>, String>;

/// Names the files and makes the table of what is in them.
macro_rules! kinds {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*
        /// Every kind of box by its name.
        pub const KINDS: &[(&str, Build)] = &[$((stringify!($file), $file::build)),*];
    };
}

// Every kind of box: its file, which is also the name by which a specification asks for it. One line each.
kinds! {
    duplicator,
}

/// The box that a specification names, or what is wrong with it.
pub(crate) fn build(spec: &BoxSpec) -> Result<Box<dyn Node>, String> {
    let known = KINDS.iter().find(|(name, _)| *name == spec.kind);
    let Some((_, build)) = known else {
        let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "unknown kind of box `{}`; expected one of: {}",
            spec.kind,
            joined(&names, ", ")
        ));
    };
    let mut parameters = Parameters::new(&spec.parameters);
    let built = build(&mut parameters).and_then(|node| parameters.all_known().map(|()| node));
    built.map_err(|why| format!("box `{}`: {why}", spec.kind))
}
