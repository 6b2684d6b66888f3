//! The thread of one pipe: reads what one host sends, gives it to the model, writes what departs to the other.
//!
//! Every turn: read until there is no more (or a bound, so that departures do not starve), write what has departed
//! by now, then wait for input or for the next departure. The model is always told the true time, and departures
//! keep the model's own times, so that waking late delays one packet and shifts none after it.

use super::absence::RunQueue;
use super::arrival::{Arrival, Arrivals, Sleep};
use super::clock::{self, RunClock, Spin};
use super::decoded::Decoded;
use super::egress::{Egress, WINDOW};
use super::lateness;
use super::packet::{Arrived, LivePacket};
use super::pool::{Frame, Pool};
use super::priority::Priority;
use super::tap::{InterfaceDirection, Tap};
use super::terrestrial::LiveServerLines;
use super::tunnel::Coder;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_path::{Bin, Pipe};
use bentpipe_wire::SuperPacket;
use hdrhistogram::Histogram;
use rustix::io::Errno;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Frames read before departures are looked at again.
const READ_BATCH: usize = 16;
/// Where the device has not been seen empty for this long, so that how long its packets have waited is not known,
/// more are read at once to come to the end.
const BLIND: Nanos = Nanos::from_millis(1);
const BLIND_BATCH: usize = 256;
/// The longest sleep: the meter's bins are handed on as often as this, packets or none.
const TURN: Nanos = Nanos::from_millis(50);

/// Departures closer than this are not waited for by spinning.
const DENSE: Nanos = Nanos(100_000);
/// Input is looked at as often as this while spinning.
const SPIN_TURN_NS: i64 = 5_000;

/// Tells the threads to end.
#[derive(Debug)]
pub struct StopFlag {
    pub flag: AtomicBool,
    /// Readable once the flag is set, to end a sleep.
    pub wake: OwnedFd,
}

impl StopFlag {
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
    /// The lines to the servers beyond the far end, where there are any: what comes from a server waits before it
    /// enters the pipe, what goes to one after it has left.
    pub before: Option<LiveServerLines>,
    pub after: Option<LiveServerLines>,
    /// A tunnel around the pipe, inside of the lines to the servers.
    pub tunnel: Option<Coder>,
    /// What a gateway beyond the pipe gives to its hosts.
    pub decoded: Option<Decoded>,
    pub egress: Egress,
    pub tap: Option<Tap>,
    pub bins: Sender<(&'static str, Bin)>,
    pub place: &'static str,
    pub stop: Arc<StopFlag>,
    /// By how much earlier than the model was told each packet may have come, in nanoseconds.
    pub late_reads: Histogram<u64>,
}

/// What a pump's thread keeps between its turns.
#[derive(Debug)]
struct Turns {
    pool: Rc<Pool>,
    spin: Spin,
    run_queue: RunQueue,
    arrivals: Arrivals,
    /// Read, and not yet offered to the pipe.
    batch: Vec<(Arrival, SuperPacket<Frame>)>,
    /// The last departure that was written.
    last_departure: Time,
}

impl Pump {
    /// Runs until told to stop, or until a device is gone. `priority` is the calling thread's.
    pub fn run(&mut self, priority: Priority) -> io::Result<()> {
        // A sleep's end may otherwise be put off by 50 us, so that wake-ups fall together.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let mut turns = Turns {
            pool: Rc::new(Pool::default()),
            spin: Spin::new(self.clock.now()),
            run_queue: RunQueue::new(priority),
            arrivals: Arrivals::new(self.clock.now()),
            batch: Vec::new(),
            last_departure: Time(i64::MIN / 2),
        };
        let mut bins_due = self.clock.now();
        while !self.stop.flag.load(Ordering::Acquire) {
            if let Some(tunnel) = &mut self.tunnel {
                tunnel.read_mail(&mut self.pipe);
            }
            let more = self.read(&mut turns)?;
            let now = self.clock.now();
            if let Some(last) = self.depart(now)? {
                turns.last_departure = last;
            }
            if now >= bins_due {
                self.hand_on_bins();
                bins_due = now + TURN;
            }
            if !more {
                self.wait(&mut turns)?;
            }
        }
        let now = self.clock.now();
        self.depart(now)?;
        self.pipe.finish(now);
        self.hand_on_bins();
        Ok(())
    }

