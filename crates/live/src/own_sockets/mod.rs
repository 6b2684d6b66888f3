//! This host's own TCP sockets, sampled by `sock_diag(7)` at an interval, on a thread of its own. It takes no rights.
//!
//! What is kept of a sample is what the kernel said, as bytes: reading them is left to the end, so that a look costs little more
//! than the kernel's own list. Of samples that say the same one after another, the first and the last are kept.

mod owners;
mod pace;
mod store;

use crate::clock::monotonic_ns;
use crate::closings::Closings;
use crate::sock_diag::SockDiag;
use bentpipe_wire::sock_diag::TcpSocket;
use owners::Owners;
use pace::Pace;
use serde::Serialize;
use std::collections::HashSet;
use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use store::Store;

pub use store::{Columns, ConnectionFacts};

/// Which sockets are watched: those of which all that is given here is true.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Of the peer. Empty: any.
    pub addresses: Vec<IpAddr>,
    /// Of either end. Empty: any.
    pub ports: Vec<u16>,
    /// These and their children. Empty: any.
    pub processes: Vec<u32>,
    /// Connections of this host with itself, too.
    pub loopback: bool,
}

/// What the sampling says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OwnSocketsReport {
    /// The latest. It doubles when there is no more room for samples, and is longer where looks cost too much.
    pub interval_s: f64,
    pub looks: u64,
    /// Looks after which the interval was longer because they cost too much.
    pub spared: u64,
    /// Looks whose time passed while one before was still being taken.
    pub missed: u64,
    /// Sockets in the latest look that are watched.
    pub watched: u64,
    /// Since the beginning, in all connections and both directions.
    pub carried_bytes: u64,
    pub lasted_s: f64,
    /// Processor time of the sampling thread.
    pub processor_s: f64,
    pub errors: u64,
    pub first_error: Option<String>,
}

/// The sampling thread and what it has seen.
#[derive(Debug)]
pub struct OwnSockets {
    shared: Arc<Mutex<Shared>>,
    /// Dropped to end the thread.
    until: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    report: OwnSocketsReport,
}

impl OwnSockets {
    /// Begins to sample in this network namespace. `most_share`: of a core, for looks; those that cost more are taken less often.
    pub fn start(interval_s: f64, most_share: Option<f64>, watched: Watched) -> io::Result<Self> {
        let pace = Pace::new(interval_s, most_share);
        let sockets = SockDiag::open()?;
        let shared = Arc::new(Mutex::new(Shared {
            store: Store::default(),
            report: OwnSocketsReport {
                interval_s: pace.interval_ns() as f64 / 1e9,
                ..OwnSocketsReport::default()
            },
        }));
        let (until, stopped) = channel();
        let sampling = Sampling {
            owners: Owners::new(&watched.processes),
            watched,
            left_out: HashSet::new(),
            shared: Arc::clone(&shared),
        };
        let thread = Builder::new()
            .name("own sockets".into())
            .spawn(move || sampling.run(sockets, pace, &stopped))?;
        Ok(Self {
            shared,
            until: Some(until),
            thread: Some(thread),
        })
    }

    /// Ends the sampling, after a last look.
    pub fn stop(&mut self) {
        drop(self.until.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let mut shared = lock(&self.shared);
            shared.report.errors += 1;
            let why = || "the sampling ended in a panic".to_owned();
            shared.report.first_error.get_or_insert_with(why);
        }
    }

    pub fn report(&self) -> OwnSocketsReport {
        lock(&self.shared).report.clone()
    }

    pub fn connections(&self) -> Vec<ConnectionFacts> {
        lock(&self.shared).store.facts()
    }

    /// Of a connection, by its place in [`Self::connections`].
    pub fn samples(&self, place: usize) -> Option<Columns> {
        lock(&self.shared).store.columns(place)
    }
}

