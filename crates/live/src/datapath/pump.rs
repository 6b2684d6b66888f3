//! The thread of one pipe: reads what one host sends, gives it to the model, writes what departs to the other.
//!
//! Every turn: read until there is no more (or a bound, so that departures do not starve), write what has departed
//! by now, then wait for input or for the next departure. The model is always told the true time, and departures
//! keep the model's own times, so that waking late delays one packet and shifts none after it.

use super::clock::{self, RunClock, Spin};
use super::egress::{Egress, WINDOW};
use super::packet::LivePacket;
use super::pool::Pool;
use super::superpacket::SuperPacket;
use super::tap::{Direction, Tap};
use bentpipe_path::time::{Nanos, Time};
use bentpipe_path::{Bin, Pipe};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Frames read before departures are looked at again.
const READ_BATCH: usize = 16;
/// The longest sleep: the meter's bins are handed on as often as this, packets or none.
const TURN: Nanos = Nanos::from_millis(50);

/// Tells the threads to end.
#[derive(Debug)]
pub struct Stop {
    pub flag: AtomicBool,
    /// Readable once the flag is set, to end a sleep.
    pub wake: OwnedFd,
}

impl Stop {
    pub fn new() -> io::Result<Self> {
        let flags = rustix::event::EventfdFlags::NONBLOCK | rustix::event::EventfdFlags::CLOEXEC;
        Ok(Self {
            flag: AtomicBool::new(false),
            wake: rustix::event::eventfd(0, flags)?,
        })
    }

    pub fn raise(&self) -> io::Result<()> {
        self.flag.store(true, Ordering::Release);
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

/// Everything that one pipe's thread holds.
#[derive(Debug)]
pub struct Pump {
    pub input: Arc<OwnedFd>,
    pub vnet_bytes: usize,
    pub clock: RunClock,
    pub pipe: Pipe<LivePacket>,
    pub egress: Egress,
    pub tap: Option<Tap>,
    pub bins: Sender<(&'static str, Bin)>,
    pub place: &'static str,
    pub stop: Arc<Stop>,
}

impl Pump {
    /// Runs until told to stop, or until a device is gone.
    pub fn run(&mut self) -> io::Result<()> {
        let pool = Rc::new(Pool::default());
        let mut spin = Spin::new(self.clock.now());
        let mut bins_due = self.clock.now();
        // The last departure that was written.
        let mut last = Time(i64::MIN / 2);
        while !self.stop.flag.load(Ordering::Acquire) {
            let more = self.read(&pool)?;
            let now = self.clock.now();
            while let Some((at, packet)) = self.pipe.pop(now) {
                last = at;
                self.egress.depart(at, &packet)?;
            }
            self.egress.flush()?;
            if now >= bins_due {
                self.hand_on_bins();
                bins_due = now + TURN;
            }
            if !more {
                self.wait(&mut spin, last)?;
            }
        }
        let now = self.clock.now();
        while let Some((at, packet)) = self.pipe.pop(now) {
            self.egress.depart(at, &packet)?;
        }
        self.egress.flush()?;
        self.pipe.finish(now);
        self.hand_on_bins();
        Ok(())
    }

    /// Reads up to a batch; `true` where there may be more.
    fn read(&mut self, pool: &Rc<Pool>) -> io::Result<bool> {
        for _ in 0..READ_BATCH {
            let mut buffer = pool.take();
            match rustix::io::read(&*self.input, &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let now = self.clock.now();
                    if let Some(tap) = &mut self.tap {
                        tap.record(now, Direction::Out, &[&buffer[..length]]);
                    }
                    match SuperPacket::parse(pool.frame(buffer, length), self.vnet_bytes) {
                        Ok(whole) => self.offer(now, whole),
                        Err(_) => self.egress.lost.truncated += 1,
                    }
                }
                Err(error) => {
                    pool.give(buffer);
                    match error {
                        Errno::AGAIN => return Ok(false),
                        Errno::INTR => {}
                        other => return Err(other.into()),
                    }
                }
            }
        }
        Ok(true)
    }

    fn offer(&mut self, now: Time, whole: SuperPacket) {
        let whole = Rc::new(whole);
        for index in 0..whole.segments() {
            self.pipe.push(now, LivePacket::new(&whole, index));
        }
    }

    /// Waits for input or for the next departure.
    fn wait(&mut self, spin: &mut Spin, last: Time) -> io::Result<()> {
        let now = self.clock.now();
        let sources = [self.input.as_fd(), self.stop.wake.as_fd()];
        let Some(mut next) = self.pipe.next_time().filter(|next| *next < now + TURN) else {
            return clock::sleep(sources, TURN);
        };
        // Where departures are dense, a wake-up for each would cost more than it is worth: they leave together.
        if next - last < WINDOW && last <= now {
            next = next.max(last + Nanos(WINDOW.0 / 2));
        }
        if next <= now {
            return Ok(());
        }
        let margin = spin.margin(now);
        let wake = Time(next.0 - margin.0);
        if wake > now {
            clock::sleep(sources, wake - now)?;
            let woke = self.clock.now();
            if woke >= wake {
                spin.slept(wake, woke);
            }
            return Ok(());
        }
        // The last moments are spun, with an eye on the input: each turn of the loop above reads first.
        spin.spent(Nanos(SPIN_TURN_NS));
        let until = next.min(now + Nanos(SPIN_TURN_NS));
        while self.clock.now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn hand_on_bins(&mut self) {
        for bin in self.pipe.take_bins() {
            // A writer that has failed says so itself when it is joined.
            let _ = self.bins.send((self.place, bin));
        }
    }
}

/// Input is looked at as often as this while spinning.
const SPIN_TURN_NS: i64 = 5_000;
