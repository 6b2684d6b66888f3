//! A flow: a byte stream in each direction.

mod pieces;
mod receive;
mod send;

pub(crate) use pieces::Pieces;
pub(crate) use receive::{EARLY_PIECE_BYTES, ReceiveError, ReceiveHalf};
pub(crate) use send::SendHalf;

use core::fmt;

/// The memory of bytes that wait is at most so many times their number: it grows by doubling, and is given back in the same way.
pub(crate) const MEMORY_FACTOR: u64 = 4;
/// What a flow takes that has nothing waiting: itself, its places in maps and lists, and its reset.
pub(crate) const FLOW_BYTES: u64 = 1024;

/// A flow's number within its session. Those that near opens are even, those that far opens are odd; each side takes its
/// numbers in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

impl bentpipe_base::ordered::Number for FlowId {
    fn pack(self) -> u64 {
        self.0
    }

    fn unpack(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Flow {
    /// Which local user's share it has.
    pub user: u64,
    pub send: SendHalf,
    pub receive: ReceiveHalf,
    /// What comes first is a target, and it has not come yet.
    pub expects_target: bool,
    /// The host has been told that there is something to read, or room to write, and has not asked since.
    pub told_readable: bool,
    pub wants_room: bool,
    /// It has bytes to send, as the scheduler was told.
    pub has_work: bool,
    /// Its share of the session's credit is used up.
    pub is_held: bool,
}

impl Flow {
    /// Both directions have ended, and the host has taken all that came.
    pub fn is_over(&self) -> bool {
        self.send.is_over() && self.receive.is_over()
    }
}
