//! Prometheus' text format, version 0.0.4.

use super::model::Standing;
use bentpipe_gateway_host::UserFigures;
use std::fmt::Write as _;

impl Standing {
    /// Prometheus' text format, version 0.0.4.
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, value: f64| {
            let _ = writeln!(
                out,
                "# HELP bentpipe_gateway_{name} {help}\n# TYPE bentpipe_gateway_{name} {kind}\nbentpipe_gateway_{name}{{role=\"{}\"}} {value}",
                self.role
            );
        };
        metric(
            "up_seconds",
            "gauge",
            "Time since the gateway began.",
            self.counts.up_s,
        );
        metric(
            "connected",
            "gauge",
            "1: there is a session with the other gateway.",
            f64::from(self.connected),
        );
        metric(
            "sessions_total",
            "counter",
            "Sessions that began.",
            self.counts.sessions as f64,
        );
        metric(
            "carrier_refused_total",
            "counter",
            "Handshakes that failed or were refused.",
            self.carrier_refused as f64,
        );
        metric(
            "carrier_retried_total",
            "counter",
            "Newcomers who had to show their address first.",
            self.carrier_retried as f64,
        );
        metric(
            "carrier_ignored_total",
            "counter",
            "Newcomers who got no answer: too many handshakes were under way.",
            self.carrier_ignored as f64,
        );
        if let Some(ms) = self.round_trip_ms {
            metric(
                "round_trip_seconds",
                "gauge",
                "Round trip to the other gateway.",
                ms / 1e3,
            );
        }
        if let Some(loss) = self.loss {
            metric(
                "loss_ratio",
                "gauge",
                "Share of packets that the path loses.",
                loss,
            );
        }
        metric(
            "open_connections",
            "gauge",
            "Hosts' connections that are open.",
            self.open_connections as f64,
        );
        metric(
            "opened_total",
            "counter",
            "Connections opened from here.",
            self.opened as f64,
        );
        metric(
            "accepted_total",
            "counter",
            "Connections opened by the other gateway.",
            self.accepted as f64,
        );
        metric(
            "resets_total",
            "counter",
            "Connections that were reset.",
            self.resets as f64,
        );
        metric(
            "connect_failures_total",
            "counter",
            "Destinations that could not be reached.",
            self.connect_failures as f64,
        );
        metric(
            "destinations_refused_total",
            "counter",
            "Connections to destinations that the access list does not allow.",
            self.destinations_refused as f64,
        );
        metric(
            "opened_again_total",
            "counter",
            "Connections that were opened again in a new session.",
            self.opened_again as f64,
        );
        self.udp_metrics(&mut metric);
        metric(
            "sent_bytes_total",
            "counter",
            "Payload that hosts gave.",
            self.counts.sent_bytes as f64,
        );
        metric(
            "delivered_bytes_total",
            "counter",
            "Payload that hosts were given.",
            self.counts.delivered_bytes as f64,
        );
        metric(
            "packets_total",
            "counter",
            "New packets sent to the other gateway.",
            self.packets as f64,
        );
        metric(
            "repairs_total",
            "counter",
            "Repairs sent beforehand.",
            self.repairs as f64,
        );
        metric(
            "sent_again_total",
            "counter",
            "Packets sent again on request.",
            self.sent_again as f64,
        );
        metric(
            "receive_overflow_total",
            "counter",
            "Packets lost in this machine's receive buffer.",
            self.receive_overflow as f64,
        );
        metric(
            "held_up_seconds_total",
            "counter",
            "Time that the sender could not use.",
            self.held_up_s,
        );
        self.rate_metrics(&mut metric);
        self.user_metrics(&mut out);
        out
    }
}

