//! What the threads of the two pipes tell each other: a tunnel's reports. The receiver of one direction is in the thread of that
//! direction's pipe, and its reports cross the other pipe.

use bentpipe_path::time::Time;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

#[derive(Debug)]
pub enum Message {
    /// This report enters your pipe.
    Send { at: Time, report: Vec<u8> },
    /// This report has come for your sender.
    Came { at: Time, report: Vec<u8> },
}

/// One thread's end.
#[derive(Debug)]
pub struct Mail {
    inbox: Receiver<Message>,
    /// Readable when something has come.
    wake: Arc<OwnedFd>,
    outbox: Sender<Message>,
    wake_other: Arc<OwnedFd>,
}

/// An end for each of two threads.
pub fn pair() -> io::Result<[Mail; 2]> {
    let wake = || {
        let made = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        made.map(Arc::new).map_err(io::Error::from)
    };
    let (first, second) = (wake()?, wake()?);
    let (to_first, inbox_of_first) = channel();
    let (to_second, inbox_of_second) = channel();
    Ok([
        Mail {
            inbox: inbox_of_first,
            wake: Arc::clone(&first),
            outbox: to_second,
            wake_other: Arc::clone(&second),
        },
        Mail {
            inbox: inbox_of_second,
            wake: second,
            outbox: to_first,
            wake_other: first,
        },
    ])
}

impl Mail {
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// A thread that has ended needs nothing more.
    pub fn send(&self, message: Message) {
        if self.outbox.send(message).is_ok() {
            // Only a counter that is full refuses, and then the other wakes anyway.
            let _ = rustix::io::write(&*self.wake_other, &1_u64.to_ne_bytes());
        }
    }

    /// What has come.
    pub fn take(&self) -> impl Iterator<Item = Message> {
        // Before the inbox is looked at: what comes after that wakes again. Nothing to clear is no error.
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        self.inbox.try_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::clock::sleep;
    use bentpipe_path::time::Nanos;

    #[test]
    fn a_message_wakes_the_other_thread_once() {
        let [here, there] = pair().expect("two descriptors");
        let wakes = |mail: &Mail| sleep([mail.wake()], Nanos::ZERO).expect("poll of an eventfd");
        assert!(!wakes(&there));
        let at = Time(5);
        let report = vec![1, 2];
        here.send(Message::Send { at, report });
        assert!(wakes(&there) && !wakes(&here));
        assert_eq!(there.take().count(), 1);
        assert!(!wakes(&there));
        drop(there);
        let report = Vec::new();
        here.send(Message::Came { at, report });
    }
}
