//! What a gateway that runs answers to those who watch it, and what they change.

use super::Gateway;
use crate::flows::newest;
use crate::report::Report;
use crate::users::Users;
use crate::watch::{Change, Request};
use bentpipe_gateway::ConfigError;
use std::time::Duration;

impl Gateway {
    pub(super) fn answer(&mut self) {
        for request in self.watched.requests() {
            // Who asked may have left.
            match request {
                Request::Report { answer, flows } => {
                    let mut report = self.report();
                    if let Some(most) = flows {
                        self.detail(&mut report, most);
                    }
                    let _ = answer.try_send(report);
                }
                Request::Change { answer, change } => {
                    let _ = answer.try_send(self.change(change));
                }
            }
        }
    }

    fn detail(&self, report: &mut Report, most: usize) {
        report.users = self.connections.users.clone();
        (report.flows, report.flows_left_out) = newest(self.connections.flows(), most);
    }

    fn change(&mut self, change: Change) -> Result<(), ConfigError> {
        if let Some(rate) = change.rate {
            self.session.set_rate(rate)?;
            self.carrier.set_measured_rate(rate.known_bit_s());
        }
        self.connections
            .change(change.onward, change.most_connections);
        if let Some(most) = change.most_user_associations {
            self.connections.datagrams.associations.of_users.most = most;
        }
        // Those who waited for room may have it now.
        self.somebody_waits = true;
        Ok(())
    }

    pub(super) fn report(&mut self) -> Report {
        let (carrier, udp) = self.carrier.report();
        Report {
            session: self.session.figures(),
            connected: self.session.has_session(),
            established: self.established,
            carrier,
            udp,
            connect_failures: self.connections.connect_failures,
            destinations_refused: self.connections.refused,
            returned: self.connections.returned,
            open: self.connections.open() as u64,
            open_at_once_max: self.connections.open_at_once_max as u64,
            associations: self.connections.datagrams.report(),
            packets: self.connections.datagrams.packets_report(),
            rate_bit_s: self.session.rate_bit_s(),
            waiting_bytes: self.session.waiting_to_send(),
            users: Users::default(),
            flows: Vec::new(),
            flows_left_out: 0,
            held_up: Duration::from_nanos(u64::try_from(self.held_up.0).unwrap_or(0)),
            ran: self.start.elapsed(),
        }
    }
}
