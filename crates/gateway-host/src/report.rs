//! What a gateway did, beside what its session counts.

use crate::flows::FlowReport;
use crate::users::Users;
use bentpipe_gateway::Figures;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How a gateway stands.
#[derive(Clone, Debug)]
pub struct Report {
    pub session: Figures,
    /// There is a session now.
    pub connected: bool,
    /// When the first session was established, if there was one.
    pub established: Option<Instant>,
    pub carrier: CarrierReport,
    pub udp: UdpReport,
    /// Connections that were closed because the destination did not answer, or refused.
    pub connect_failures: u64,
    /// Connections to destinations that the access list does not allow.
    pub destinations_refused: u64,
    /// Connections that were opened again in a new session, since the other gateway had got nothing of them.
    pub returned: u64,
    /// Hosts' connections: now, and the most at once.
    pub open: u64,
    pub open_at_once_max: u64,
    pub associations: AssociationsReport,
    pub packets: PacketsReport,
    /// What the control law allows now, in bits of IP packets per second. None: there is no session.
    pub rate_bit_s: Option<u64>,
    /// Bytes and datagrams of hosts that wait to be sent.
    pub waiting_bytes: u64,
    /// Where somebody has asked in detail, and at the end.
    pub users: Users,
    /// Where somebody has asked in detail: the flows that moved last, and how many others there are.
    pub flows: Vec<FlowReport>,
    pub flows_left_out: u64,
    /// What the sender could not use of its rate: the thread or the socket was held up for longer than the pacer makes up for.
    pub held_up: Duration,
    /// From the start to now, or to the end.
    pub ran: Duration,
}

/// What the session goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    Quic,
    /// TLS over TCP.
    Tls,
}

/// The connections that carried the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarrierReport {
    /// Connections that the session was taken to, and those of them that were TLS over TCP.
    pub connections: u64,
    pub tls_connections: u64,
    /// The one that carries it now.
    pub kind: Option<CarrierKind>,
    /// When a packet of it last came, and its round trip. Of QUIC alone.
    pub last_heard: Option<Instant>,
    pub round_trip: Option<Duration>,
    /// How the last one that ended did.
    pub last_end: Option<String>,
    /// Handshakes that failed: far counts strangers, near its own.
    pub refused: u64,
    /// Who failed last, and why.
    pub last_refused: Option<String>,
    /// Far: newcomers who had to show their address first, and those who got no answer: too many handshakes were under way.
    pub retried: u64,
    pub ignored: u64,
    /// Datagrams that the carrier did not take, or dropped later.
    pub datagrams_dropped: u64,
}

/// What the kernel gave and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpReport {
    /// As the kernel counts: twice the bytes that a program asks for.
    pub receive_buffer_bytes: u64,
    pub send_buffer_bytes: u64,
    /// Packets that came and found the receive buffer full.
    pub overflow: u64,
    /// Packets that the kernel did not take for another reason than a full buffer.
    pub unsent: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
}

/// Hosts' UDP. What crossed, and what the session dropped, is among its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssociationsReport {
    /// Associations: now, and the most at once.
    pub open: u64,
    pub open_at_once_max: u64,
    /// Associations that got no socket, or no flow.
    pub failed: u64,
    /// Beyond those that a user may have: not begun, or ended early for a newer one of the same user.
    pub over_user_limit: u64,
    /// Datagrams to addresses that the access list does not allow, or from them.
    pub refused: u64,
    /// To a host at far, from addresses that it has not sent to.
    pub unsolicited: u64,
    /// Of SOCKS: from another address than the program's; without a right header; fragments, which are not put together; and to names, which are
    /// not resolved.
    pub strangers: u64,
    pub malformed: u64,
    pub fragments: u64,
    pub names: u64,
    /// From programs, while there was no session or no room for an association.
    pub without_flow: u64,
    /// Not taken by the kernel: its buffer was full, or there is no way there.
    pub unsent: u64,
    /// From hosts by TPROXY, and found the receive buffer full.
    pub overflow: u64,
}

/// Whole packets of hosts, by TUN. They are among the session's datagrams, and what was refused or dropped is among the associations'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PacketsReport {
    /// Flows that carry them: one for each user, and one for the others.
    pub flows: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Packets that do not belong to a user, or that the access list does not allow.
    pub refused: u64,
    /// Packets while there was no session, and those that the kernel did not take.
    pub dropped: u64,
}

impl AssociationsReport {
    /// Datagrams of strangers, and those that SOCKS here does not take.
    pub fn invalid(&self) -> u64 {
        self.unsolicited + self.strangers + self.malformed + self.fragments + self.names
    }
}
