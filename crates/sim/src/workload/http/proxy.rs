//! The cache at near between a client's requests and the server: nginx with `proxy_cache`.
//!
//! What it holds it answers from there. Else it asks the server, over a connection of its own that is kept for the next
//! request, and passes the answer on as it comes; when that is whole it is stored. It reads what the server sends as fast as
//! that comes, whatever the client takes: what does not fit in memory goes to its file.
//!
//! 1. A range is cut from the whole object, which is asked for if it is not held (nginx without its slice module): the
//!    range's first byte comes when all that lies before it has come.
//! 2. Requests for an object that is on its way each fetch it anew (`proxy_cache_lock off`).
//! 3. What has been begun is fetched to its end even if the client has gone.
//! 4. Connections that wait for their next request are kept for as long as the run lasts.
//! 5. Each workload has a cache of its own, as it has a server of its own.

use super::PORT;
use super::cache::Cache;
use super::exchange::Exchange;
use super::lane::Wanted;
use crate::packet::ConnectionId;
use crate::rows::Role;
use crate::seat::{Leg, Side};
use crate::world::World;
use bentpipe_path::time::Nanos;
use bentpipe_tcp::{Notice, Socket};

/// Marks a timer's token as one of these.
const TOKEN: u64 = 1 << 31;

/// Whose request it is: a lane, and its turn.
pub(super) type Client = (usize, u64);

/// What a client is to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// This much of its answer; so many segments have been retransmitted for it on the way here.
    Bytes { bytes: u64, retransmits: u64 },
    /// The answer will not come.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Proxy {
    place: usize,
    think: Nanos,
    cache: Cache,
    upstreams: Vec<Upstream>,
}

/// A connection to the server.
#[derive(Debug)]
struct Upstream {
    id: ConnectionId,
    connected: bool,
    fetch: Option<Fetch>,
}

#[derive(Debug)]
struct Fetch {
    object: u32,
    size: u64,
    exchange: Exchange,
    client: Client,
    /// Of the body: still to be left out before the client's part of it, and of that part still to be passed on.
    skip: u64,
    pass: u64,
    /// Of the head, not yet passed on.
    head_held: u64,
    retransmits_before: u64,
}

fn retransmits(world: &World, id: ConnectionId) -> u64 {
    world
        .socket(id, Side::Server)
        .map_or(0, Socket::retransmits)
}

impl Proxy {
    pub fn new(place: usize, think: Nanos, capacity_bytes: u64) -> Self {
        Self {
            place,
            think,
            cache: Cache::new(capacity_bytes),
            upstreams: Vec::new(),
        }
    }

    pub fn is_of(token: u64) -> bool {
        token & TOKEN != 0
    }

    /// Whether the answer is here.
    pub fn holds(&mut self, object: u32) -> bool {
        self.cache.look_up(object)
    }

    /// Asks the server for the object that this is of.
    pub fn fetch(&mut self, world: &mut World, wanted: &Wanted, client: Client) {
        let idle = |each: &Upstream| each.connected && each.fetch.is_none();
        let place = self.upstreams.iter().position(idle).unwrap_or_else(|| {
            let id = world.connect_on(Leg::Path, self.place, PORT);
            world.set_role(id, Role::Upstream);
            self.upstreams.push(Upstream {
                id,
                connected: false,
                fetch: None,
            });
            self.upstreams.len() - 1
        });
        let upstream = &mut self.upstreams[place];
        upstream.fetch = Some(Fetch {
            object: wanted.object,
            size: wanted.size,
            exchange: Exchange::download(wanted.size),
            client,
            skip: wanted.range.start,
            pass: wanted.bytes(),
            head_held: 0,
            retransmits_before: retransmits(world, upstream.id),
        });
        if upstream.connected {
            upstream.ask(world);
        }
    }

    fn place_of(&self, id: ConnectionId) -> Option<usize> {
        self.upstreams.iter().position(|each| each.id == id)
    }

    /// Something happened at a socket that may be one of these.
    pub fn on_notice(
        &mut self,
        world: &mut World,
        id: ConnectionId,
        side: Side,
        notice: Notice,
    ) -> Option<(Client, Passed)> {
        let place = self.place_of(id)?;
        match (notice, side) {
            (Notice::Connected, Side::Client) => {
                self.upstreams[place].connected = true;
                self.upstreams[place].ask(world);
            }
            (Notice::Read(bytes), Side::Server) => self.read_request(world, place, bytes),
            (Notice::Read(bytes), Side::Client) => return self.read_answer(world, place, bytes),
            (Notice::PeerClosed | Notice::Closed(_), _) => {
                let lost = self.upstreams.remove(place);
                return Some((lost.fetch?.client, Passed::Nothing));
            }
            (Notice::Connected, Side::Server) | (Notice::Drained, _) => {}
        }
        None
    }

    fn read_request(&mut self, world: &mut World, place: usize, bytes: u64) {
        let Upstream { id, fetch, .. } = &mut self.upstreams[place];
        let Some(fetch) = fetch else {
            return;
        };
        fetch.exchange.read_request(bytes);
        if fetch.exchange.request_bytes() > 0 {
            return;
        }
        if self.think > Nanos::ZERO {
            let token = u64::from(id.generation) << 32 | TOKEN | u64::from(id.index);
            world.call_at(world.now() + self.think, self.place, token);
        } else {
            world.write(*id, Side::Server, fetch.exchange.answer_bytes());
        }
    }

    /// The server has thought.
    pub fn on_timer(&mut self, world: &mut World, token: u64) {
        let id = ConnectionId {
            index: (token & (TOKEN - 1)) as u32,
            generation: (token >> 32) as u32,
        };
        if let Some(place) = self.place_of(id)
            && let Some(fetch) = &self.upstreams[place].fetch
        {
            world.write(id, Side::Server, fetch.exchange.answer_bytes());
        }
    }

    fn read_answer(
        &mut self,
        world: &mut World,
        place: usize,
        bytes: u64,
    ) -> Option<(Client, Passed)> {
        let upstream = &mut self.upstreams[place];
        let fetch = upstream.fetch.as_mut()?;
        let head_before = fetch.exchange.head_bytes();
        let body = fetch.exchange.read_answer(bytes);
        let skipped = body.min(fetch.skip);
        let passed = (body - skipped).min(fetch.pass);
        fetch.skip -= skipped;
        fetch.pass -= passed;
        fetch.head_held += head_before - fetch.exchange.head_bytes();
        // The head waits for the first of the body (nginx's `postpone_output`), which of a range may be long in coming.
        let goes = passed > 0 || fetch.pass == 0;
        let head = if goes {
            core::mem::take(&mut fetch.head_held)
        } else {
            0
        };
        let answer = (
            fetch.client,
            Passed::Bytes {
                bytes: head + passed,
                retransmits: retransmits(world, upstream.id) - fetch.retransmits_before,
            },
        );
        if fetch.exchange.answer_bytes() == 0 {
            self.cache.store(fetch.object, fetch.size);
            upstream.fetch = None;
        }
        Some(answer)
    }
}

impl Upstream {
    fn ask(&self, world: &mut World) {
        if let Some(fetch) = &self.fetch {
            world.write(self.id, Side::Client, fetch.exchange.request_bytes());
        }
    }
}
