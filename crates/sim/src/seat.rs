//! Who sits where: the seats along the way, the two ends of a connection, and which seats a connection joins.

use bentpipe_base::Direction;

pub use bentpipe_base::topology::Seat;

/// An end of a connection, and of the path: what the client's end opens is drawn towards the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The end that sends what goes in this direction.
    pub fn sending(direction: Direction) -> Self {
        match direction {
            Direction::Down => Self::Server,
            Direction::Up => Self::Client,
        }
    }

    /// Which way it is to this side.
    pub fn direction(self) -> Direction {
        match self {
            Self::Client => Direction::Down,
            Self::Server => Direction::Up,
        }
    }
}

impl From<Side> for Seat {
    /// Who sits at this end of the whole way.
    fn from(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }
}

/// Whether the path, which lies between `end` and `peer`, is on the way from `end` to a seat.
pub(crate) fn lies_across(end: Seat, peer: Seat, to: Seat) -> bool {
    (to > end) == (peer > end) && to != end
}

/// The part of the way that a connection spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leg {
    /// From the client to the server; a host between them only forwards.
    #[default]
    Whole,
    /// From the client to near.
    Lan,
    /// From near to the server.
    Path,
}

impl Leg {
    /// The seat at an end.
    #[must_use]
    pub fn seat(self, side: Side) -> Seat {
        match (self, side) {
            (Self::Lan, Side::Server) | (Self::Path, Side::Client) => Seat::Near,
            _ => side.into(),
        }
    }
}
