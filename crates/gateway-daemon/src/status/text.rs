//! For a person.

use super::model::{Standing, UserTotals};
use bentpipe_gateway_host::PacketsReport;
use std::fmt::Write as _;

/// Users and flows on a screen. JSON has more.
const MOST_LINES: usize = 20;

impl Standing {
    /// For a person: one fact per line. `before`: how it stood at an earlier look, for what users' rates are now.
    pub fn text(&self, before: Option<&Self>) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(out, "{name:<22}{value}");
        };
        line(
            "gateway",
            format!(
                "{}, version {}, up {}",
                self.role,
                self.version,
                duration(self.counts.up_s)
            ),
        );
        line(
            "session",
            if self.connected {
                let over = self.carrier.as_deref();
                over.map_or("waits for the other gateway".into(), |over| {
                    format!("connected over {over}")
                })
            } else {
                let why = self.carrier_last_end.as_deref();
                format!(
                    "not connected{}",
                    why.map_or(String::new(), |why| format!(": {why}"))
                )
            },
        );
        let round_trip = self.round_trip_ms;
        if self.carrier_refused > 0 {
            let last = self.carrier_last_refused.as_deref();
            line(
                "handshakes",
                format!(
                    "{} failed or were refused; the last: {}",
                    self.carrier_refused,
                    last.unwrap_or("?")
                ),
            );
        }
        line(
            "round trip",
            round_trip.map_or("not known yet".into(), |ms| format!("{ms:.1} ms")),
        );
        line(
            "loss of the path",
            self.loss.map_or("not known yet".into(), |loss| {
                format!("{:.2} %", 100.0 * loss)
            }),
        );
        line(
            "rate",
            format!(
                "{} from hosts, {} to hosts; the path is sent {} at most",
                self.from_hosts_bit_s.map_or("?".into(), bit_s),
                self.to_hosts_bit_s.map_or("?".into(), bit_s),
                self.rate_limit_bit_s
                    .map_or("nothing yet".into(), |it| bit_s(it as f64))
            ),
        );
        line(
            "queue",
            format!("{} wait to be sent", bytes(self.queue_bytes)),
        );
        line(
            "connections",
            format!(
                "{} open; {} opened here, {} by the other gateway, {} reset, {} not reached",
                self.open_connections,
                self.opened,
                self.accepted,
                self.resets,
                self.connect_failures
            ),
        );
        line(
            "UDP",
            format!(
                "{} associations open; {} datagrams from hosts, {} to hosts, {} refused, {} invalid, {} dropped",
                self.associations,
                self.counts.datagrams_sent,
                self.counts.datagrams_delivered,
                self.datagrams_refused,
                self.datagrams_invalid,
                self.datagrams_dropped
            ),
        );
        if self.associations_over_limit > 0 {
            line(
                "over the limit",
                format!(
                    "{} UDP associations beyond limits.user_associations",
                    self.associations_over_limit
                ),
            );
        }
        if self.tun != PacketsReport::default() {
            let tun = &self.tun;
            line(
                "whole packets",
                format!(
                    "{} from hosts ({}), {} to hosts ({}), {} refused, {} dropped; {} flows",
                    tun.sent,
                    bytes(tun.sent_bytes),
                    tun.delivered,
                    bytes(tun.delivered_bytes),
                    tun.refused,
                    tun.dropped,
                    tun.flows
                ),
            );
        }
        line("from hosts", bytes(self.counts.sent_bytes));
        line("to hosts", bytes(self.counts.delivered_bytes));
        let all = self.packets + self.repairs + self.sent_again;
        line(
            "packets sent",
            format!(
                "{all}, of them {:.1} % repairs ({} beforehand, {} on request)",
                100.0 * self.redundancy,
                self.repairs,
                self.sent_again
            ),
        );
        if self.receive_overflow > 0 {
            line(
                "lost in this machine",
                format!(
                    "{} packets: a larger net.core.rmem_max helps",
                    self.receive_overflow
                ),
            );
        }
        if self.held_up_s > 0.01 * self.counts.up_s {
            line(
                "held up",
                format!(
                    "{:.1} s: this machine is too busy for the rate",
                    self.held_up_s
                ),
            );
        }
        line(
            "in all",
            format!(
                "{} starts, {}: {} from hosts, {} to hosts, {} connections",
                self.total.starts,
                duration(self.total.counts.up_s),
                bytes(self.total.counts.sent_bytes),
                bytes(self.total.counts.delivered_bytes),
                self.total.connections
            ),
        );
        self.users_text(before, &mut out);
        self.flows_text(&mut out);
        out
    }

    fn users_text(&self, before: Option<&Self>, out: &mut String) {
        if self.users.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\n{:<26}{:>11}{:>12}{:>12}{:>14}",
            "users", "connections", "from hosts", "to hosts", "now"
        );
        for user in self.users.iter().take(MOST_LINES) {
            let now = before.and_then(|before| self.rate_of(user, before));
            let _ = writeln!(
                out,
                "{:<26}{:>11}{:>12}{:>12}{:>14}",
                user.user.to_string(),
                user.counts.connections,
                bytes(user.counts.sent_bytes + user.counts.datagram_bytes_sent),
                bytes(user.counts.delivered_bytes + user.counts.datagram_bytes_delivered),
                now.map_or(String::new(), bit_s)
            );
        }
        let more = self.users.len().saturating_sub(MOST_LINES);
        if more > 0 || self.other_users > 0 {
            let _ = writeln!(
                out,
                "and {more} more; {} and {} of users who were idle for longest are summed up",
                bytes(self.others.sent_bytes + self.others.datagram_bytes_sent),
                bytes(self.others.delivered_bytes + self.others.datagram_bytes_delivered)
            );
        }
    }

    /// A user's payload since `before`, both ways, in bits per second.
    fn rate_of(&self, user: &UserTotals, before: &Self) -> Option<f64> {
        let span = self.counts.up_s - before.counts.up_s;
        let then = before.users.iter().find(|it| it.user == user.user);
        let then = then.map_or(0, |it| it.counts.bytes());
        let moved = user.counts.bytes().checked_sub(then)?;
        (span > 0.0).then(|| 8.0 * moved as f64 / span)
    }

    fn flows_text(&self, out: &mut String) {
        if self.flows.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\n{:<26}{:<34}{:<13}{:>9}{:>12}{:>12}",
            "flows", "to", "state", "idle", "from hosts", "to hosts"
        );
        for flow in self.flows.iter().take(MOST_LINES) {
            let _ = writeln!(
                out,
                "{:<26}{:<34}{:<13}{:>9}{:>12}{:>12}",
                flow.host.to_string(),
                flow.destination.as_deref().unwrap_or("-"),
                flow.state,
                duration(flow.idle_s),
                bytes(flow.sent_bytes),
                bytes(flow.delivered_bytes)
            );
        }
        let more = self.flows.len().saturating_sub(MOST_LINES) as u64 + self.flows_left_out;
        if more > 0 {
            let _ = writeln!(out, "and {more} more");
        }
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

fn bytes(count: u64) -> String {
    let value = count as f64;
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

fn bit_s(rate: f64) -> String {
    match rate {
        ..1e3 => format!("{rate:.0} bit/s"),
        1e3..1e6 => format!("{:.1} kbit/s", rate / 1e3),
        1e6..1e9 => format!("{:.2} Mbit/s", rate / 1e6),
        _ => format!("{:.2} Gbit/s", rate / 1e9),
    }
}
