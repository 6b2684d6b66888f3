//! The way out of a pipe: what departs is gathered into runs and written to a device, and each packet's lateness
//! is taken down.

use super::clock::RunClock;
use super::lateness::{self, Achieved, RateCheck, UnintendedLoss};
use super::packet::{Arrived, LivePacket};
use super::tap::{InterfaceDirection, Tap};
use bentpipe_path::packet::Packet;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_wire::Merger;
use bentpipe_wire::super_packet::{Checksum, SegmentRun, flip_bit};
use hdrhistogram::Histogram;
use rustix::io::{Errno, writev};
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

/// Segments that depart within this leave as one super-packet.
pub const WINDOW: Nanos = Nanos(50_000);
/// Departure times of one run that are told apart; more close it.
const DEPARTURES: usize = 64;

#[derive(Debug)]
pub struct Egress {
    device: Arc<OwnedFd>,
    vnet_bytes: usize,
    clock: RunClock,
    tap: Option<Tap>,
    open: Option<OpenRun>,
    /// Joins packets that came one by one, where they do.
    merger: Option<Merger>,
    joined: Option<JoinedRun>,
    /// Of the open run: when each packet should have left, how many of that instant, and their bytes.
    departures: Vec<(Time, u32, u32)>,
    pub lateness: Histogram<u64>,
    pub lost: UnintendedLoss,
    pub writes: u64,
    rate: Option<RateCheck>,
}

/// A run that may still grow.
#[derive(Debug)]
struct OpenRun {
    whole: Rc<Arrived>,
    run: SegmentRun,
    first_departure: Time,
}

/// Packets in the merger.
#[derive(Clone, Copy, Debug)]
struct JoinedRun {
    packets: u64,
    first_departure: Time,
    late_read: Nanos,
}

impl Egress {
    /// `joins`: packets come one by one, and those of one TCP connection that follow each other leave as super-packets.
    pub fn new(
        device: Arc<OwnedFd>,
        vnet_bytes: usize,
        clock: RunClock,
        rate: Option<RateCheck>,
        tap: Option<Tap>,
        joins: bool,
    ) -> Self {
        Self {
            device,
            vnet_bytes,
            clock,
            tap,
            open: None,
            merger: joins.then(Merger::default),
            joined: None,
            departures: Vec::with_capacity(DEPARTURES),
            lateness: lateness::histogram(),
            lost: UnintendedLoss::default(),
            writes: 0,
            rate,
        }
    }

    /// Takes a packet that departs now. It leaves at the latest with the next [`Egress::flush`].
    pub fn depart(&mut self, at: Time, packet: &LivePacket) -> io::Result<()> {
        if self.join(at, packet)? {
            return Ok(());
        }
        if let Some(open) = &mut self.open
            && at - open.first_departure <= WINDOW
            && packet.follows(&open.whole, open.run)
            && self.note(at, packet)
        {
            if let Some(open) = &mut self.open {
                open.run.count += 1;
            }
            return Ok(());
        }
        self.flush()?;
        self.note(at, packet);
        if let Some(draw) = packet.flip() {
            return self.write_corrupted(packet, draw);
        }
        self.open = Some(OpenRun {
            whole: Rc::clone(packet.whole()),
            run: packet.run(),
            first_departure: at,
        });
        Ok(())
    }

    /// `false`: the packet cannot be joined to others.
    fn join(&mut self, at: Time, packet: &LivePacket) -> io::Result<bool> {
        // Datagrams stay apart: a kernel before 6.2 takes no super-packets of them.
        let joins = packet.segment().is_some() && packet.is_as_it_came();
        let Some(mut merger) = self.merger.take_if(|_| joins) else {
            return Ok(false);
        };
        let whole = packet.whole();
        let bytes = whole.packet.packet();
        let is_open = self.joined.filter(|run| {
            at - run.first_departure <= WINDOW && self.has_room(at) && merger.push(bytes)
        });
        let taken = is_open.is_some() || {
            self.merger = Some(merger);
            self.flush()?;
            merger = self.merger.take().unwrap_or_default();
            merger.push(bytes)
        };
        self.merger = Some(merger);
        if taken {
            let run = is_open.unwrap_or(JoinedRun {
                packets: 0,
                first_departure: at,
                late_read: Nanos::ZERO,
            });
            self.joined = Some(JoinedRun {
                packets: run.packets + 1,
                late_read: run.late_read.max(whole.late_read),
                ..run
            });
            self.note(at, packet);
        }
        Ok(taken)
    }

