//! Buffers for what is read from a device, reused while they are large.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

/// The largest frame a device hands over: a vnet header and an IP packet of 65535 bytes, and room to see that one
/// was longer.
pub const FRAME_BYTES: usize = 65_536 + 64;
/// A frame up to this moves into a buffer of its own size, so that a path which holds many small packets does not
/// hold 64 kB for each.
const SMALL_BYTES: usize = 16_384;
/// Unused buffers kept for later.
const KEPT: usize = 2048;

/// The large buffers of one thread.
#[derive(Debug, Default)]
pub struct Pool {
    unused: RefCell<Vec<Vec<u8>>>,
}

/// A frame's bytes: vnet header, then packet. Goes back to its pool when dropped.
#[derive(Debug)]
pub struct Frame {
    storage: Vec<u8>,
    used: usize,
    pool: Option<Rc<Pool>>,
}

impl Pool {
    /// A buffer of [`FRAME_BYTES`] to read into.
    pub fn take(&self) -> Vec<u8> {
        let reused = self.unused.borrow_mut().pop();
        reused.unwrap_or_else(|| vec![0; FRAME_BYTES])
    }

    pub fn give(&self, buffer: Vec<u8>) {
        let mut unused = self.unused.borrow_mut();
        if unused.len() < KEPT {
            unused.push(buffer);
        }
    }

    /// The first `used` bytes of a buffer that came from [`Pool::take`], as a frame.
    pub fn frame(self: &Rc<Self>, buffer: Vec<u8>, used: usize) -> Frame {
        if used <= SMALL_BYTES {
            let small = buffer[..used].to_vec();
            self.give(buffer);
            return Frame::from(small);
        }
        Frame {
            storage: buffer,
            used,
            pool: Some(Rc::clone(self)),
        }
    }
}

impl From<Vec<u8>> for Frame {
    fn from(storage: Vec<u8>) -> Self {
        Self {
            used: storage.len(),
            storage,
            pool: None,
        }
    }
}

impl Deref for Frame {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.storage[..self.used]
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.give(std::mem::take(&mut self.storage));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_frame_gives_its_buffer_back_and_a_small_one_does_not_hold_it() {
        let pool = Rc::new(Pool::default());
        let large = pool.frame(pool.take(), 60_000);
        assert!(pool.unused.borrow().is_empty());
        drop(large);
        assert_eq!(pool.unused.borrow().len(), 1);
        let small = pool.frame(pool.take(), 60);
        assert_eq!(pool.unused.borrow().len(), 1);
        assert_eq!(small.len(), 60);
    }
}
