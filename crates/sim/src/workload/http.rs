//! Fetches from a web server, one visit after another: a file, a file in ranges at once, or a page of objects. Each item
//! of a visit is taken by the next free lane; a lane is one connection at a time, kept for its next item or not.
//!
//! The client connects and sends its request when it is connected; the server, when the request is whole, takes its time
//! to think and answers with a header and the body; the client knows the length and closes where nothing follows. An
//! upload carries its body with the request, and the answer is a header alone.
//!
//! 1. The request is curl's, the answer's header nginx's, by their length only.
//! 2. The starting of programs costs no time: the next visit begins at the instant at which the one before ends.
//! 3. All ranges are asked for at once: a download accelerator first asks for the length, which takes it up to two round
//!    trips more.
//! 4. A page's objects are all known at once, as with `curl --parallel`; no object names another.
//! 5. A large upload does not wait for `100 Continue`.

use super::Workload;
use crate::network::{Network, Side};
use crate::packet::ConnectionId;
use crate::simulation::SpecError;
use crate::sink::{FlowDetail, FlowRow, Outcome};
use crate::tcp::{Notice, Socket};
use bentpipe_draws::Popularity;
use bentpipe_path::time::{Nanos, Time};
use serde::{Deserialize, Serialize};

const PORT: u16 = 80;
/// `GET /file HTTP/1.1`, Host, User-Agent, Accept: as curl 7.88 writes them for a short name.
const REQUEST_BYTES: u64 = 74;
/// Status, Server, Date, Content-Type, Content-Length, Last-Modified, Connection, `ETag`, Accept-Ranges: as nginx 1.22.
const HEADER_BYTES: u64 = 263;

/// Requests drawn from a set of objects of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopularitySpec {
    pub zipf: f64,
    pub objects: u32,
}

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// Of the workload: its draws are made under it.
    pub name: String,
    pub start_ns: Time,
    /// The server sends.
    pub down: bool,
    /// The size of the file, or of each object of `popularity`; else `objects_bytes` has a page's.
    pub size_bytes: Option<u64>,
    pub objects_bytes: Option<Vec<u64>>,
    pub popularity: Option<PopularitySpec>,
    /// Visits, one after another.
    pub fetches: u32,
    /// The file in so many ranges, or the most connections at once for a page.
    pub connections: u32,
    pub keep_alive: bool,
    /// Between a request's last byte at the server and the answer.
    pub think_ns: Nanos,
}

/// What a lane fetches.
#[derive(Debug)]
struct Item {
    flow: u64,
    bytes: u64,
    start: Time,
    connected: Option<Time>,
    first_byte: Option<Time>,
    /// At the server still to be read of the request, and at the client of the answer.
    request_left: u64,
    answer_left: u64,
    body_read: u64,
    /// Of the connection, before this item.
    retransmits_before: u64,
}

#[derive(Debug, Default)]
struct Lane {
    connection: Option<ConnectionId>,
    item: Option<Item>,
    /// Answers begun, so that one whose connection has failed meanwhile is not given on the next.
    turn: u64,
}

#[derive(Debug)]
pub struct Http {
    place: usize,
    spec: HttpSpec,
    popularity: Option<Popularity>,
    /// The object that this visit asks for.
    object: Option<u32>,
    lanes: Vec<Lane>,
    /// Items of this visit not yet taken, the last first.
    waiting: Vec<u64>,
    visit: u32,
}

impl Http {
    pub fn new(network: &Network, place: usize, spec: &HttpSpec) -> Result<Self, SpecError> {
        let wrong = |why: &str| Err(SpecError::Workload(format!("{}: {why}", spec.name)));
        if spec.size_bytes.is_none() && spec.objects_bytes.as_ref().is_none_or(Vec::is_empty) {
            return wrong("a size, or the sizes of objects, is wanted");
        }
        if spec.popularity.is_some_and(|drawn| drawn.objects == 0) {
            return wrong("a set of at least one object is wanted");
        }
        let items = spec
            .objects_bytes
            .as_ref()
            .map_or(u32::MAX, |objects| objects.len() as u32);
        let lanes = spec.connections.clamp(1, items);
        Ok(Self {
            place,
            spec: spec.clone(),
            popularity: spec
                .popularity
                .map(|drawn| Popularity::new(drawn.zipf, drawn.objects, network.seed, &spec.name)),
            object: None,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            waiting: Vec::new(),
            visit: 0,
        })
    }

