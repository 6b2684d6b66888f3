//! When users' traffic goes past the gateway: while the other one was not heard for so long.

use bentpipe_gateway_host::{Report, Watch};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Between two looks at whether the other gateway is there.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A gateway that has nothing to say is heard in this time, with a round trip.
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// Looks at a gateway, and says when its rules are to change.
#[derive(Debug)]
pub struct Bypass {
    /// What goes past, for messages.
    what: &'static str,
    away_since: Option<Instant>,
    taking: bool,
}

impl Bypass {
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            away_since: Some(Instant::now()),
            taking: true,
        }
    }

    /// Whether traffic is taken from now on; None: as before. `after`: it goes past while the other gateway was not heard for so long; None: never.
    pub fn look(&mut self, watch: &Watch, after: Option<Duration>) -> Option<bool> {
        self.saw(watch.ask(LOOK_EVERY).as_ref(), after)
    }

    fn saw(&mut self, report: Option<&Report>, after: Option<Duration>) -> Option<bool> {
        let here = report.is_some_and(|report| {
            let heard = report.carrier.last_heard;
            let within = after.unwrap_or_default().max(KEEP_ALIVE);
            report.connected
                && report.carrier.kind.is_some()
                && heard.is_none_or(|heard| heard.elapsed() < within)
        });
        self.away_since = if here {
            None
        } else {
            self.away_since.or_else(|| Some(Instant::now()))
        };
        let takes = match (after, self.away_since) {
            (Some(after), Some(since)) => self.taking && since.elapsed() < after,
            _ => true,
        };
        if takes == self.taking {
            return None;
        }
        self.taking = takes;
        let what = self.what;
        match (takes, here) {
            (true, true) => info!("the other gateway is back: {what} go through it"),
            (true, false) => info!("the bypass is off: {what} wait for the other gateway"),
            (false, _) => warn!("the other gateway is away: {what} go past it"),
        }
        Some(takes)
    }
}
