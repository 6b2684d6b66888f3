//! Questions to a gateway that runs, and changes to it, by another thread.

use crate::onward::Onward;
use crate::report::Report;
use bentpipe_gateway::{ConfigError, Rate};
use rustix::event::{EventfdFlags, eventfd};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What changes while a gateway runs. `None`: it stays as it is. No connection is cut.
#[derive(Default)]
pub struct Change {
    /// The control law, as [`bentpipe_gateway::Session::set_rate`] takes it.
    pub rate: Option<Rate>,
    /// For connections and datagrams from now on.
    pub onward: Option<Box<dyn Onward + Send>>,
    /// For connections and associations from now on.
    pub most_connections: Option<usize>,
    pub most_user_associations: Option<usize>,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("rate", &self.rate)
            .field("onward", &self.onward.is_some())
            .field("most_connections", &self.most_connections)
            .field("most_user_associations", &self.most_user_associations)
            .finish()
    }
}

/// Asks a gateway, from any thread.
#[derive(Clone, Debug)]
pub struct Watch {
    bell: Arc<OwnedFd>,
    requests: Sender<Request>,
}

#[derive(Debug)]
pub(crate) enum Request {
    /// `flows`: with so many flows, and with the users. `None`: without both.
    Report {
        answer: SyncSender<Report>,
        flows: Option<usize>,
    },
    Change {
        answer: SyncSender<Result<(), ConfigError>>,
        change: Change,
    },
}

impl Watch {
    /// How the gateway stands, without its users and flows. None: it did not answer in time, or it has ended.
    pub fn ask(&self, within: Duration) -> Option<Report> {
        self.report(within, None)
    }

    /// The same with its users, and the flows that moved last, at most so many.
    pub fn ask_in_detail(&self, within: Duration, flows: usize) -> Option<Report> {
        self.report(within, Some(flows))
    }

    fn report(&self, within: Duration, flows: Option<usize>) -> Option<Report> {
        let (answer, report) = sync_channel(1);
        self.send(Request::Report { answer, flows })?;
        report.recv_timeout(within).ok()
    }

    /// Changes it. None: it did not answer in time, or it has ended. An error: nothing has changed.
    pub fn change(&self, within: Duration, change: Change) -> Option<Result<(), ConfigError>> {
        let (answer, done) = sync_channel(1);
        self.send(Request::Change { answer, change })?;
        done.recv_timeout(within).ok()
    }

    fn send(&self, request: Request) -> Option<()> {
        self.requests.send(request).ok()?;
        rustix::io::write(&*self.bell, &1_u64.to_ne_bytes()).ok()?;
        Some(())
    }
}

/// The gateway's side.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Watch,
    requests: Mutex<Receiver<Request>>,
}

impl Watched {
    pub fn new() -> io::Result<Self> {
        let (requests, asked) = channel();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            watch: Watch {
                bell: Arc::new(bell),
                requests,
            },
            requests: Mutex::new(asked),
        })
    }

    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// What others want.
    pub fn requests(&self) -> Vec<Request> {
        // Before the requests are looked at: what comes after that rings again. Nothing to clear is no error.
        let _ = rustix::io::read(&*self.watch.bell, &mut [0; 8]);
        let asked = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        asked.try_iter().collect()
    }
}

impl AsFd for Watched {
    /// Readable when somebody has asked.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.bell.as_fd()
    }
}
