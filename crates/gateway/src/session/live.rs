//! What can change while a session lasts, and how it stands at this moment.

use super::Session;
use crate::config::{Config, ConfigError, Rate};
use bentpipe_base::{Nanos, Time};

/// What the other gateway said is so old at most. It says it four times a second.
const UNHEARD_FOR: Nanos = Nanos::from_secs(1);

impl Session {
    /// From now on, each probe is accompanied by a short datagram that says so. For drivers that can change the carrier.
    pub fn tell_unheard(&mut self) {
        self.tells_unheard = true;
    }

    /// Whether packets of either gateway are sent again and again and do not arrive: no report of them comes, or reports come and one packet
    /// stays missing. Where the carrier itself is heard meanwhile, it does not bring what the session sends: long packets vanish, or those of one direction.
    pub fn is_unheard(&self, now: Time) -> bool {
        let own = self.established.as_ref().is_some_and(|it| {
            let plane = &it.plane;
            plane.outstanding() > 0 && (plane.probe.is_unanswered() || plane.is_held())
        });
        let peer = self.peer_unheard.is_some_and(|at| at + UNHEARD_FOR > now);
        self.link == super::Link::Up && (own || peer)
    }

    /// Another control law, or another rate, from the next datagram on and for later sessions. No flow is cut. Windows and what is kept for
    /// repairs stay those of the rate that the session began with: one that is many times as high is reached after the next start.
    pub fn set_rate(&mut self, rate: Rate) -> Result<(), ConfigError> {
        let config = Config {
            rate,
            ..self.config
        };
        config.check()?;
        self.config = config;
        if let Some(it) = &mut self.established {
            it.plane.set_rate(&self.config);
        }
        Ok(())
    }

    /// What the control law allows now, in bits of IP packets per second. None: there is no session.
    pub fn rate_bit_s(&self) -> Option<u64> {
        let established = self.established.as_ref();
        established.map(|it| it.plane.rate_bit_s())
    }

    /// Bytes of hosts' connections that wait to be sent.
    pub fn waiting_to_send(&self) -> u64 {
        let established = self.established.as_ref();
        established.map_or(0, |it| it.flows.waiting_to_send())
    }
}