impl Standing {
    fn udp_metrics(&self, metric: &mut impl FnMut(&str, &str, &str, f64)) {
        metric(
            "associations",
            "gauge",
            "Hosts' UDP associations that are open.",
            self.associations as f64,
        );
        for (name, help, value) in [
            (
                "associations_failed_total",
                "Associations that got no socket.",
                self.associations_failed,
            ),
            (
                "associations_over_limit_total",
                "Associations beyond limits.user_associations: not begun, or ended early for a newer one.",
                self.associations_over_limit,
            ),
            (
                "datagrams_sent_total",
                "Datagrams that hosts gave.",
                self.counts.datagrams_sent,
            ),
            (
                "datagrams_delivered_total",
                "Datagrams that hosts were given.",
                self.counts.datagrams_delivered,
            ),
            (
                "datagrams_refused_total",
                "Datagrams that the access list does not allow.",
                self.datagrams_refused,
            ),
            (
                "datagrams_invalid_total",
                "Datagrams of strangers, and requests of SOCKS that are not taken.",
                self.datagrams_invalid,
            ),
            (
                "datagrams_dropped_total",
                "Datagrams that waited for too long or had no room.",
                self.datagrams_dropped,
            ),
            (
                "tun_packets_sent_total",
                "Whole packets that users gave, by the device of [tun].",
                self.tun.sent,
            ),
            (
                "tun_packets_delivered_total",
                "Whole packets that users were given.",
                self.tun.delivered,
            ),
            (
                "tun_sent_bytes_total",
                "Bytes of whole packets that users gave.",
                self.tun.sent_bytes,
            ),
            (
                "tun_delivered_bytes_total",
                "Bytes of whole packets that users were given.",
                self.tun.delivered_bytes,
            ),
            (
                "tun_packets_refused_total",
                "Whole packets of no user, or that the access list does not allow.",
                self.tun.refused,
            ),
            (
                "tun_packets_dropped_total",
                "Whole packets without a session, or that the kernel did not take.",
                self.tun.dropped,
            ),
        ] {
            metric(name, "counter", help, value as f64);
        }
    }

    fn rate_metrics(&self, metric: &mut impl FnMut(&str, &str, &str, f64)) {
        for (name, help, value) in [
            (
                "rate_limit_bits_per_second",
                "What the control law allows now, in bits of IP packets per second.",
                self.rate_limit_bit_s.map(|it| it as f64),
            ),
            (
                "from_hosts_bits_per_second",
                "Payload that hosts gave in the last five seconds.",
                self.from_hosts_bit_s,
            ),
            (
                "to_hosts_bits_per_second",
                "Payload that hosts were given in the last five seconds.",
                self.to_hosts_bit_s,
            ),
            (
                "queue_bytes",
                "Bytes of connections that wait to be sent.",
                Some(self.queue_bytes as f64),
            ),
            (
                "redundancy_ratio",
                "Share of sent packets that are repairs or sent again.",
                Some(self.redundancy),
            ),
        ] {
            if let Some(value) = value {
                metric(name, "gauge", help, value);
            }
        }
        for (name, help, value) in [
            (
                "starts_total",
                "Starts that status.state has counted.",
                self.total.starts as f64,
            ),
            (
                "reloads_total",
                "SIGHUPs that were followed.",
                self.reloads as f64,
            ),
            (
                "reloads_refused_total",
                "SIGHUPs that were not followed, since the configuration is wrong.",
                self.reloads_refused as f64,
            ),
        ] {
            metric(name, "counter", help, value);
        }
    }

    /// Of each user, kept across restarts if status.state is set. Flows are in the JSON only: each would make series that never end.
    fn user_metrics(&self, out: &mut String) {
        type Of = fn(&UserFigures) -> u64;
        let metrics: [(&str, &str, Of); 5] = [
            ("user_connections_total", "Connections of a user.", |it| {
                it.connections
            }),
            (
                "user_sent_bytes_total",
                "Payload that a user's hosts gave.",
                |it| it.sent_bytes + it.datagram_bytes_sent,
            ),
            (
                "user_delivered_bytes_total",
                "Payload that a user's hosts were given.",
                |it| it.delivered_bytes + it.datagram_bytes_delivered,
            ),
            (
                "user_datagrams_sent_total",
                "Datagrams that a user's hosts gave.",
                |it| it.datagrams_sent,
            ),
            (
                "user_datagrams_delivered_total",
                "Datagrams that a user's hosts were given.",
                |it| it.datagrams_delivered,
            ),
        ];
        for (name, help, of) in metrics {
            let _ = writeln!(
                out,
                "# HELP bentpipe_gateway_{name} {help}\n# TYPE bentpipe_gateway_{name} counter"
            );
            let mut line = |user: &str, counts: &UserFigures| {
                let _ = writeln!(
                    out,
                    "bentpipe_gateway_{name}{{role=\"{}\",user=\"{user}\"}} {}",
                    self.role,
                    of(counts)
                );
            };
            for user in &self.users {
                line(&user.user.to_string(), &user.counts);
            }
            line("others", &self.others);
        }
    }
}
