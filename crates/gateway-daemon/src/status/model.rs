//! The figures themselves.

use crate::config::Role;
use bentpipe_gateway_host::{
    CarrierKind, FlowReport, FlowState, PacketsReport, Report, UserFigures, Users,
};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::ops::Add;

/// How a gateway stands. Counts are since it began, but for `total` and `users`. What a gateway of another version does not say is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    pub role: Role,
    pub version: String,
    #[serde(flatten)]
    pub counts: Counts,
    /// There is a session with the other gateway.
    pub connected: bool,
    /// Connections of the carrier, and handshakes that failed or were refused.
    pub carrier_connections: u64,
    /// Of them, TLS over TCP: taken where UDP gets no answer.
    pub carrier_tls_connections: u64,
    pub carrier_refused: u64,
    /// Who failed or was refused last, and why.
    pub carrier_last_refused: Option<String>,
    /// Far, when many handshakes are under way: newcomers who had to show their address first, and those who got no answer.
    pub carrier_retried: u64,
    pub carrier_ignored: u64,
    pub carrier_last_end: Option<String>,
    /// What the session goes over: "quic" or "tls over tcp".
    pub carrier: Option<String>,
    pub round_trip_ms: Option<f64>,
    /// What the control law allows now, in bits of IP packets per second.
    pub rate_limit_bit_s: Option<u64>,
    /// Payload of the last five seconds, in bits per second: from hosts and to them.
    pub from_hosts_bit_s: Option<f64>,
    pub to_hosts_bit_s: Option<f64>,
    /// Bytes of hosts' connections that wait to be sent.
    pub queue_bytes: u64,
    /// Of the packets that were sent, the share that was repairs or sent again.
    pub redundancy: f64,
    /// The share that the path loses, by what the other gateway reports. `None`: it has told of too few packets.
    pub loss: Option<f64>,
    /// Hosts' connections: open now, opened from here, opened by the other gateway, reset, and destinations that could not be reached.
    pub open_connections: u64,
    pub opened: u64,
    pub accepted: u64,
    pub resets: u64,
    pub connect_failures: u64,
    /// Connections to destinations that the access list does not allow. They are among those that could not be reached.
    pub destinations_refused: u64,
    /// Connections that were opened again in a new session, since the other gateway had got nothing of them.
    pub opened_again: u64,
    /// Hosts' UDP associations that are open, and those that got no socket.
    pub associations: u64,
    pub associations_failed: u64,
    /// UDP associations beyond those that a user may have: not begun, or ended early for a newer one.
    pub associations_over_limit: u64,
    /// Datagrams that the access list does not allow; that came from strangers, or were no requests of SOCKS that are taken (fragments, names);
    /// and that waited for too long or had no room, here or in the kernel.
    pub datagrams_refused: u64,
    pub datagrams_invalid: u64,
    pub datagrams_dropped: u64,
    /// Whole packets of users, by the device of `[tun]`. They are among the datagrams.
    pub tun: PacketsReport,
    /// Packets to the other gateway: new ones, repairs sent beforehand, and those sent again.
    pub packets: u64,
    pub repairs: u64,
    pub sent_again: u64,
    /// Packets that came and found this machine's buffer full.
    pub receive_overflow: u64,
    /// Time that the sender could not use: the machine was too slow or too busy.
    pub held_up_s: f64,
    /// With what was counted before this gateway was started, if status.state keeps it.
    pub total: Totals,
    /// With earlier starts, too. Those who were active last come first.
    pub users: Vec<UserTotals>,
    /// How often a user has given up its place to a newer one, and the sum of what those did.
    pub other_users: u64,
    pub others: UserFigures,
    /// The flows that moved last, and how many there are beside them.
    pub flows: Vec<Flow>,
    pub flows_left_out: u64,
    /// SIGHUPs that were followed, and that were not since the configuration is wrong.
    pub reloads: u64,
    pub reloads_refused: u64,
}

/// What a gateway has done, in one run or in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub up_s: f64,
    /// Sessions that began: more than one where a gateway began anew or an outage lasted longer than the session does.
    pub sessions: u64,
    /// Payload that hosts gave, and that they were given.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// Datagrams that hosts gave, and that they were given.
    pub datagrams_sent: u64,
    pub datagrams_delivered: u64,
}

impl From<&Report> for Counts {
    fn from(of: &Report) -> Self {
        let (session, users) = (&of.session, &of.session.datagrams);
        Self {
            up_s: of.ran.as_secs_f64(),
            sessions: session.sessions,
            sent_bytes: session.sent_bytes,
            delivered_bytes: session.delivered_bytes,
            datagrams_sent: users.sent,
            datagrams_delivered: users.delivered,
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            up_s: self.up_s + other.up_s,
            sessions: self.sessions + other.sessions,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            delivered_bytes: self.delivered_bytes + other.delivered_bytes,
            datagrams_sent: self.datagrams_sent + other.datagrams_sent,
            datagrams_delivered: self.datagrams_delivered + other.datagrams_delivered,
        }
    }
}

/// What is kept across restarts. What an earlier version did not count is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub starts: u64,
    pub connections: u64,
    #[serde(flatten)]
    pub counts: Counts,
}

impl Totals {
    /// Whether counting can go on from these without an overflow: they may come from a file.
    pub fn are_plausible(&self) -> bool {
        let all = [
            self.starts,
            self.connections,
            self.counts.sessions,
            self.counts.sent_bytes,
            self.counts.delivered_bytes,
            self.counts.datagrams_sent,
            self.counts.datagrams_delivered,
        ];
        self.counts.up_s >= 0.0 && all.into_iter().all(|it| it < 1 << 60)
    }

