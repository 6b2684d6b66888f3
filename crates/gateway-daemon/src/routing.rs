//! The router's rules while the gateway runs: new connections go past it while the other one is away, and a reload changes them.

use crate::config::{File, Router};
use crate::rules::Rules;
use bentpipe_gateway_host::Watch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Between two looks at whether the other gateway is there.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A gateway that has nothing to say is heard in this time, with a round trip.
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// The rules, and when new connections go past the gateway.
#[derive(Debug)]
struct Shared {
    rules: Rules,
    /// While the other gateway was not heard for so long. None: never.
    bypass_after: Option<Duration>,
}

/// The router's rules, and a thread that takes new connections past the gateway while the other one is away.
#[derive(Debug)]
pub struct Routing(Arc<Mutex<Option<Shared>>>);

impl Drop for Routing {
    fn drop(&mut self) {
        // The thread finds none, and ends.
        drop(lock(&self.0).take());
    }
}

fn lock(shared: &Mutex<Option<Shared>>) -> MutexGuard<'_, Option<Shared>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bypass_after(router: &Router) -> Option<Duration> {
    router.bypass_after_s.map(Duration::from_secs_f64)
}

impl Routing {
    /// None: the configuration has no `[router]`.
    pub fn apply(file: &File, watch: Watch) -> Result<Option<Self>, String> {
        let Some(router) = &file.router else {
            return Ok(None);
        };
        let shared = Shared {
            rules: Rules::apply(router, &file.listen.tproxy)?,
            bypass_after: bypass_after(router),
        };
        let shared = Arc::new(Mutex::new(Some(shared)));
        let looks = Arc::clone(&shared);
        thread::spawn(move || look(&looks, &watch));
        Ok(Some(Self(shared)))
    }

    /// Interfaces, exceptions and the bypass, from now on. Connections that were taken stay with the gateway.
    pub fn change(&self, router: &Router) -> Result<(), String> {
        let mut shared = lock(&self.0);
        let Some(shared) = shared.as_mut() else {
            return Ok(());
        };
        shared.bypass_after = bypass_after(router);
        let changed = shared.rules.change(router);
        changed.map_err(|error| format!("[router]: nft does not take the rules: {error}"))
    }
}

/// Takes new connections past the gateway while the other one was not heard for long.
fn look(shared: &Mutex<Option<Shared>>, watch: &Watch) {
    let mut away_since = Some(Instant::now());
    let mut taking = true;
    loop {
        thread::sleep(LOOK_EVERY);
        let report = watch.ask(LOOK_EVERY);
        let mut shared = lock(shared);
        let Some(shared) = shared.as_mut() else {
            return;
        };
        let here = report.is_some_and(|report| {
            let heard = report.carrier.last_heard;
            let within = shared.bypass_after.unwrap_or_default().max(KEEP_ALIVE);
            report.connected
                && report.carrier.kind.is_some()
                && heard.is_none_or(|heard| heard.elapsed() < within)
        });
        away_since = if here {
            None
        } else {
            away_since.or_else(|| Some(Instant::now()))
        };
        let takes = match (shared.bypass_after, away_since) {
            (Some(after), Some(since)) => taking && since.elapsed() < after,
            _ => true,
        };
        if takes != taking {
            match (takes, here) {
                (true, true) => info!("the other gateway is back: new connections go through it"),
                (true, false) => {
                    info!("the bypass is off: new connections wait for the other gateway");
                }
                (false, _) => warn!("the other gateway is away: new connections go past it"),
            }
            if let Err(error) = shared.rules.take_new(takes) {
                warn!(%error, "the router's rules could not be changed");
            }
            taking = takes;
        }
    }
}
