//! One or more TCP streams that send as fast as they may, and nothing else: a transfer without a tool around it.
//! A lab's `bulk` is iperf3's (iperf3.rs).
//!
//! The client opens the streams at the workload's start, and a stream's clock starts when its client is connected. A
//! size is shared equally between the streams. When the time is over both ends stop at once.

use super::Workload;
use crate::network::{Network, Side};
use crate::packet::ConnectionId;
use crate::sink::{FlowDetail, FlowRow, Outcome};
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
    down: bool,
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
        down: bool,
        count: u32,
        size: Option<u64>,
        time: Option<Nanos>,
        omit: Nanos,
    ) -> Self {
        Self {
            place,
            down,
            count,
            size,
            time,
            omit,
            streams: Vec::new(),
            places: Vec::new(),
        }
    }

    fn sender(&self) -> Side {
        if self.down {
            Side::Server
        } else {
            Side::Client
        }
    }

    fn report(
        &mut self,
        network: &mut Network,
        index: usize,
        outcome: Outcome,
        why: Option<&'static str>,
    ) {
        let sender = self.sender();
        let stream = &mut self.streams[index];
        if stream.done {
            return;
        }
        stream.done = true;
        let (local_port, remote_port) = network.ports(stream.id);
        let row = FlowRow {
            flow: stream.flow,
            workload: self.place,
            opener: Side::Client,
            receiver: sender.other(),
            ip: network.hosts[0].tcp.ip,
            local_port,
            remote_port,
            size_bytes: stream.size,
            start: stream.start,
            first_byte: stream.first_byte,
            end: (outcome == Outcome::Finished).then_some(network.now()),
            counted_from: stream.start + self.omit,
            bytes: stream.bytes,
            omitted_bytes: stream.omitted,
            retransmits: network
                .socket(stream.id, sender)
                .map_or(0, Socket::retransmits),
            omitted_retransmits: 0,
            outcome,
            why,
            detail: FlowDetail::default(),
        };
        network.flows.push(row);
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
    fn on_start(&mut self, network: &mut Network) {
        for number in 0..u64::from(self.count) {
            let flow = network.flow_number();
            let id = network.connect(self.place, PORT);
            network.set_flow(id, flow);
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
                start: network.now(),
                first_byte: None,
                bytes: 0,
                omitted: 0,
                done: false,
            });
        }
    }

    fn on_notice(&mut self, network: &mut Network, id: ConnectionId, side: Side, notice: Notice) {
        let Some(index) = self.find(id) else { return };
        let sender = self.sender();
        match notice {
            Notice::Connected => {
                if side == sender {
                    let bytes = self.streams[index].size.unwrap_or(u64::MAX >> 2);
                    network.write(id, side, bytes);
                }
                if side == Side::Client && index == 0 {
                    if let Some(time) = self.time {
                        network.call_at(network.now() + self.omit + time, self.place, STOP);
                    }
                    if self.omit > Nanos::ZERO {
                        network.call_at(network.now() + self.omit, self.place, OMIT);
                    }
                }
            }
            Notice::Read(bytes) if side != sender => {
                let now = network.now();
                let stream = &mut self.streams[index];
                stream.first_byte.get_or_insert(now);
                if !stream.done {
                    stream.bytes += bytes;
                }
                if stream.size.is_some_and(|size| stream.bytes >= size) && !stream.done {
                    self.report(network, index, Outcome::Finished, None);
                    network.close(id, sender);
                }
            }
            Notice::PeerClosed => network.close(id, side),
            Notice::Closed(true) => {
                let other = network.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    network.release(id);
                }
            }
            Notice::Closed(false) => {
                self.report(
                    network,
                    index,
                    Outcome::Failed,
                    Some("the connection failed"),
                );
                network.release(id);
            }
            Notice::Read(_) | Notice::Drained => {}
        }
    }

    fn on_timer(&mut self, network: &mut Network, token: u64) {
        for index in 0..self.streams.len() {
            if token == OMIT {
                self.streams[index].omitted = self.streams[index].bytes;
            } else {
                self.report(network, index, Outcome::Finished, None);
                let id = self.streams[index].id;
                network.release(id);
            }
        }
    }

    fn on_end(&mut self, network: &mut Network) {
        for index in 0..self.streams.len() {
            let outcome = if self.size.is_none() && self.time.is_none() {
                Outcome::Finished
            } else {
                Outcome::Unfinished
            };
            self.report(
                network,
                index,
                outcome,
                (outcome == Outcome::Unfinished).then_some("the run ended"),
            );
        }
    }

    fn is_done(&self) -> bool {
        !self.streams.is_empty() && self.streams.iter().all(|stream| stream.done)
    }
}
