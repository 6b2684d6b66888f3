//! What a gateway that runs has done so far, asked for by another thread.

use crate::report::Report;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Asks a gateway, from any thread.
#[derive(Clone, Debug)]
pub struct Watch {
    bell: Arc<OwnedFd>,
    questions: Sender<SyncSender<Report>>,
}

impl Watch {
    /// How the gateway stands. None: it did not answer in time, or it has ended.
    pub fn ask(&self, within: Duration) -> Option<Report> {
        let (answer, report) = sync_channel(1);
        self.questions.send(answer).ok()?;
        rustix::io::write(&*self.bell, &1_u64.to_ne_bytes()).ok()?;
        report.recv_timeout(within).ok()
    }
}

/// The gateway's side.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Watch,
    questions: Mutex<Receiver<SyncSender<Report>>>,
}

impl Watched {
    pub fn new() -> io::Result<Self> {
        let (questions, asked) = channel();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            watch: Watch {
                bell: Arc::new(bell),
                questions,
            },
            questions: Mutex::new(asked),
        })
    }

    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Those who have asked.
    pub fn questions(&self) -> Vec<SyncSender<Report>> {
        // Before the questions are looked at: what comes after that rings again. Nothing to clear is no error.
        let _ = rustix::io::read(&*self.watch.bell, &mut [0; 8]);
        let asked = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        asked.try_iter().collect()
    }
}

impl AsFd for Watched {
    /// Readable when somebody has asked.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.bell.as_fd()
    }
}
