//! Fetches from a web server, one visit after another: a file or a page of objects, as curl fetches them, or a file in
//! ranges, as aria2 does. Each item of a visit is taken by the next free lane; a lane is one connection at a time.
//!
//! The client connects and sends its request when it is connected; the server, when the request is whole, takes its time
//! to think and answers with a head and the body; the client knows the length. An upload carries its body with the
//! request, and the answer is a head alone. With a cache at near, downloads are asked for there (proxy.rs).
//!
//! A file in ranges begins with one connection that asks for all of it; when the answer's head has told the length, the
//! others are opened (pieces.rs). A connection that meets a piece which another has is reset, with what is still under way
//! on it, and a new one begins where there is most to do.
//!
//! 1. The starting of programs costs no time, nor does what they do between two events.
//! 2. A page's objects are all known at once, as with `curl --parallel --parallel-immediate`; no object names another.
//! 3. A large upload does not wait for `100 Continue`.
//! 4. A range that fails is not asked for again on the same lane; aria2 tries five times.

mod answer;
mod cache;
mod exchange;
mod lane;
mod pieces;
mod proxy;
mod report;
mod visit;

use super::Workload;
use crate::packet::ConnectionId;
use crate::rows::FlowOutcome;
use crate::seat::{Leg, Side};
use crate::spec_error::SpecError;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Notice, Socket, Writer};
use bentpipe_workloads::Popularity;
use lane::{After, Lane, Wanted};
use pieces::Pieces;
use proxy::Proxy;
use serde::Serialize;

const PORT: u16 = 80;

/// Requests drawn from a set of objects of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PopularitySpec {
    pub zipf: f64,
    pub objects: u32,
}

bentpipe_reading::read_struct!(PopularitySpec { zipf, objects });

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HttpSpec {
    /// Of the workload: its draws are made under it.
    pub name: String,
    pub start_ns: Time,
    /// The server sends.
    pub direction: Direction,
    /// The size of the file, or of each object of `popularity`; else `objects_bytes` has a page's.
    pub size_bytes: Option<u64>,
    pub objects_bytes: Option<Vec<u64>>,
    pub popularity: Option<PopularitySpec>,
    /// Visits, one after another.
    pub fetches: u32,
    /// The most at once, for the ranges of a file or for a page.
    pub connections: u32,
    /// From one object to the next: of a page within the visit, else from visit to visit too.
    pub keep_alive: bool,
    /// Between a request's last byte at the server and the answer.
    pub think_ns: Nanos,
}

bentpipe_reading::read_struct!(HttpSpec {
    name,
    start_ns,
    direction,
    size_bytes,
    objects_bytes,
    popularity,
    fetches,
    connections,
    keep_alive,
    think_ns,
});

/// A file that is fetched in ranges.
#[derive(Debug)]
struct Split {
    pieces: Pieces,
    /// The head of the first answer has come.
    length_known: bool,
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
    waiting: Vec<Wanted>,
    split: Option<Split>,
    visit: u32,
    proxy: Option<Proxy>,
}

impl Http {
    pub fn new(world: &mut World, place: usize, spec: &HttpSpec) -> Result<Self, SpecError> {
        let wrong = |why: &str| Err(SpecError::Workload(format!("{}: {why}", spec.name)));
        if spec.size_bytes.is_none() && spec.objects_bytes.as_ref().is_none_or(Vec::is_empty) {
            return wrong("a size, or the sizes of objects, is wanted");
        }
        if spec.popularity.is_some_and(|drawn| drawn.objects == 0) {
            return wrong("a set of at least one object is wanted");
        }
        if spec.direction == Direction::Up && spec.objects_bytes.is_none() && spec.connections > 1 {
            return wrong("an upload has no ranges");
        }
        // curl and nginx both set TCP_NODELAY.
        world.set_sockets(place, |host| host.nagle = false);
        let items = spec
            .objects_bytes
            .as_ref()
            .map_or(u32::MAX, |objects| objects.len() as u32);
        let lanes = spec.connections.clamp(1, items);
        let near = world
            .near
            .as_ref()
            .filter(|_| spec.direction == Direction::Down);
        let cache_bytes = near.and_then(|near| near.cache_bytes);
        Ok(Self {
            place,
            spec: spec.clone(),
            popularity: spec
                .popularity
                .map(|drawn| Popularity::new(drawn.zipf, drawn.objects, world.seed, &spec.name)),
            object: None,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            waiting: Vec::new(),
            split: None,
            visit: 0,
            proxy: cache_bytes.map(|bytes| Proxy::new(place, spec.think_ns, bytes)),
        })
    }

    fn sender(&self) -> Side {
        Side::sending(self.spec.direction)
    }

    /// What the client's connections span.
    fn leg(&self) -> Leg {
        if self.proxy.is_some() {
            Leg::Lan
        } else {
            Leg::Whole
        }
    }

    fn retransmits(&self, world: &World, id: ConnectionId) -> u64 {
        world.retransmits(id, self.sender())
    }

    fn lane_of(&self, id: ConnectionId) -> Option<usize> {
        self.lanes
            .iter()
            .position(|lane| lane.connection == Some(id))
    }
}

impl Workload for Http {
    fn on_start(&mut self, world: &mut World) {
        self.begin_visit(world);
    }

    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        let lane = self.lane_of(id);
        let passed = self
            .proxy
            .as_mut()
            .and_then(|proxy| proxy.on_notice(world, id, side, notice));
        if let Some((client, passed)) = passed {
            self.pass(world, client, passed);
        }
        match (notice, side) {
            (Notice::Connected, Side::Client) => {
                world.set_writer(id, side, Writer::UPLOAD);
                let item = lane.and_then(|lane| self.lanes[lane].item.as_mut());
                if let (Some(lane), Some(item)) = (lane, item) {
                    item.connected = Some(world.now());
                    self.ask(world, lane);
                }
            }
            (Notice::Read(bytes), Side::Server) => {
                if let Some(lane) = lane {
                    self.read_request(world, lane, bytes);
                }
            }
            (Notice::Read(bytes), Side::Client) => {
                if let Some(lane) = lane {
                    self.read_answer(world, lane, bytes);
                }
            }
            (Notice::PeerClosed, _) => world.close(id, side),
            (Notice::Closed(true), _) => {
                let other = world.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    world.release(id);
                }
            }
            (Notice::Closed(false), _) => {
                if let Some(lane) = lane {
                    self.end_item(world, lane, FlowOutcome::Failed, After::Gone);
                    if self.lanes[lane].connection == Some(id) {
                        self.lanes[lane].connection = None;
                    }
                }
                world.release(id);
            }
            (Notice::Connected, Side::Server) => {
                world.set_writer(id, side, Writer::SENDFILE);
            }
            (Notice::Drained, _) => {}
        }
    }

    /// The server has thought.
    fn on_timer(&mut self, world: &mut World, token: u64) {
        if Proxy::is_of(token) {
            if let Some(proxy) = &mut self.proxy {
                proxy.on_timer(world, token);
            }
            return;
        }
        let (turn, lane) = (token >> 32, (token & 0xffff_ffff) as usize);
        if self.lanes[lane].turn == turn {
            self.answer(world, lane);
        }
    }

    fn on_end(&mut self, world: &mut World) {
        for lane in 0..self.lanes.len() {
            if let Some(item) = self.lanes[lane].item.take() {
                self.report(world, lane, &item, FlowOutcome::Unfinished);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.visit >= self.spec.fetches
    }
}
