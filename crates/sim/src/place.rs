//! Who sits where: the hosts, the two ends of a connection, and which hosts a connection joins.

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

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    Client,
    Server,
    /// Between the client and the path, in some runs.
    Near,
}

impl Host {
    pub const COUNT: usize = 3;
}

impl From<Side> for Host {
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
    /// The host at an end.
    #[must_use]
    pub fn host(self, side: Side) -> Host {
        match (self, side) {
            (Self::Lan, Side::Server) | (Self::Path, Side::Client) => Host::Near,
            _ => side.into(),
        }
    }

    /// The end at which a host sits.
    #[must_use]
    pub fn side(self, host: Host) -> Side {
        match host {
            Host::Client => Side::Client,
            Host::Near if self == Self::Path => Side::Client,
            Host::Server | Host::Near => Side::Server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_at_an_end_sits_at_that_end() {
        for leg in [Leg::Whole, Leg::Lan, Leg::Path] {
            for side in Side::BOTH {
                assert_eq!(leg.side(leg.host(side)), side, "{leg:?} {side:?}");
            }
        }
    }
}
