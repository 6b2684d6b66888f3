//! The thread that writes what one host sent and received to a pcapng file: one record per wire segment, its
//! checksums finished, as a tap on the wire would have it, so that tshark's TCP analysis reads it as such.

use super::tap::{Backlog, InterfaceDirection, Record};
use crate::pcapng;
use bentpipe_base::EventQueue;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_wire::SuperPacket;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

/// The two threads that record at one device hand over with a little disorder; records are held this long and
/// written in the order of their times.
const HOLD: Nanos = Nanos::from_millis(200);
/// Before every record.
const NO_TIME: Time = Time(i64::MIN);

/// Writes records until both ends of the path have let go of the queue.
pub fn write<W: Write>(
    mut writer: pcapng::Writer<W>,
    records: &Receiver<Record>,
    backlog: &Backlog,
    vnet_bytes: usize,
    zero_realtime_ns: i64,
) -> io::Result<()> {
    let wall = |at: Time| (zero_realtime_ns + at.0) as u64;
    let mut held = EventQueue::default();
    let mut bytes = Vec::new();
    let mut newest = NO_TIME;
    while let Ok(record) = records.recv() {
        newest = newest.max(record.at);
        held.push(record.at, record);
        while let Some(oldest) = held.next_time()
            && newest - oldest > HOLD
        {
            if let Some((at, record)) = held.pop() {
                put(&mut writer, &record, vnet_bytes, wall(at), &mut bytes)?;
                backlog
                    .bytes
                    .fetch_sub(record.frame.len(), Ordering::Relaxed);
            }
        }
    }
    while let Some((at, record)) = held.pop() {
        put(&mut writer, &record, vnet_bytes, wall(at), &mut bytes)?;
    }
    let end = if newest == NO_TIME {
        Time::ZERO
    } else {
        newest
    };
    writer.finish(wall(end), backlog.dropped.load(Ordering::Relaxed))?;
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
        InterfaceDirection::In => pcapng::InterfaceDirection::In,
        InterfaceDirection::Out => pcapng::InterfaceDirection::Out,
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