    /// Reads up to a batch and offers it to the pipe; `true` where there may be more. All of the batch is read first: what it costs
    /// to offer a packet, a tunnel's code above all, would make the reading of the next one late.
    fn read(&mut self, turns: &mut Turns) -> io::Result<bool> {
        let more = self.read_batch(turns);
        let mut batch = std::mem::take(&mut turns.batch);
        for (arrival, whole) in batch.drain(..) {
            self.offer(arrival, whole);
        }
        turns.batch = batch;
        more
    }

    fn read_batch(&mut self, turns: &mut Turns) -> io::Result<bool> {
        let mut before = self.clock.now();
        let blind = before - turns.arrivals.since() > BLIND;
        for _ in 0..if blind { BLIND_BATCH } else { READ_BATCH } {
            let mut buffer = turns.pool.take();
            match rustix::io::read(&*self.input, &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    before = self.clock.now();
                    let arrival = turns.arrivals.read(before);
                    match SuperPacket::parse(turns.pool.frame(buffer, length), self.vnet_bytes) {
                        Ok(whole) => turns.batch.push((arrival, whole)),
                        Err(_) => self.egress.lost.truncated += 1,
                    }
                }
                Err(error) => {
                    turns.pool.give(buffer);
                    match error {
                        Errno::AGAIN => {
                            turns.arrivals.none_at(before);
                            return Ok(false);
                        }
                        Errno::INTR => {}
                        other => return Err(other.into()),
                    }
                }
            }
        }
        Ok(true)
    }

    fn offer(&mut self, Arrival { at, late }: Arrival, packet: SuperPacket<Frame>) {
        lateness::record(&mut self.late_reads, late, u64::from(packet.segments()));
        if let Some(tap) = &mut self.tap {
            tap.record(at, InterfaceDirection::Out, &[packet.frame()]);
        }
        let whole = Rc::new(Arrived {
            packet,
            late_read: late,
        });
        let packets = (0..whole.packet.segments()).map(|index| LivePacket::new(&whole, index));
        if let Some(lines) = &mut self.before {
            if let Some(server) = lines.server_of(whole.packet.packet()) {
                packets.for_each(|packet| lines.enter(server, at, packet));
                return;
            }
            self.feed(at);
        }
        packets.for_each(|packet| self.enter(at, packet));
    }

    /// Lets what has come from the servers by `until` into the path, each packet at its own time.
    fn feed(&mut self, until: Time) {
        while let Some((at, packet)) = self.before.as_mut().and_then(|lines| lines.leave(until)) {
            self.enter(at, packet);
        }
    }

    /// A packet comes to the path.
    fn enter(&mut self, at: Time, packet: LivePacket) {
        match &mut self.tunnel {
            Some(tunnel) if tunnel.carries(&packet) => {
                tunnel.enter(at, &packet, &mut self.pipe);
            }
            Some(tunnel) => {
                tunnel.send_due(at, &mut self.pipe);
                self.pipe.push(at, packet);
            }
            None => self.pipe.push(at, packet),
        }
    }

    /// Writes what has departed by `now`, and tells the last departure.
    fn depart(&mut self, now: Time) -> io::Result<Option<Time>> {
        self.feed(now);
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.send_due(now, &mut self.pipe);
        }
        let mut last = None;
        while let Some((at, packet)) = self.pipe.pop(now) {
            if let Some(tunnel) = &mut self.tunnel {
                tunnel.count(at, &packet);
            }
            match &mut self.tunnel {
                Some(tunnel) if packet.is_frame() => {
                    tunnel.take(at, &packet);
                    last = self.leave_tunnel()?.or(Some(at));
                }
                Some(tunnel) => {
                    tunnel.receive_due(at);
                    last = self.leave_tunnel()?.or(last);
                    last = self.leave(at, packet)?.or(last);
                }
                None => last = self.leave(at, packet)?.or(last),
            }
        }
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.receive_due(now);
        }
        last = self.leave_tunnel()?.or(last);
        if let Some(lines) = &mut self.after {
            last = arrive(&mut self.egress, lines, now)?.or(last);
        }
        self.egress.flush()?;
        Ok(last)
    }

    /// Lets what has left the tunnel leave the path, and tells the last departure.
    fn leave_tunnel(&mut self) -> io::Result<Option<Time>> {
        let mut last = None;
        while let Some((at, packet)) = self.tunnel.as_mut().and_then(Coder::leave) {
            last = self.leave(at, packet)?.or(last);
        }
        Ok(last)
    }

    /// A packet has left the path. Tells the last departure.
    fn leave(&mut self, at: Time, packet: LivePacket) -> io::Result<Option<Time>> {
        if let Some(lines) = &mut self.after {
            let last = arrive(&mut self.egress, lines, at)?;
            if let Some(server) = lines.server_of(packet.whole().packet.packet()) {
                lines.enter(server, at, packet);
                return Ok(last);
            }
        }
        self.egress.depart(at, &packet)?;
        Ok(Some(at))
    }

    /// The earliest instant at which something may depart.
    fn next_departure(&self) -> Option<Time> {
        let before = self.before.as_ref().and_then(LiveServerLines::next_time);
        let repair = self.tunnel.as_ref().and_then(Coder::next_repair);
        let enters = before.into_iter().chain(repair).min();
        let through = enters.map(|enters| self.pipe.earliest_departure(enters));
        let release = self.tunnel.as_ref().and_then(Coder::next_release);
        let after = self.after.as_ref().and_then(LiveServerLines::next_time);
        [self.pipe.next_time(), through, release, after]
            .into_iter()
            .flatten()
            .min()
    }

    /// Waits for input or for the next departure.
    fn wait(&mut self, turns: &mut Turns) -> io::Result<()> {
        let now = self.clock.now();
        let Some(mut next) = self.next_departure().filter(|next| *next < now + TURN) else {
            return self.sleep(turns, now, TURN);
        };
        // Where departures are dense, a wake-up for each, to the microsecond, would cost more than it is worth: the
        // hosts' programs need the processor too. They leave together, and nothing is spun.
        let gap = next - turns.last_departure;
        if gap < WINDOW {
            next = next.max(turns.last_departure + Nanos(WINDOW.0 / 2));
        }
        if next <= now {
            return Ok(());
        }
        let margin = if gap < DENSE {
            Nanos::ZERO
        } else {
            turns.spin.margin(now)
        };
        let wake = Time(next.0 - margin.0);
        if wake > now {
            return self.sleep(turns, now, wake - now);
        }
        // The last moments are spun, with an eye on the input: each turn of the loop above reads first.
        turns.spin.spent(Nanos(SPIN_TURN_NS));
        let until = next.min(now + Nanos(SPIN_TURN_NS));
        while self.clock.now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Sleeps for at most this long, and finds out how long the thread then waited to go on.
    fn sleep(&mut self, turns: &mut Turns, now: Time, at_most: Nanos) -> io::Result<()> {
        let [input, stop] = [self.input.as_fd(), self.stop.wake.as_fd()];
        turns.run_queue.about_to_sleep();
        let by_input = match &self.tunnel {
            Some(tunnel) => clock::sleep([input, stop, tunnel.wake()], at_most)?,
            None => clock::sleep([input, stop], at_most)?,
        };
        let woke = self.clock.now();
        let until = now + at_most;
        let waited = turns.run_queue.since();
        turns.arrivals.slept(&Sleep {
            until,
            woke,
            // The wait may have been before the sleep, but then it was no longer than what it took in all.
            waited: waited.nanos.min(woke - now),
            proven: waited.after_sleep && by_input,
            wake_cost: turns.spin.wake_cost(),
        });
        if woke > until {
            turns.spin.slept(until, woke);
        }
        Ok(())
    }

    fn hand_on_bins(&mut self) {
        for mut bin in self.pipe.take_bins() {
            if let Some(tunnel) = &mut self.tunnel {
                // Frames are no TCP: what they carry is counted where they are decoded. What is counted here has crossed beside them.
                bin.goodput_bytes += tunnel.take_goodput(bin.start);
            }
            if let Some(decoded) = &self.decoded {
                bin.goodput_bytes += decoded.take(bin.start);
            }
            // A writer that has failed says so itself when it is joined.
            let _ = self.bins.send((self.place, bin));
        }
    }
}

/// Sends what has come to the servers by `until` out, and tells the last arrival.
fn arrive(
    egress: &mut Egress,
    lines: &mut LiveServerLines,
    until: Time,
) -> io::Result<Option<Time>> {
    let mut last = None;
    while let Some((at, packet)) = lines.leave(until) {
        egress.depart(at, &packet)?;
        last = Some(at);
    }
    Ok(last)
}