    fn sender(&self) -> Side {
        if self.spec.down {
            Side::Server
        } else {
            Side::Client
        }
    }

    fn begin_visit(&mut self, network: &mut Network) {
        self.object = self.popularity.as_mut().map(Popularity::draw);
        self.waiting = match (&self.spec.objects_bytes, self.spec.size_bytes) {
            (Some(objects), _) => objects.iter().rev().copied().collect(),
            (None, size) => {
                let (size, ranges) = (size.unwrap_or(0), u64::from(self.spec.connections.max(1)));
                let range = |number| size / ranges + u64::from(number < size % ranges);
                (0..ranges).rev().map(range).collect()
            }
        };
        for lane in 0..self.lanes.len() {
            self.take_next(network, lane);
        }
    }

    /// Begins the next item on a free lane, if there is one.
    fn take_next(&mut self, network: &mut Network, lane: usize) {
        let Some(bytes) = self.waiting.pop() else {
            return;
        };
        let (up, down) = if self.spec.down {
            (0, bytes)
        } else {
            (bytes, 0)
        };
        let mut item = Item {
            flow: network.flow_number(),
            bytes,
            start: network.now(),
            connected: None,
            first_byte: None,
            request_left: REQUEST_BYTES + up,
            answer_left: HEADER_BYTES + down,
            body_read: 0,
            retransmits_before: 0,
        };
        let kept = self.lanes[lane].connection;
        if let Some(id) = kept {
            item.retransmits_before = self.retransmits(network, id);
        }
        let request = item.request_left;
        self.lanes[lane].item = Some(item);
        match kept {
            Some(id) => network.write(id, Side::Client, request),
            None => self.lanes[lane].connection = Some(network.connect(self.place, PORT)),
        }
    }

    fn retransmits(&self, network: &Network, id: ConnectionId) -> u64 {
        let sender = network.socket(id, self.sender());
        sender.map_or(0, Socket::retransmits)
    }

    fn lane_of(&self, id: ConnectionId) -> Option<usize> {
        self.lanes
            .iter()
            .position(|lane| lane.connection == Some(id))
    }

    fn report(&self, network: &mut Network, lane: usize, item: &Item, outcome: Outcome) {
        let Some(id) = self.lanes[lane].connection else {
            return;
        };
        let (local_port, remote_port) = network.ports(id);
        let retransmits = self.retransmits(network, id);
        network.flows.push(FlowRow {
            flow: item.flow,
            workload: self.place,
            opener: Side::Client,
            receiver: self.sender().other(),
            ip: network.hosts[0].ip,
            local_port,
            remote_port,
            size_bytes: Some(item.bytes),
            start: item.start,
            first_byte: item.first_byte,
            end: (outcome == Outcome::Finished).then_some(network.now()),
            counted_from: item.start,
            bytes: item.body_read,
            omitted_bytes: 0,
            retransmits: retransmits - item.retransmits_before.min(retransmits),
            omitted_retransmits: 0,
            outcome,
            why: match outcome {
                Outcome::Finished => None,
                Outcome::Unfinished => Some("the run ended"),
                Outcome::Failed => Some("the connection failed"),
            },
            detail: FlowDetail {
                connected: item.connected,
                visit: Some(self.visit),
                object: self.object,
                ..FlowDetail::default()
            },
        });
    }

    /// An item is over: the lane goes on, and after the visit's last item the next visit begins.
    fn end_item(&mut self, network: &mut Network, lane: usize, outcome: Outcome) {
        let Some(item) = self.lanes[lane].item.take() else {
            return;
        };
        self.report(network, lane, &item, outcome);
        self.lanes[lane].turn += 1;
        if outcome == Outcome::Failed {
            self.lanes[lane].connection = None;
        } else if !self.spec.keep_alive {
            self.leave(network, lane);
        }
        self.take_next(network, lane);
        if self.waiting.is_empty() && self.lanes.iter().all(|lane| lane.item.is_none()) {
            self.visit += 1;
            if self.visit < self.spec.fetches {
                self.begin_visit(network);
            } else {
                for lane in 0..self.lanes.len() {
                    self.leave(network, lane);
                }
            }
        }
    }

