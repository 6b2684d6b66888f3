//! The way out of a pipe: what departs is gathered into runs and written to a device, and each packet's lateness
//! is taken down.

use super::clock::RunClock;
use super::lateness::{self, Achieved, RateCheck, UnintendedLoss};
use super::packet::{Arrived, LivePacket};
use super::tap::{InterfaceDirection, Tap};
use bentpipe_path::time::{Nanos, Time};
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

impl Egress {
    pub fn new(
        device: Arc<OwnedFd>,
        vnet_bytes: usize,
        clock: RunClock,
        rate: Option<RateCheck>,
        tap: Option<Tap>,
    ) -> Self {
        Self {
            device,
            vnet_bytes,
            clock,
            tap,
            open: None,
            departures: Vec::with_capacity(DEPARTURES),
            lateness: lateness::histogram(),
            lost: UnintendedLoss::default(),
            writes: 0,
            rate,
        }
    }

    /// Takes a packet that departs now. It leaves at the latest with the next [`Egress::flush`].
    pub fn depart(&mut self, at: Time, packet: &LivePacket) -> io::Result<()> {
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

    /// Takes a departure down; `false` where there is no room for another instant.
    fn note(&mut self, at: Time, packet: &LivePacket) -> bool {
        let bytes = bentpipe_path::packet::Packet::wire_bytes(packet);
        if let Some((instant, packets, total)) = self.departures.last_mut()
            && *instant == at
        {
            *packets += 1;
            *total += bytes;
            return true;
        }
        let room = self.departures.len() < DEPARTURES;
        if room {
            self.departures.push((at, 1, bytes));
        }
        room
    }

    /// Writes the open run.
    pub fn flush(&mut self) -> io::Result<()> {
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
