//! The workload `channels` over real sockets: N clients, each with one connection after another to a server drawn at
//! random, which sends a flow of drawn size and closes; then the client at once, or after `think`, opens the next.
//!
//! Two threads drive all of them: one has the clients' sockets ([`clients`]), in the network namespace of the host
//! `client`, and one the servers' ([`senders`]). Nothing but the flows is on the wire: who is sent how much the server's
//! thread reads in a ledger that both share ([`ledger`]), under the connection's addresses and ports. The draws are
//! those of the simulator. Where programs of others open connections again from ports of their own, a client's first two
//! bytes are its port ([`ChannelsSetup::client_says_port`]).

mod clients;
mod ledger;
mod senders;
pub mod setup;
pub(crate) mod tcp;

use crate::datapath::priority::{self, Urgency};
use crate::family::Family;
use crate::namespaces::NetNamespace;
use crate::refusal::Refused;
use crate::servers;
use bentpipe_workloads::ServersSpec;
use clients::Clients;
use ledger::Ledger;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use senders::Senders;
use setup::{ChannelsSetup, Place};
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use tcp::Bell;

/// What a listening socket's queue holds in a new network namespace (`SOMAXCONN`, since Linux 5.4). Beyond it the kernel
/// answers by SYN cookies, or not at all.
const LISTEN_QUEUE: u32 = 4096;
/// Descriptors of a channel: the client's, the server's, and the server's of the flow before, until it is acknowledged.
const DESCRIPTORS: u64 = 3;
/// Descriptors that the host process needs beside them.
const OTHER_DESCRIPTORS: u64 = 256;

/// The lines to the servers of these workloads.
pub(crate) fn servers_specs(workloads: &[ChannelsSetup]) -> Vec<ServersSpec> {
    let spec = |setup: &ChannelsSetup| ServersSpec {
        name: setup.name.clone(),
        servers: setup.servers,
        delay: setup.terrestrial_delay.clone(),
        jitter: setup.terrestrial_jitter_ns,
    };
    workloads.iter().map(spec).collect()
}

/// Why a machine cannot run these workloads beside each other. Lets the process have the descriptors that they need.
pub(crate) fn refuse(workloads: &[ChannelsSetup], families: &[Family]) -> Result<(), Refused> {
    let refused = |what: &str, message: String| {
        Err(Refused {
            what: what.into(),
            message,
            remedy: None,
        })
    };
    let mut all_servers = 0;
    for setup in workloads {
        let ChannelsSetup {
            name,
            channels,
            servers,
            ..
        } = setup;
        if *servers == 0 {
            return refused("servers", format!("workload {name}: it needs a server"));
        }
        // Half, since the draw is not even.
        let most = u64::from(*servers) * u64::from(LISTEN_QUEUE / 2);
        if u64::from(*channels) > most {
            return refused(
                "channels",
                format!(
                    "workload {name}: {servers} servers can take {most} channels at once in the live engine (half of \
                     what their listen queues hold), and {channels} are asked for; fewer channels or more servers \
                     would do"
                ),
            );
        }
        if !families.contains(&setup.ip) {
            return refused(
                "ip",
                format!("workload {name}: the hosts have no addresses of its IP version"),
            );
        }
        all_servers += *servers;
    }
    if all_servers > servers::MOST {
        let most = servers::MOST;
        return refused(
            "servers",
            format!("{all_servers} servers in all, and there are addresses for {most}"),
        );
    }
    let needed = needed_descriptors(workloads);
    allow_descriptors(needed).or_else(|limit| {
        refused(
            "RLIMIT_NOFILE",
            format!(
                "the channels need {needed} open files and this process may have {limit}; fewer channels or a higher \
                 `ulimit -Hn` would do"
            ),
        )
    })
}

/// How many of so many descriptors the process may have beside those that these workloads need.
pub(crate) fn spare_descriptors(workloads: &[ChannelsSetup], wanted: u64) -> u64 {
    let needed = needed_descriptors(workloads);
    let allowed = match allow_descriptors(needed + wanted) {
        Ok(()) => return wanted,
        Err(most) => allow_descriptors(most).map_or_else(|limit| limit, |()| most),
    };
    allowed.saturating_sub(needed)
}

fn needed_descriptors(workloads: &[ChannelsSetup]) -> u64 {
    let of =
        |setup: &ChannelsSetup| DESCRIPTORS * u64::from(setup.channels) + u64::from(setup.servers);
    OTHER_DESCRIPTORS + workloads.iter().map(of).sum::<u64>()
}

/// Raises the limit of open files where it is lower. The error is the most that is allowed.
fn allow_descriptors(needed: u64) -> Result<(), u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let wanted = Rlimit {
        current: Some(needed),
        ..limit
    };
    match limit.maximum {
        Some(most) if most < needed => Err(most),
        _ => setrlimit(Resource::Nofile, wanted).map_err(|_| limit.current.unwrap_or(0)),
    }
}

/// The workloads at work.
#[derive(Debug, Default)]
pub(crate) struct Generators {
    running: Vec<(String, Generator)>,
}

/// A workload that is over, and what went wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Over {
    pub name: String,
    pub error: Option<String>,
}

