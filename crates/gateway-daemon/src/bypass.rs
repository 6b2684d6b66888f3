//! When users' traffic goes past the gateway: while the other one was not heard for so long.

use bentpipe_gateway_host::Watch;
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
        let report = watch.ask(LOOK_EVERY);
        let connected = report
            .as_ref()
            .is_some_and(|it| it.connected && it.carrier.kind.is_some());
        let heard = report.and_then(|it| it.carrier.last_heard);
        self.saw(connected, heard, after)
    }

    fn saw(
        &mut self,
        connected: bool,
        heard: Option<Instant>,
        after: Option<Duration>,
    ) -> Option<bool> {
        let within = after.unwrap_or_default().max(KEEP_ALIVE);
        let here = connected && heard.is_none_or(|heard| heard.elapsed() < within);
        self.away_since = if here {
            None
        } else {
            // It was away before that was seen.
            self.away_since.or(heard).or_else(|| Some(Instant::now()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bypass_begins_when_nothing_was_heard_for_so_long_and_not_later() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        for (after, before, then) in [(30, 29, 31), (1, 7, 9)] {
            let after = Some(Duration::from_secs(after));
            let mut bypass = Bypass::new("all");
            assert_eq!(bypass.saw(true, ago(before), after), None);
            assert_eq!(bypass.saw(true, ago(then), after), Some(false));
            assert_eq!(bypass.saw(true, ago(then + 1), after), None);
            assert_eq!(bypass.saw(true, ago(0), after), Some(true));
            assert_eq!(bypass.saw(true, ago(then), None), None);
        }
    }
}
