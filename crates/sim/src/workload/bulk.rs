//! One or more TCP streams that send as fast as they may, and nothing else: a transfer without a tool around it.
//! A lab's `bulk` is iperf3's (iperf3.rs).
//!
//! The client opens the streams at the workload's start, and a stream's clock starts when its client is connected. A
//! size is shared equally between the streams. When the time is over both ends stop at once.

use super::Workload;
use crate::packet::ConnectionId;
use crate::rows::{FlowDetail, FlowOutcome, FlowRow};
use crate::seat::Side;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Notice, Socket};

const PORT: u16 = 5201;

#[derive(Debug)]
struct Stream {
    id: ConnectionId,
    flow: u64,
    size: Option<u64>,
    start: Time,
    first_byte: Option<Time>,
    bytes: u64,
    omitted: u64,
    done: bool,
}

#[derive(Debug)]
pub struct Bulk {
    place: usize,
    direction: Direction,
    count: u32,
    size: Option<u64>,
    time: Option<Nanos>,
    omit: Nanos,
    streams: Vec<Stream>,
    /// Stream by the connection's place in the slab.
    places: Vec<usize>,
}

const STOP: u64 = 0;
const OMIT: u64 = 1;

impl Bulk {
    pub fn new(
        place: usize,
        direction: Direction,
        count: u32,
        size: Option<u64>,
        time: Option<Nanos>,
        omit: Nanos,
    ) -> Self {
        Self {
            place,
            direction,
            count,
            size,
            time,
            omit,
            streams: Vec::new(),
            places: Vec::new(),
        }
    }

    fn sender(&self) -> Side {
        Side::sending(self.direction)
    }

    fn report(
        &mut self,
        world: &mut World,
        index: usize,
        outcome: FlowOutcome,
        why: Option<&'static str>,
    ) {
        let sender = self.sender();
        let stream = &mut self.streams[index];
        if stream.done {
            return;
        }
        stream.done = true;
        let (local_port, remote_port) = world.ports(stream.id);
        let row = FlowRow {
            flow: stream.flow,
            workload: self.place,
            opener: Side::Client,
            receiver: sender.other(),
            ip: world.ip(),
            local_port,
            remote_port,
            size_bytes: stream.size,
            start: stream.start,
            first_byte: stream.first_byte,
            end: (outcome == FlowOutcome::Finished).then_some(world.now()),
            counted_from: stream.start + self.omit,
            bytes: stream.bytes,
            omitted_bytes: stream.omitted,
            retransmits: world.retransmits(stream.id, sender),
            omitted_retransmits: 0,
            outcome,
            why,
            detail: FlowDetail::default(),
        };
        world.flows.push(row);
    }

    fn find(&self, id: ConnectionId) -> Option<usize> {
        let place = *self.places.get(id.index as usize)?;
        self.streams
            .get(place)
            .is_some_and(|stream| stream.id == id)
            .then_some(place)
    }
}

impl Workload for Bulk {
    fn on_start(&mut self, world: &mut World) {
        for number in 0..u64::from(self.count) {
            let flow = world.flow_number();
            let id = world.connect(self.place, PORT);
            world.set_flow(id, flow);
            let count = u64::from(self.count);
            let size = self
                .size
                .map(|size| size / count + u64::from(number < size % count));
            if self.places.len() <= id.index as usize {
                self.places.resize(id.index as usize + 1, usize::MAX);
            }
            self.places[id.index as usize] = self.streams.len();
            self.streams.push(Stream {
                id,
                flow,
                size,
                start: world.now(),
                first_byte: None,
                bytes: 0,
                omitted: 0,
                done: false,
            });
        }
    }

    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        let Some(index) = self.find(id) else { return };
        let sender = self.sender();
        match notice {
            Notice::Connected => {
                if side == sender {
                    let bytes = self.streams[index].size.unwrap_or(u64::MAX >> 2);
                    world.write(id, side, bytes);
                }
                if side == Side::Client && index == 0 {
                    if let Some(time) = self.time {
                        world.call_at(world.now() + self.omit + time, self.place, STOP);
                    }
                    if self.omit > Nanos::ZERO {
                        world.call_at(world.now() + self.omit, self.place, OMIT);
                    }
                }
            }
            Notice::Read(bytes) if side != sender => {
                let now = world.now();
                let stream = &mut self.streams[index];
                stream.first_byte.get_or_insert(now);
                if !stream.done {
                    stream.bytes += bytes;
                }
                if stream.size.is_some_and(|size| stream.bytes >= size) && !stream.done {
                    self.report(world, index, FlowOutcome::Finished, None);
                    world.close(id, sender);
                }
            }
            Notice::PeerClosed => world.close(id, side),
            Notice::Closed(true) => {
                let other = world.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    world.release(id);
                }
            }
            Notice::Closed(false) => {
                self.report(
                    world,
                    index,
                    FlowOutcome::Failed,
                    Some("the connection failed"),
                );
                world.release(id);
            }
            Notice::Read(_) | Notice::Drained => {}
        }
    }

    fn on_timer(&mut self, world: &mut World, token: u64) {
        for index in 0..self.streams.len() {
            if token == OMIT {
                self.streams[index].omitted = self.streams[index].bytes;
            } else {
                self.report(world, index, FlowOutcome::Finished, None);
                let id = self.streams[index].id;
                world.release(id);
            }
        }
    }

    fn on_end(&mut self, world: &mut World) {
        for index in 0..self.streams.len() {
            let outcome = if self.size.is_none() && self.time.is_none() {
                FlowOutcome::Finished
            } else {
                FlowOutcome::Unfinished
            };
            self.report(
                world,
                index,
                outcome,
                (outcome == FlowOutcome::Unfinished).then_some("the run ended"),
            );
        }
    }

    fn is_done(&self) -> bool {
        !self.streams.is_empty() && self.streams.iter().all(|stream| stream.done)
    }
}
