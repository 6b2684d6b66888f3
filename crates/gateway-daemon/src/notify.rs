//! What systemd is told where it started the daemon (`sd_notify(3)`); elsewhere nobody is told.

use bentpipe_gateway_host::Watch;
use sd_notify::NotifyState::{ExtendTimeoutUsec, Ready, Status, Stopping, Watchdog};
use std::thread;
use std::time::Duration;

fn tell(state: &[sd_notify::NotifyState<'_>]) {
    // A manager that does not listen changes nothing for the gateway.
    let _ = sd_notify::notify(state);
}

/// The start takes until `again` at least, because of `why`.
pub fn waiting(why: &str, again: Duration) {
    let more = 2 * again + Duration::from_secs(5);
    tell(&[Status(why), ExtendTimeoutUsec(more.as_micros() as u32)]);
}

/// The gateway runs. If systemd has a watchdog for it, that hears of each time the gateway's thread answers, twice in its time.
pub fn ready(watch: Watch) {
    tell(&[Ready, Status("")]);
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return;
    };
    thread::spawn(move || {
        loop {
            if watch.ask(limit / 4).is_some() {
                tell(&[Watchdog]);
            }
            thread::sleep(limit / 4);
        }
    });
}

pub fn stopping() {
    tell(&[Stopping]);
}