impl Drop for OwnSockets {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Sampling {
    watched: Watched,
    owners: Owners,
    /// Sockets that are none of those that are watched, by cookie.
    left_out: HashSet<u64>,
    shared: Arc<Mutex<Shared>>,
}

impl Sampling {
    fn run(mut self, mut sockets: SockDiag, mut pace: Pace, stopped: &Receiver<()>) {
        let zero_ns = monotonic_ns();
        let closings = sockets.closings();
        let mut received = vec![0; 65_536];
        let mut due_ns = 0;
        loop {
            let wait_ns = (zero_ns + due_ns - monotonic_ns()).max(0) as u64;
            let ends = !matches!(
                stopped.recv_timeout(Duration::from_nanos(wait_ns)),
                Err(RecvTimeoutError::Timeout)
            );
            let time_s = (monotonic_ns() - zero_ns) as f64 / 1e9;
            self.look(&mut sockets, time_s);
            if let Some(closings) = &closings {
                self.see_closed(closings, &mut received, time_s);
            }
            let mut shared = lock(&self.shared);
            if shared.store.make_room() {
                pace.double();
            }
            let used_s = processor_s();
            pace.looked(used_s - shared.report.processor_s);
            let interval_ns = pace.interval_ns();
            let next_ns = ((monotonic_ns() - zero_ns).div_euclid(interval_ns) + 1) * interval_ns;
            let carried_bytes = shared.store.carried_bytes();
            let report = &mut shared.report;
            report.looks += 1;
            report.missed += ((next_ns - due_ns) / interval_ns - 1).max(0) as u64;
            report.interval_s = interval_ns as f64 / 1e9;
            report.lasted_s = time_s;
            report.carried_bytes = carried_bytes;
            report.processor_s = used_s;
            report.spared += u64::from(pace.is_slowed());
            if ends {
                return;
            }
            due_ns = next_ns;
        }
    }

    fn look(&mut self, sockets: &mut SockDiag, time_s: f64) {
        let mut shared = lock(&self.shared);
        let mut watched = 0;
        self.owners.next_look();
        let listed = sockets.tcp_sockets(|socket| {
            if !store::is_connected(socket.state) || self.left_out.contains(&socket.cookie) {
                return;
            }
            if shared.store.add(socket, time_s, false) {
                watched += 1;
                return;
            }
            match choice(&self.watched, &mut self.owners, socket) {
                Choice::Watch => {
                    shared.store.begin(socket, time_s);
                    watched += 1;
                }
                Choice::LeaveOut => {
                    self.left_out.insert(socket.cookie);
                }
                Choice::NotYet => {}
            }
        });
        shared.store.looked();
        shared.report.watched = watched;
        if let Err(error) = listed {
            shared.report.errors += 1;
            let why = || format!("listing the sockets: {error}");
            shared.report.first_error.get_or_insert_with(why);
        }
    }