impl Generators {
    /// Starts the threads of the workload of that name, which wait for its start. The error is a sentence.
    pub fn start(
        &mut self,
        name: &str,
        workloads: &[ChannelsSetup],
        seed: u64,
        zero_monotonic_ns: i64,
        client: &NetNamespace,
        server: &NetNamespace,
    ) -> Result<(), String> {
        let at = workloads.iter().position(|setup| setup.name == name);
        let at = at.ok_or_else(|| format!("the setup has no channels named {name:?}"))?;
        if self.running.iter().any(|(running, _)| running == name) {
            return Err(format!("the channels named {name:?} are running already"));
        }
        let place = Place {
            seed,
            first_server: workloads[..at].iter().map(|setup| setup.servers).sum(),
            zero_monotonic_ns,
        };
        let generator = Generator::start(&workloads[at], place, client, server)?;
        self.running.push((name.to_owned(), generator));
        Ok(())
    }

    /// Ends a workload as the run's end does. False where none of that name runs.
    pub fn end(&self, name: &str) -> bool {
        let found = self.running.iter().find(|(running, _)| running == name);
        found.is_some_and(|(_, generator)| generator.bell.ring().is_ok())
    }

    /// Those that have ended.
    pub fn over(&mut self) -> Vec<Over> {
        let over = self
            .running
            .extract_if(.., |(_, generator)| generator.thread.is_finished());
        over.map(Over::of).collect()
    }

    /// Ends all and waits until their tables are written.
    pub fn end_all(&mut self) -> Vec<Over> {
        for (name, _) in &self.running {
            self.end(name);
        }
        self.running.drain(..).map(Over::of).collect()
    }
}

impl Over {
    fn of((name, generator): (String, Generator)) -> Self {
        let ended = generator.thread.join();
        let ended =
            ended.unwrap_or_else(|_| Err("a thread of the channels ended in a panic".into()));
        Self {
            name,
            error: ended.err(),
        }
    }
}

#[derive(Debug)]
struct Generator {
    /// Rung to end it.
    bell: Bell,
    thread: JoinHandle<Result<(), String>>,
}

impl Generator {
    fn start(
        setup: &ChannelsSetup,
        place: Place,
        client: &NetNamespace,
        server: &NetNamespace,
    ) -> Result<Self, String> {
        let at = |doing: &'static str| move |error: io::Error| format!("{doing} gave {error}");
        let out = File::create(&setup.flows_csv).map_err(at("making the table of flows"))?;
        let ledger = Ledger::new(BufWriter::new(out), &setup.name, setup.ip)
            .map_err(at("writing the table of flows"))?;
        let ledger = Arc::new(Mutex::new(ledger));
        let bell = Bell::new().map_err(at("making an eventfd"))?;
        let entering = "entering a network namespace";
        server.join().map_err(|error| at(entering)(error.into()))?;
        let senders = Senders::listen(setup, place, Arc::clone(&ledger))
            .map_err(at("listening at the servers' addresses"))?;
        client.join().map_err(|error| at(entering)(error.into()))?;
        let clients = Clients::new(setup, place, Arc::clone(&ledger), &bell)
            .map_err(at("preparing the clients"))?;
        let over = Arc::new(Bell::new().map_err(at("making an eventfd"))?);
        // A thread begins in the network namespace of the one that makes it, and with its name, by which a host's programs are
        // told apart.
        let sending = spawn("channel servers", {
            let over = Arc::clone(&over);
            move || senders.run(&over)
        })
        .map_err(at("starting a thread"))?;
        let receiving = spawn("channels", {
            let over = Arc::clone(&over);
            move || receive(clients, sending, &over, &ledger).map_err(|error| error.to_string())
        });
        if receiving.is_err() {
            over.ring().map_err(at("stopping a thread"))?;
        }
        let thread = receiving.map_err(at("starting a thread"))?;
        Ok(Self { bell, thread })
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(move || {
        priority::raise(Urgency::Channels);
        work()
    })
}

/// What the clients do, until they are done; then the servers' thread ends too.
fn receive(
    mut clients: Clients,
    sending: JoinHandle<io::Result<()>>,
    over: &Bell,
    ledger: &Mutex<Ledger<BufWriter<File>>>,
) -> io::Result<()> {
    let received = clients.run();
    over.ring()?;
    let sent = sending
        .join()
        .map_err(|_| io::Error::other("the servers' thread ended in a panic"))?;
    clients.leave();
    received.and(sent)?;
    ledger::lock(ledger).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_path::time::Nanos;
    use bentpipe_workloads::Distribution;
    use std::path::PathBuf;

    fn workload(channels: u32, servers: u32) -> ChannelsSetup {
        ChannelsSetup {
            name: "island".into(),
            start_ns: 0,
            end_ns: None,
            channels,
            servers,
            size: Distribution::Constant { value: 1 },
            terrestrial_delay: Distribution::Constant { value: 0 },
            terrestrial_jitter_ns: Nanos::ZERO,
            think_ns: Nanos::ZERO,
            ip: Family::V4,
            client_says_port: false,
            flows_csv: PathBuf::new(),
        }
    }

    #[test]
    fn more_channels_than_listen_queues_hold_are_refused_with_the_most_that_would_do() {
        let refused = refuse(&[workload(2_049, 1)], &[Family::V4]).expect_err("too many");
        assert!(
            refused.message.contains("2048 channels"),
            "{}",
            refused.message
        );
        assert!(refuse(&[workload(100, 23)], &[Family::V4]).is_ok());
    }

    #[test]
    fn servers_without_addresses_are_refused() {
        let many = vec![workload(1, 1_000); 26];
        let refused = refuse(&many, &[Family::V4]).expect_err("too many");
        assert_eq!(refused.what, "servers");
        let refused = refuse(&[workload(1, 1)], &[Family::V6]).expect_err("no IPv4");
        assert_eq!(refused.what, "ip");
    }
}
