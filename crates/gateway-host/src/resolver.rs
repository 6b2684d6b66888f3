//! Names, resolved beside the gateway's thread: the system's resolver waits for its servers.

use bentpipe_gateway::{FlowId, NamedTarget, ResetCode};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Names that are being resolved at once, and those that wait for that.
const MOST_THREADS: usize = 16;
const MOST_WAITING: usize = 1024;

/// A name's addresses, as the system's resolver orders them: none if it has none.
pub(crate) struct Resolved {
    pub flow: FlowId,
    pub target: NamedTarget,
    pub addresses: Vec<SocketAddr>,
}

#[derive(Default)]
struct Asked {
    waiting: VecDeque<(FlowId, NamedTarget)>,
    idle_threads: usize,
    threads: usize,
    over: bool,
}

struct Shared {
    asked: Mutex<Asked>,
    /// Somebody asked, or it is over.
    changed: Condvar,
    bell: OwnedFd,
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that resolves what is asked until it is over.
    fn work(&self, answers: &Sender<Resolved>) {
        let mut asked = self.asked();
        while !asked.over {
            let Some((flow, target)) = asked.waiting.pop_front() else {
                asked.idle_threads += 1;
                asked = self
                    .changed
                    .wait(asked)
                    .unwrap_or_else(PoisonError::into_inner);
                asked.idle_threads -= 1;
                continue;
            };
            drop(asked);
            let found = (target.name(), target.port()).to_socket_addrs();
            let addresses = found.map(Iterator::collect).unwrap_or_default();
            let answer = Resolved {
                flow,
                target,
                addresses,
            };
            if answers.send(answer).is_err() {
                return;
            }
            // Only a counter that is full refuses, and then the gateway wakes anyway.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
            asked = self.asked();
        }
    }
}

pub(crate) struct Resolver {
    shared: Arc<Shared>,
    sender: Sender<Resolved>,
    answers: Receiver<Resolved>,
}

impl Resolver {
    pub fn new() -> io::Result<Self> {
        let (sender, answers) = channel();
        let shared = Shared {
            asked: Mutex::default(),
            changed: Condvar::new(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        };
        Ok(Self {
            shared: Arc::new(shared),
            sender,
            answers,
        })
    }

    /// An answer for this flow comes later.
    pub fn ask(&self, flow: FlowId, target: NamedTarget) -> Result<(), ResetCode> {
        let mut asked = self.shared.asked();
        if asked.waiting.len() >= MOST_WAITING {
            return Err(ResetCode::Overloaded);
        }
        asked.waiting.push_back((flow, target));
        if asked.waiting.len() > asked.idle_threads && asked.threads < MOST_THREADS {
            let (shared, answers) = (Arc::clone(&self.shared), self.sender.clone());
            let thread = std::thread::Builder::new().name("resolver".into());
            match thread.spawn(move || shared.work(&answers)) {
                Ok(_) => asked.threads += 1,
                Err(_) if asked.threads == 0 => {
                    asked.waiting.pop_back();
                    return Err(ResetCode::Overloaded);
                }
                Err(_) => {}
            }
        }
        self.shared.changed.notify_one();
        Ok(())
    }

    pub fn answers(&self) -> impl Iterator<Item = Resolved> {
        // Before the answers are looked at: what comes after that rings again. Nothing to clear is no error.
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        self.answers.try_iter()
    }
}

impl AsFd for Resolver {
    /// Readable when there are answers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        // A thread that waits for a server ends when that has answered.
        self.shared.asked().over = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
