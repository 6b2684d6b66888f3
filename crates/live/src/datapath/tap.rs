//! What the pump threads hand to the thread that writes a capture: copies, through a queue of bounded size, so that
//! a slow disk loses records (counted, and told in the capture) and never holds up a packet.

pub use crate::pcapng::InterfaceDirection;
use bentpipe_path::time::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

/// Bytes that may wait for the disk.
const QUEUE_BYTES: usize = 256 << 20;

/// A frame (vnet header and packet) that crossed a device.
#[derive(Debug)]
pub struct Record {
    pub at: Time,
    pub direction: InterfaceDirection,
    pub frame: Vec<u8>,
}

/// What both ends of the queue see.
#[derive(Debug, Default)]
pub struct Backlog {
    pub bytes: AtomicUsize,
    /// Frames that found no room.
    pub dropped: AtomicU64,
}

#[derive(Clone, Debug)]
pub struct Tap {
    pub queue: Sender<Record>,
    pub backlog: Arc<Backlog>,
}

impl Tap {
    pub fn record(&mut self, at: Time, direction: InterfaceDirection, pieces: &[&[u8]]) {
        let length = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let before = self.backlog.bytes.fetch_add(length, Ordering::Relaxed);
        if before + length > QUEUE_BYTES {
            self.backlog.bytes.fetch_sub(length, Ordering::Relaxed);
            self.backlog.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let record = Record {
            at,
            direction,
            frame: pieces.concat(),
        };
        if self.queue.send(record).is_err() {
            // The writer has failed and says so itself.
            self.backlog.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