    fn has_room(&self, at: Time) -> bool {
        let is_last = self.departures.last().is_some_and(|it| it.0 == at);
        is_last || self.departures.len() < DEPARTURES
    }

    /// Takes a departure down; `false` where there is no room for another instant.
    fn note(&mut self, at: Time, packet: &LivePacket) -> bool {
        let bytes = packet.wire_bytes();
        if let Some((instant, packets, total)) = self.departures.last_mut()
            && *instant == at
        {
            *packets += 1;
            *total += bytes;
            return true;
        }
        let room = self.has_room(at);
        if room {
            self.departures.push((at, 1, bytes));
        }
        room
    }

    /// Writes the open run.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_joined()?;
        let Some(OpenRun { whole, run, .. }) = self.open.take() else {
            return Ok(());
        };
        let now = self.account(whole.late_read);
        let whole = &whole.packet;
        if whole.is_whole(run) {
            let frame = whole.frame();
            let written = rustix::io::write(&*self.device, frame);
            self.record(now, written, &[frame]);
            return self.written(written, u64::from(run.count));
        }
        let head = whole.head(run, Checksum::Unchanged);
        let vnet = head.vnet.to_bytes();
        let payload = &whole.packet()[head.payload.clone()];
        let pieces = [&vnet[..self.vnet_bytes], head.bytes(), payload];
        let written = writev(&*self.device, &pieces.map(IoSlice::new));
        self.record(now, written, &pieces);
        self.written(written, u64::from(run.count))
    }

    fn flush_joined(&mut self) -> io::Result<()> {
        let Some(run) = self.joined.take() else {
            return Ok(());
        };
        let mut merger = self.merger.take().unwrap_or_default();
        let now = self.account(run.late_read);
        let mut result = Ok(());
        if let Some((vnet, packet)) = merger.finish() {
            let vnet = vnet.to_bytes();
            let pieces = [&vnet[..self.vnet_bytes], packet];
            let written = writev(&*self.device, &pieces.map(IoSlice::new));
            self.record(now, written, &pieces);
            result = self.written(written, run.packets);
        }
        self.merger = Some(merger);
        result
    }

    fn write_corrupted(&mut self, packet: &LivePacket, draw: u64) -> io::Result<()> {
        let run = packet.run();
        let mut bytes = Vec::new();
        let whole = packet.whole();
        let vnet = whole.packet.write_segment(run.first, run.ce, &mut bytes);
        flip_bit(&mut bytes, draw);
        let now = self.account(whole.late_read);
        let vnet = vnet.to_bytes();
        let pieces = [&vnet[..self.vnet_bytes], &bytes];
        let written = writev(&*self.device, &pieces.map(IoSlice::new));
        self.record(now, written, &pieces);
        self.written(written, 1)
    }

    /// Captures a frame that the receiving host's device took. One that it refused never reached the host.
    fn record(&mut self, at: Time, written: Result<usize, Errno>, pieces: &[&[u8]]) {
        if written.is_ok()
            && let Some(tap) = &mut self.tap
        {
            tap.record(at, InterfaceDirection::In, pieces);
        }
    }

    /// The moment at which what was noted leaves. It may have been read late already.
    fn account(&mut self, late_read: Nanos) -> Time {
        let now = self.clock.now();
        for (at, packets, bytes) in self.departures.drain(..) {
            let late = Nanos((now - at).0 + late_read.0);
            lateness::record(&mut self.lateness, late, u64::from(packets));
            if let Some(rate) = &mut self.rate {
                rate.departed(bytes, at, now);
            }
        }
        now
    }

    /// A failed write is a loss that the model did not mean; only a device that is gone ends the pipe.
    fn written(&mut self, result: Result<usize, Errno>, packets: u64) -> io::Result<()> {
        self.writes += 1;
        match result {
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => self.lost.socket_buffer += packets,
            Err(error @ (Errno::BADFD | Errno::BADF | Errno::PIPE)) => return Err(error.into()),
            Err(_) => self.lost.write_error += packets,
        }
        Ok(())
    }

    pub fn achieved(&mut self) -> Achieved {
        self.rate.take().map(RateCheck::finish).unwrap_or_default()
    }
}