    /// With what a gateway has done since it began.
    #[must_use]
    pub fn with(&self, of: &Report) -> Self {
        Self {
            starts: self.starts + 1,
            connections: self.connections + of.session.opened + of.session.accepted,
            counts: self.counts + Counts::from(of),
        }
    }
}

/// One user: an IPv4 address, or an IPv6 network of /64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserTotals {
    pub user: IpAddr,
    #[serde(flatten)]
    pub counts: UserFigures,
}

impl UserTotals {
    /// Those who were active last come first.
    pub fn all(users: &Users) -> Vec<Self> {
        let each = users.each().into_iter().rev();
        each.map(|(user, figures)| Self {
            user,
            counts: figures,
        })
        .collect()
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// On near's side.
    pub host: SocketAddr,
    /// Missing where it is not known, or where each datagram names its own.
    pub destination: Option<String>,
    pub state: String,
    pub open_s: f64,
    /// Since when no byte was read from its socket or written to it.
    pub idle_s: f64,
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
}

impl From<&FlowReport> for Flow {
    fn from(of: &FlowReport) -> Self {
        let state = match of.state {
            FlowState::Waiting => "waiting",
            FlowState::Connecting => "connecting",
            FlowState::Open => "open",
            FlowState::HalfClosed => "half closed",
            FlowState::Udp => "udp",
        };
        Self {
            host: of.host,
            destination: of.destination.as_ref().map(ToString::to_string),
            state: state.into(),
            open_s: of.open_for.as_secs_f64(),
            idle_s: of.idle_for.as_secs_f64(),
            sent_bytes: of.sent_bytes,
            delivered_bytes: of.delivered_bytes,
        }
    }
}

impl Standing {
    pub fn new(role: Role, of: &Report, before: &Totals, bit_s: Option<[f64; 2]>) -> Self {
        let session = &of.session;
        let (datagrams, hosts) = (&session.datagrams, &of.associations);
        let sender = &session.sender;
        let again = sender.repairs + sender.exact_repairs;
        let (other_users, others) = of.users.others();
        Self {
            role,
            version: env!("CARGO_PKG_VERSION").into(),
            counts: of.into(),
            connected: of.connected,
            carrier_connections: of.carrier.connections,
            carrier_tls_connections: of.carrier.tls_connections,
            carrier_refused: of.carrier.refused,
            carrier_last_refused: of.carrier.last_refused.clone(),
            carrier_retried: of.carrier.retried,
            carrier_ignored: of.carrier.ignored,
            carrier_last_end: of.carrier.last_end.clone(),
            carrier: of.carrier.kind.map(|kind| {
                let name = match kind {
                    CarrierKind::Quic => "quic",
                    CarrierKind::Tls => "tls over tcp",
                };
                name.into()
            }),
            round_trip_ms: session
                .round_trip
                .map(|time| time.0 as f64 / 1e6)
                .or_else(|| of.carrier.round_trip.map(|time| time.as_secs_f64() * 1e3)),
            rate_limit_bit_s: of.rate_bit_s,
            from_hosts_bit_s: bit_s.map(|it| it[0]),
            to_hosts_bit_s: bit_s.map(|it| it[1]),
            queue_bytes: of.waiting_bytes,
            redundancy: again as f64 / (sender.sources + again).max(1) as f64,
            loss: session.channel_loss,
            open_connections: of.open,
            opened: session.opened,
            accepted: session.accepted,
            resets: session.resets,
            connect_failures: of.connect_failures,
            destinations_refused: of.destinations_refused,
            opened_again: of.returned,
            associations: hosts.open,
            associations_failed: hosts.failed,
            associations_over_limit: hosts.over_user_limit,
            datagrams_refused: hosts.refused,
            datagrams_invalid: hosts.invalid(),
            datagrams_dropped: datagrams.dropped_old
                + datagrams.dropped_full
                + datagrams.not_taken
                + hosts.without_flow
                + hosts.unsent
                + hosts.overflow,
            tun: of.packets,
            packets: session.sender.sources,
            repairs: session.sender.repairs,
            sent_again: session.sender.exact_repairs,
            receive_overflow: of.udp.overflow,
            held_up_s: of.held_up.as_secs_f64(),
            total: before.with(of),
            users: UserTotals::all(&of.users),
            other_users,
            others,
            flows: of.flows.iter().map(Flow::from).collect(),
            flows_left_out: of.flows_left_out,
            reloads: 0,
            reloads_refused: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_another_version_is_read() {
        // One that says less, and one that says more.
        let earlier: Standing = serde_json::from_str(
            r#"{"role": "far", "up_s": 2.5, "sent_bytes": 7, "total": {"starts": 3, "sent_bytes": 9}}"#,
        )
        .unwrap();
        assert_eq!((earlier.role, earlier.counts.up_s), (Role::Far, 2.5));
        assert_eq!(
            (earlier.counts.sent_bytes, earlier.total.counts.sent_bytes),
            (7, 9)
        );
        assert_eq!((earlier.total.starts, earlier.carrier_ignored), (3, 0));
        let mut later = serde_json::to_value(&earlier).unwrap();
        later["something_new"] = 1.into();
        later["total"]["something_new"] = 1.into();
        // The counts stand beside the rest, as they always did.
        assert_eq!(later["sent_bytes"], 7);
        assert_eq!(serde_json::from_value::<Standing>(later).unwrap(), earlier);
    }
}