    fn see_closed(&mut self, closings: &Closings, received: &mut [u8], time_s: f64) {
        let mut shared = lock(&self.shared);
        let seen = closings.take(received, |socket| {
            if socket.remote_port == 0 {
                return; // It listened, or never had a peer.
            }
            if !shared.store.add(socket, time_s, true)
                && !self.left_out.remove(&socket.cookie)
                && self.watched.processes.is_empty()
                && is_of(&self.watched, socket)
            {
                shared.store.begin(socket, time_s);
                shared.store.add(socket, time_s, true);
            }
        });
        if let Err(error) = seen {
            shared.report.errors += 1;
            let why = || format!("hearing of closed sockets: {error}");
            shared.report.first_error.get_or_insert_with(why);
        }
    }
}

enum Choice {
    Watch,
    LeaveOut,
    /// Nobody has accepted it, or its owner was not found this time.
    NotYet,
}

fn choice(watched: &Watched, owners: &mut Owners, socket: &TcpSocket<'_>) -> Choice {
    if !is_of(watched, socket) {
        return Choice::LeaveOut;
    }
    if watched.processes.is_empty() {
        return Choice::Watch;
    }
    match owners.owns(socket.cookie, socket.inode) {
        Some(true) => Choice::Watch,
        Some(false) => Choice::LeaveOut,
        None => Choice::NotYet,
    }
}

/// Whether a socket is one of these by its addresses and ports.
fn is_of(watched: &Watched, socket: &TcpSocket<'_>) -> bool {
    let (local, remote) = (socket.local.to_canonical(), socket.remote.to_canonical());
    let ports = [socket.local_port, socket.remote_port];
    (watched.addresses.is_empty() || watched.addresses.contains(&remote))
        && (watched.ports.is_empty() || watched.ports.iter().any(|port| ports.contains(port)))
        && (watched.loopback || !(remote.is_loopback() || remote == local))
}

/// Processor time of the calling thread.
fn processor_s() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    fn until(mut holds: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if holds() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn pair() -> (TcpStream, TcpStream, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        (client, listener.accept().unwrap().0, address.port())
    }

    #[test]
    fn a_connection_is_sampled_at_both_ends_to_its_last_byte() {
        let (mut client, mut server, port) = pair();
        let watched = Watched {
            ports: vec![port],
            loopback: true,
            ..Watched::default()
        };
        let mut sockets = OwnSockets::start(0.01, None, watched).unwrap();
        assert!(until(|| sockets.report().watched == 2));
        client.write_all(&[7; 12_000]).unwrap();
        drop(client);
        let mut carried = Vec::new();
        server.read_to_end(&mut carried).unwrap();
        drop(server);
        let ended = |sockets: &OwnSockets| sockets.connections().iter().all(|each| each.closed);
        assert!(until(|| ended(&sockets)));
        sockets.stop();
        let all = sockets.connections();
        assert_eq!(all.len(), 2);
        let sender = all
            .iter()
            .position(|each| each.remote_port == port)
            .unwrap();
        assert!(all[sender].sent_bytes >= 12_000);
        assert_eq!(all[sender].remote, "127.0.0.1");
        let columns = sockets.samples(sender).unwrap();
        let of = |name: &str| {
            &columns
                .numbers
                .iter()
                .find(|(it, _)| *it == name)
                .unwrap()
                .1
        };
        assert_eq!(of("time_s").len(), columns.ca_state.len());
        assert!(
            of("bytes_acked")
                .last()
                .is_some_and(|&last| last >= 12_000.0)
        );
        assert!(of("sndbuf_bytes").iter().all(|&size| size > 0.0));
    }

    #[test]
    fn connections_of_other_ports_and_those_within_this_host_are_left_out() {
        let (_client, _server, port) = pair();
        for (ports, loopback) in [(vec![port.wrapping_add(1)], true), (vec![port], false)] {
            let watched = Watched {
                ports,
                loopback,
                ..Watched::default()
            };
            let mut sockets = OwnSockets::start(0.01, None, watched).unwrap();
            assert!(until(|| sockets.report().looks >= 2));
            sockets.stop();
            assert!(sockets.connections().is_empty());
        }
    }

    #[test]
    fn a_listener_that_closes_is_no_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let watched = Watched {
            ports: vec![port],
            loopback: true,
            ..Watched::default()
        };
        let mut sockets = OwnSockets::start(0.01, None, watched).unwrap();
        assert!(until(|| sockets.report().looks >= 2));
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        drop((listener, client));
        // The kernel tells of both in the order in which they went.
        let closed = |sockets: &OwnSockets| sockets.connections().iter().any(|each| each.closed);
        assert!(until(|| closed(&sockets)));
        sockets.stop();
        let all = sockets.connections();
        assert!(all.iter().all(|each| each.remote_port != 0), "{all:?}");
    }

    #[test]
    fn a_connection_that_is_accepted_later_has_its_inode() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let watched = Watched {
            ports: vec![port],
            loopback: true,
            ..Watched::default()
        };
        let mut sockets = OwnSockets::start(0.01, None, watched).unwrap();
        let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(until(|| sockets.report().watched == 2));
        let of_server = |sockets: &OwnSockets| {
            let all = sockets.connections();
            all.iter()
                .find(|each| each.local_port == port)
                .unwrap()
                .inode
        };
        assert_eq!(of_server(&sockets), 0);
        let _server = listener.accept().unwrap();
        assert!(until(|| of_server(&sockets) != 0));
        sockets.stop();
    }

    #[test]
    fn the_sockets_of_a_process_are_found() {
        let (_client, _server, port) = pair();
        let watched = Watched {
            ports: vec![port],
            processes: vec![std::process::id()],
            loopback: true,
            ..Watched::default()
        };
        let mut sockets = OwnSockets::start(0.01, None, watched).unwrap();
        assert!(until(|| sockets.report().watched == 2));
        sockets.stop();
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let other = Watched {
            ports: vec![port],
            processes: vec![sleeper.id()],
            loopback: true,
            ..Watched::default()
        };
        let mut sockets = OwnSockets::start(0.01, None, other).unwrap();
        assert!(until(|| sockets.report().looks >= 6));
        sockets.stop();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(sockets.connections().is_empty());
    }
}
