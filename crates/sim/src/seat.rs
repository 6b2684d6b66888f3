//! Who sits where: the seats along the way, the two ends of a connection, and which seats a connection joins.

use serde::{Deserialize, Serialize};

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
}

/// A place in the network, in their order along the way: `client - near = path = far - server`. Client and server are always
/// taken, by hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    Client,
    /// Between the client and the path.
    Near,
    /// Between the path and the servers.
    Far,
    Server,
}

impl Seat {
    pub const ALL: [Self; 4] = [Self::Client, Self::Near, Self::Far, Self::Server];

    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Near => "near",
            Self::Far => "far",
            Self::Server => "server",
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