    /// The client closes; what is left of the connection closes by itself.
    fn leave(&mut self, network: &mut Network, lane: usize) {
        if let Some(id) = self.lanes[lane].connection.take() {
            network.close(id, Side::Client);
        }
    }

    /// The server has read more of a request.
    fn read_request(&mut self, network: &mut Network, lane: usize, bytes: u64) {
        let upload = !self.spec.down;
        let Some(item) = &mut self.lanes[lane].item else {
            return;
        };
        if upload {
            let read_before = REQUEST_BYTES + item.bytes - item.request_left;
            let header = REQUEST_BYTES.saturating_sub(read_before).min(bytes);
            if bytes > header {
                item.first_byte.get_or_insert(network.now());
                item.body_read += bytes - header;
            }
        }
        item.request_left -= bytes.min(item.request_left);
        if item.request_left == 0 {
            let token = self.lanes[lane].turn << 32 | lane as u64;
            if self.spec.think_ns > Nanos::ZERO {
                network.call_at(network.now() + self.spec.think_ns, self.place, token);
            } else {
                self.on_timer(network, token);
            }
        }
    }

    /// The client has read more of an answer.
    fn read_answer(&mut self, network: &mut Network, lane: usize, bytes: u64) {
        let download = self.spec.down;
        let Some(item) = &mut self.lanes[lane].item else {
            return;
        };
        item.answer_left -= bytes.min(item.answer_left);
        if download {
            item.first_byte.get_or_insert(network.now());
            item.body_read = item.bytes - item.bytes.min(item.answer_left);
        }
        if item.answer_left == 0 {
            self.end_item(network, lane, Outcome::Finished);
        }
    }
}

impl Workload for Http {
    fn on_start(&mut self, network: &mut Network) {
        self.begin_visit(network);
    }

    fn on_notice(&mut self, network: &mut Network, id: ConnectionId, side: Side, notice: Notice) {
        let lane = self.lane_of(id);
        match (notice, side) {
            (Notice::Connected, Side::Client) => {
                let item = lane.and_then(|lane| self.lanes[lane].item.as_mut());
                if let Some(item) = item {
                    item.connected = Some(network.now());
                    network.write(id, side, item.request_left);
                }
            }
            (Notice::Read(bytes), Side::Server) => {
                if let Some(lane) = lane {
                    self.read_request(network, lane, bytes);
                }
            }
            (Notice::Read(bytes), Side::Client) => {
                if let Some(lane) = lane {
                    self.read_answer(network, lane, bytes);
                }
            }
            (Notice::PeerClosed, _) => network.close(id, side),
            (Notice::Closed(true), _) => {
                let other = network.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    network.release(id);
                }
            }
            (Notice::Closed(false), _) => {
                if let Some(lane) = lane {
                    self.end_item(network, lane, Outcome::Failed);
                    if self.lanes[lane].connection == Some(id) {
                        self.lanes[lane].connection = None;
                    }
                }
                network.release(id);
            }
            (Notice::Connected, Side::Server) | (Notice::Drained, _) => {}
        }
    }

    /// The server has thought.
    fn on_timer(&mut self, network: &mut Network, token: u64) {
        let (turn, lane) = (token >> 32, (token & 0xffff_ffff) as usize);
        let lane = &self.lanes[lane];
        if let (Some(id), Some(item)) = (lane.connection, &lane.item)
            && lane.turn == turn
        {
            network.write(id, Side::Server, item.answer_left);
        }
    }

    fn on_end(&mut self, network: &mut Network) {
        for lane in 0..self.lanes.len() {
            if let Some(item) = self.lanes[lane].item.take() {
                self.report(network, lane, &item, Outcome::Unfinished);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.visit >= self.spec.fetches
    }
}
