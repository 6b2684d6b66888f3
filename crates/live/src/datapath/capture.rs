//! The thread that writes what one host sent and received to a pcapng file: one record per wire segment, its
//! checksums finished, as a tap on the wire would have it, so that tshark's TCP analysis reads it as such.

use super::tap::{Direction, Record, Waiting};
use crate::pcapng;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_wire::SuperPacket;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

/// The two threads that record at one device hand over with a little disorder; records are held this long and
/// written in the order of their times.
const HOLD: Nanos = Nanos::from_millis(200);

/// Writes records until both ends of the path have let go of the queue.
pub fn write<W: Write>(
    mut writer: pcapng::Writer<W>,
    records: &Receiver<Record>,
    waiting: &Waiting,
    vnet_bytes: usize,
    zero_realtime_ns: i64,
) -> io::Result<()> {
    let wall = |at: Time| (zero_realtime_ns + at.0) as u64;
    let mut held = BinaryHeap::new();
    let mut bytes = Vec::new();
    let mut newest = Time(i64::MIN);
    let mut order = 0_u64;
    while let Ok(record) = records.recv() {
        newest = newest.max(record.at);
        order += 1;
        held.push(Held { record, order });
        while let Some(oldest) = held.peek()
            && newest - oldest.record.at > HOLD
        {
            if let Some(Held { record, .. }) = held.pop() {
                put(
                    &mut writer,
                    &record,
                    vnet_bytes,
                    wall(record.at),
                    &mut bytes,
                )?;
                waiting
                    .bytes
                    .fetch_sub(record.frame.len(), Ordering::Relaxed);
            }
        }
    }
    while let Some(Held { record, .. }) = held.pop() {
        put(
            &mut writer,
            &record,
            vnet_bytes,
            wall(record.at),
            &mut bytes,
        )?;
    }
    let end = if order == 0 { Time::ZERO } else { newest };
    writer.finish(wall(end), waiting.dropped.load(Ordering::Relaxed))?;
    Ok(())
}

/// `bytes`: room for a segment.
fn put<W: Write>(
    writer: &mut pcapng::Writer<W>,
    record: &Record,
    vnet_bytes: usize,
    at_ns: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let direction = match record.direction {
        Direction::In => pcapng::Direction::In,
        Direction::Out => pcapng::Direction::Out,
    };
    let Ok(whole) = SuperPacket::parse(&record.frame[..], vnet_bytes) else {
        return Ok(());
    };
    for index in 0..whole.segments() {
        whole.write_segment(index, false, bytes);
        writer.packet(at_ns, direction, bytes)?;
    }
    Ok(())
}

/// A heap gives its greatest first, so the order is turned round.
#[derive(Debug)]
struct Held {
    record: Record,
    order: u64,
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.record.at, other.order).cmp(&(self.record.at, self.order))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}
