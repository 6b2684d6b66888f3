//! The router's rules while the gateway runs: new connections go past it while the other one is away, and a reload changes them.

use crate::bypass::{Bypass, LOOK_EVERY};
use crate::config::{File, Router};
use crate::rules::Rules;
use bentpipe_gateway_host::Watch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::warn;

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
    let mut bypass = Bypass::new("new connections");
    loop {
        thread::sleep(LOOK_EVERY);
        let Some(after) = lock(shared).as_ref().map(|it| it.bypass_after) else {
            return;
        };
        let Some(takes) = bypass.look(watch, after) else {
            continue;
        };
        if let Some(shared) = lock(shared).as_mut()
            && let Err(error) = shared.rules.take_new(takes)
        {
            warn!(%error, "the router's rules could not be changed");
        }
    }
}
