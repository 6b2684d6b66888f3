//! What a session tells its driver: what has happened, and why something is over.

use crate::flow::FlowId;
use crate::hello::{OLDEST_VERSION, VERSION};
use crate::target::{Channel, NamedTarget, Target};
use core::fmt;

/// Which gateway this is. Near connects to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Near,
    Far,
}

/// Why both directions of a flow are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetCode {
    /// A host has reset its connection.
    Host = 1,
    /// The destination has refused the connection.
    Refused = 2,
    /// There is no way to the destination.
    Unreachable = 3,
    /// The destination, or a host, did not answer in time.
    TimedOut = 4,
    /// The access list does not name the destination.
    NotAllowed = 5,
    /// The target cannot be read, or is of a kind that is not known.
    Target = 6,
    /// The session has ended.
    SessionLost = 7,
    /// The gateway has no room for the flow.
    Overloaded = 8,
    /// The association is not used any more.
    Closed = 9,
    /// A code that is not known here.
    Other = 255,
}

impl ResetCode {
    const ALL: [Self; 9] = [
        Self::Host,
        Self::Refused,
        Self::Unreachable,
        Self::TimedOut,
        Self::NotAllowed,
        Self::Target,
        Self::SessionLost,
        Self::Overloaded,
        Self::Closed,
    ];

    pub fn from_number(code: u8) -> Self {
        let known = Self::ALL.into_iter().find(|it| *it as u8 == code);
        known.unwrap_or(Self::Other)
    }
}

/// Why a session has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The other gateway has begun another one: it was started anew, or has forgotten this one.
    PeerBeganAnew,
    /// There was no carrier for too long.
    TimedOut,
    /// The other gateway speaks only versions before those of this one.
    Version(u16),
    /// The other gateway does not keep to the protocol.
    Protocol(String),
    /// The carrier takes only datagrams that are too short for packets that were sent.
    ShortDatagrams(usize),
    /// The other gateway has closed it, and says why.
    Closed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PeerBeganAnew => f.write_str("the other gateway has begun a new session"),
            Self::TimedOut => f.write_str("there was no carrier for too long"),
            Self::Version(version) => write!(
                f,
                "the other gateway speaks version {version} at most, this one {OLDEST_VERSION} to {VERSION}: upgrade the other one"
            ),
            Self::Protocol(what) => write!(f, "the other gateway broke the protocol: {what}"),
            Self::ShortDatagrams(bytes) => {
                write!(f, "the carrier takes no more than {bytes} bytes a datagram")
            }
            Self::Closed(reason) => write!(f, "the other gateway closed it: {reason}"),
        }
    }
}

/// A flow cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// There is no session.
    NoSession,
    /// The other gateway takes no more flows.
    TooMany,
    /// One of both gateways takes no datagrams.
    NoDatagrams,
}

/// What a driver has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a session. `resumed`: the one before goes on, with its flows.
    Established {
        resumed: bool,
    },
    /// The session has ended. All its flows are reset: an event for each comes before this one.
    Lost(Why),
    /// The other gateway has opened a flow.
    Opened {
        flow: FlowId,
        target: Target,
    },
    /// The other gateway has opened a flow to a name.
    OpenedNamed {
        flow: FlowId,
        target: NamedTarget,
    },
    /// The other gateway has opened an association, or a channel for IP packets.
    OpenedChannel {
        flow: FlowId,
        channel: Channel,
    },
    /// There are bytes to read, or their end.
    Readable(FlowId),
    /// There is room again for bytes, after there was none.
    Writable(FlowId),
    Reset {
        flow: FlowId,
        code: ResetCode,
    },
    /// The session is over, and the other gateway has got nothing of this flow: it may be opened again in the next one. `bytes` is all that was
    /// written to it; whether it was finished its driver knows. Only where [`super::Session::give_back_flows`] was called.
    Returned {
        flow: FlowId,
        bytes: Vec<u8>,
    },
}
