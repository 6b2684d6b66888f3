//! `bentpipe-gateway near` and `far`: the daemon.

use crate::config::{Loaded, Role};
use crate::notify;
use crate::reload::Reloads;
use crate::routing::Routing;
use crate::setup::{resolve, setup};
use crate::state::State;
use crate::status::{Answers, Rates, Served};
use crate::tun::TunRules;
use bentpipe_gateway_host::{Gateway, Report, Stop, Watch};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Between two questions for the address of a far whose name has none.
const RESOLVE_AGAIN: Duration = Duration::from_secs(5);
/// Between two looks at the figures, for rates, and between two times that they are written.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
const SAVE_EVERY: Duration = Duration::from_mins(1);
const PATIENCE: Duration = Duration::from_secs(5);

/// The thread that hears signals.
struct Ears {
    handle: Handle,
    thread: JoinHandle<()>,
    told_to_end: Arc<AtomicBool>,
    /// One for each SIGHUP.
    reloads: Receiver<()>,
}

impl Ears {
    fn new(stop: Stop) -> Result<Self, String> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let mut signals = signals.map_err(|error| error.to_string())?;
        let handle = signals.handle();
        let told_to_end = Arc::new(AtomicBool::new(false));
        let (sender, reloads) = channel();
        let tells = Arc::clone(&told_to_end);
        let thread = thread::spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    // Nobody reads the configuration any more when the gateway has ended.
                    let _ = sender.send(());
                    continue;
                }
                info!(signal, "stopping");
                tells.store(true, Ordering::Relaxed);
                // The gateway has ended by itself if it does not listen.
                let _ = stop.raise();
                return;
            }
        });
        Ok(Self {
            handle,
            thread,
            told_to_end,
            reloads,
        })
    }

    /// Whether SIGINT or SIGTERM came.
    fn told_to_end(&self) -> bool {
        self.told_to_end.load(Ordering::Relaxed)
    }
}

/// What the log has of handshakes that were refused: a line a second at most, and each reason of near's own once.
#[derive(Debug, Default)]
struct Refusals {
    refused: u64,
    ignored: u64,
    last: Option<String>,
}

impl Refusals {
    fn tell(&mut self, report: &Report) {
        let carrier = &report.carrier;
        let (refused, ignored) = (
            carrier.refused - self.refused,
            carrier.ignored - self.ignored,
        );
        let is_known = carrier.last_refused == self.last && refused < 2;
        (self.refused, self.ignored) = (carrier.refused, carrier.ignored);
        self.last.clone_from(&carrier.last_refused);
        if refused > 0 && !is_known {
            let last = carrier.last_refused.as_deref().unwrap_or_default();
            warn!(
                refused,
                all = carrier.refused,
                last,
                "handshakes failed or were refused"
            );
        }
        if ignored > 0 {
            warn!(
                ignored,
                all = carrier.ignored,
                "too many handshakes: newcomers got no answer"
            );
        }
    }
}

/// Samples the rates, and writes the figures now and then, until the gateway has ended.
fn keep(watch: &Watch, rates: &Mutex<Rates>, state: Option<&State>, over: &AtomicBool) {
    let mut saved = Instant::now();
    let mut told = Refusals::default();
    while !over.load(Ordering::Relaxed) {
        if let Some(report) = watch.ask(SAMPLE_EVERY) {
            let mut rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
            rates.take(Instant::now(), &report);
            told.tell(&report);
        }
        if let Some(state) = state.filter(|_| saved.elapsed() >= SAVE_EVERY) {
            saved = Instant::now();
            if let Some(report) = watch.ask_in_detail(PATIENCE, 0) {
                state.save_or_warn(&report);
            }
        }
        thread::park_timeout(SAMPLE_EVERY);
    }
}

/// Runs until SIGINT or SIGTERM. SIGHUP reads the configuration again.
pub fn run(loaded: &Loaded) -> Result<(), String> {
    let file = &loaded.file;
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    let stop = Stop::new().map_err(|error| error.to_string())?;
    let ears = Ears::new(stop.clone())?;
    let peer = match (file.role, &file.peer.address, file.listen.peer) {
        (Role::Near, Some(name), _) => loop {
            match resolve(name) {
                Ok(address) => break address,
                Err(error) => {
                    warn!("{error}; trying again in {} s", RESOLVE_AGAIN.as_secs());
                    notify::waiting(&error, RESOLVE_AGAIN);
                    thread::sleep(RESOLVE_AGAIN);
                    if ears.told_to_end() {
                        return Ok(());
                    }
                }
            }
        },
        (_, _, Some(at)) => at,
        _ => unreachable!("a configuration that was checked has one of both"),
    };
    let mut gateway =
        Gateway::new(setup(loaded, peer)?, stop).map_err(|error| error.to_string())?;
    let state = loaded.state_path().map(State::open);
    let (state, users) = state.map_or((None, None), |(state, users)| (Some(state), Some(users)));
    if let Some(users) = users {
        gateway.remember(users);
    }
    let rates = Arc::new(Mutex::new(Rates::default()));
    let answers = Answers {
        role: file.role,
        watch: gateway.watch(),
        before: state.as_ref().map_or_else(Default::default, |it| it.before),
        rates: Arc::clone(&rates),
        reloads: Arc::new([const { AtomicU64::new(0) }; 2]),
    };
    let served = Served::new(&file.status, &answers)?;
    let _tun = TunRules::apply(file, gateway.watch())?;
    let routing = Routing::apply(file, gateway.watch())?;
    let over = Arc::new(AtomicBool::new(false));
    let keeper = {
        let (watch, state, over) = (gateway.watch(), state.clone(), Arc::clone(&over));
        thread::spawn(move || keep(&watch, &rates, state.as_ref(), &over))
    };
    let reloader = {
        let reloads = Reloads::new(loaded.clone(), answers, served, routing);
        let asked = ears.reloads;
        thread::spawn(move || reloads.run(&asked))
    };
    info!(role = %file.role, public_key = %loaded.identity.public(), %peer, "ready");
    notify::ready(gateway.watch());
    let ended = gateway.run();
    notify::stopping();
    over.store(true, Ordering::Relaxed);
    keeper.thread().unpark();
    ears.handle.close();
    // They have been told to end. The last one takes the sockets and the rules with it.
    let _ = (ears.thread.join(), keeper.join(), reloader.join());
    match ended {
        Ok(report) => {
            if let Some(state) = &state {
                state.save_or_warn(&report);
            }
            info!(
                seconds = report.ran.as_secs(),
                sessions = report.session.sessions,
                connections = report.session.opened + report.session.accepted,
                delivered_bytes = report.session.delivered_bytes,
                "stopped"
            );
            Ok(())
        }
        Err(error) => Err(format!("the gateway ended: {error}")),
    }
}
