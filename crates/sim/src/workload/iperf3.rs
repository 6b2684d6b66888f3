//! A transfer as iperf3 makes it: a control connection before the streams, and clocks of its own at both ends.
//! Source: iperf 3.12, `src/iperf_client_api.c`, `iperf_server_api.c`, `iperf_api.c`; what it costs in round trips decides
//! what a short test over a long path measures.
//!
//! The client connects and sends its cookie; the server answers with one byte of state, takes the parameters, and asks
//! for the streams, which the client opens one after another, each with a cookie. Then the server says start and running:
//! its clock starts there, the client's when it hears so, and whoever sends begins. When its time is over the client
//! says so; the server counts until it hears. So the receiver of an upload counts one round trip too early and too late.
//! Both ends set `TCP_NODELAY` on the control connection: the second of two states does not wait for the ACK of the first.
//!
//! A transfer by size is asked for by its receiver (`--reverse`), as the live engine does it: it ends when the streams
//! together have brought so many bytes. One whose pacing is bounded is opened by its sender, since iperf3 does not tell its server
//! of `--fq-rate`.
//!
//! Then the two exchange results. The server closes the streams when it hears of the end: as the sender it still has what
//! its socket holds, as the receiver it refuses what comes. The client reads on, and closes when it has the results.
//!
//! 1. The results are of one size, whatever the test.

mod rows;

use super::Workload;
use crate::packet::ConnectionId;
use crate::rows::{FlowOutcome, Role};
use crate::seat::Side;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Notice, Writer};

const PORT: u16 = 5201;
/// Bytes on the control connection (`iperf_api.h`: `COOKIE_SIZE`; the parameters are some 150 bytes of JSON after their
/// length).
const COOKIE: u64 = 37;
const PARAMETERS: u64 = 160;
const LENGTH: u64 = 4;
const STATE: u64 = 1;
/// Some 400 bytes of JSON after their length, for one stream.
const RESULTS: u64 = 404;
/// The most that is read at once (`DEFAULT_TCP_BLKSIZE`); the size is looked at between two reads.
const BLOCK: u64 = 128 * 1024;
/// A sender waits in select(2) and writes, without blocking, up to `multisend` blocks (`iperf_send`, `Nwrite`).
const WRITER: Writer = Writer::Turns {
    block: BLOCK,
    blocks: 10,
};
/// What a sender has to send.
const ENDLESS: u64 = u64::MAX >> 2;

/// Tokens of timers.
const STOP: u64 = 0;
const OMITTED: u64 = 1;
/// And any number above: a clock's seconds.
const TICK: u64 = 2;
const SECOND: Nanos = Nanos::from_secs(1);

/// How far the two ends have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Cookie,
    Parameters,
    Streams,
    /// The server has said so; the client may not know.
    Running,
    /// The client's time is over, or it has all it asked for.
    Ending,
    /// The server knows. It asks for the client's results, and sends its own.
    Exchanging,
    Displaying,
    /// The client has gone.
    Over,
}

#[derive(Debug)]
struct Stream {
    id: ConnectionId,
    flow: u64,
    start: Time,
    first_byte: Option<Time>,
    /// What the server is still to read of the cookie.
    cookie: u64,
    bytes: u64,
    omitted_bytes: u64,
    omitted_retransmits: u64,
    done: bool,
}

/// The receiver's count since the last whole second of its clock.
#[derive(Debug, Default)]
struct Interval {
    start: Option<Time>,
    bytes: u64,
    omitted: bool,
    /// Told apart from the seconds of a clock that was set anew.
    clock: u64,
}

#[derive(Debug)]
pub struct Iperf3 {
    place: usize,
    /// Where iperf3's client runs, and where the data come from.
    client: Side,
    sender: Side,
    count: u32,
    size: Option<u64>,
    time: Option<Nanos>,
    omit: Nanos,
    stage: Stage,
    control: Option<ConnectionId>,
    /// What the server has read of what it waits for.
    heard: u64,
    streams: Vec<Stream>,
    /// By a connection's place in the slab.
    by_connection: Vec<Option<usize>>,
    /// What the client has read of the two states, start and running.
    states_heard: u64,
    client_runs: bool,
    /// By all streams together.
    received: u64,
    interval: Interval,
    /// From when on the receiver counts.
    counted_from: Time,
    failed: bool,
}

impl Iperf3 {
    pub fn new(
        place: usize,
        direction: Direction,
        count: u32,
        size: Option<u64>,
        time: Option<Nanos>,
        omit: Nanos,
        is_paced: bool,
    ) -> Self {
        let sender = Side::sending(direction);
        Self {
            place,
            client: if is_paced {
                sender
            } else if size.is_some() {
                sender.other()
            } else {
                Side::Client
            },
            sender,
            count,
            size,
            time,
            omit,
            stage: Stage::Cookie,
            control: None,
            heard: 0,
            streams: Vec::new(),
            by_connection: Vec::new(),
            states_heard: 0,
            client_runs: false,
            received: 0,
            interval: Interval::default(),
            counted_from: Time::ZERO,
            failed: false,
        }
    }

    fn say(&self, world: &mut World, from: Side, bytes: u64) {
        if let Some(control) = self.control {
            world.write(control, from, bytes);
        }
    }

    fn on_control(&mut self, world: &mut World, side: Side, notice: Notice) {
        match notice {
            Notice::Connected => {
                if let Some(control) = self.control {
                    world.set_nodelay(control, side);
                }
                if side == self.client {
                    self.say(world, side, COOKIE);
                }
            }
            Notice::Read(bytes) if side == self.client => self.client_hears(world, bytes),
            Notice::Read(bytes) => {
                self.heard += bytes;
                self.server_hears(world);
            }
            Notice::PeerClosed => {
                if let Some(control) = self.control {
                    world.close(control, side);
                }
            }
            Notice::Closed(false) if !self.is_done() => self.fail(world),
            _ => {}
        }
    }

    fn server_hears(&mut self, world: &mut World) {
        let server = self.client.other();
        match self.stage {
            Stage::Cookie if self.heard >= COOKIE => {
                self.heard -= COOKIE;
                self.stage = Stage::Parameters;
                self.say(world, server, STATE);
            }
            Stage::Parameters if self.heard >= PARAMETERS => {
                self.heard -= PARAMETERS;
                self.stage = Stage::Streams;
                self.say(world, server, STATE);
            }
            Stage::Ending => {
                self.heard = 0;
                self.stage = Stage::Exchanging;
                self.say(world, server, STATE);
                if self.sender == server {
                    for stream in &self.streams {
                        world.stop_writing(stream.id, server);
                        world.close(stream.id, server);
                    }
                } else {
                    self.end(world, FlowOutcome::Finished, None);
                    for stream in &self.streams {
                        world.abort(stream.id, server);
                    }
                }
            }
            Stage::Exchanging if self.heard >= RESULTS => {
                self.stage = Stage::Displaying;
                self.say(world, server, RESULTS + STATE);
            }
            _ => {}
        }
    }

    fn client_hears(&mut self, world: &mut World, bytes: u64) {
        match self.stage {
            Stage::Parameters => {
                self.say(world, self.client, LENGTH);
                self.say(world, self.client, PARAMETERS - LENGTH);
            }
            Stage::Streams => self.open_stream(world),
            Stage::Running if !self.client_runs => {
                self.states_heard += bytes;
                if self.states_heard < 2 * STATE {
                    return;
                }
                self.client_runs = true;
                self.side_runs(world, self.client);
                if let Some(time) = self.time {
                    world.call_at(world.now() + self.omit + time, self.place, STOP);
                }
            }
            Stage::Exchanging => self.say(world, self.client, RESULTS),
            Stage::Displaying => {
                self.stage = Stage::Over;
                for stream in &self.streams {
                    world.abort(stream.id, self.client);
                }
                if let Some(control) = self.control {
                    world.close(control, self.client);
                }
            }
            _ => {}
        }
    }

    fn open_stream(&mut self, world: &mut World) {
        let id = world.connect_from(self.client, self.place, PORT);
        let index = id.index as usize;
        if self.by_connection.len() <= index {
            self.by_connection.resize(index + 1, None);
        }
        self.by_connection[index] = Some(self.streams.len());
        let flow = world.flow_number();
        world.set_flow(id, flow);
        self.streams.push(Stream {
            id,
            flow,
            start: world.now(),
            first_byte: None,
            cookie: COOKIE,
            bytes: 0,
            omitted_bytes: 0,
            omitted_retransmits: 0,
            done: false,
        });
    }

    /// One end's clock starts, and if it sends, it begins.
    fn side_runs(&mut self, world: &mut World, side: Side) {
        if side == self.sender {
            for stream in &self.streams {
                world.set_writer(stream.id, side, WRITER);
                world.write(stream.id, side, ENDLESS);
            }
        } else {
            self.counted_from = world.now() + self.omit;
            self.begin_intervals(world, self.omit > Nanos::ZERO);
            if self.omit > Nanos::ZERO {
                world.call_at(world.now() + self.omit, self.place, OMITTED);
            }
        }
    }

    fn on_stream(&mut self, world: &mut World, index: usize, side: Side, notice: Notice) {
        let id = self.streams[index].id;
        match notice {
            Notice::Connected if side == self.client => {
                world.write(id, side, COOKIE);
                if self.streams.len() < self.count as usize {
                    self.open_stream(world);
                }
            }
            Notice::Read(bytes) => self.on_read(world, index, side, bytes),
            Notice::Closed(false) if !self.is_done() => self.fail(world),
            _ => {}
        }
    }

    fn on_read(&mut self, world: &mut World, index: usize, side: Side, mut bytes: u64) {
        let stream = &mut self.streams[index];
        if side != self.client && stream.cookie > 0 {
            let of_cookie = bytes.min(stream.cookie);
            stream.cookie -= of_cookie;
            bytes -= of_cookie;
            let all_here = self.streams.len() == self.count as usize
                && self.streams.iter().all(|stream| stream.cookie == 0);
            if all_here && self.stage == Stage::Streams {
                self.stage = Stage::Running;
                self.say(world, side, STATE);
                self.say(world, side, STATE);
                self.side_runs(world, side);
            }
        }
        let stream = &mut self.streams[index];
        if side == self.sender || bytes == 0 || stream.done {
            return;
        }
        if let Some(size) = self.size {
            let left = size.saturating_sub(self.received);
            bytes = bytes.min(left.div_ceil(BLOCK) * BLOCK);
        }
        stream.first_byte.get_or_insert(world.now());
        stream.bytes += bytes;
        self.interval.bytes += bytes;
        self.received += bytes;
        if self.size.is_some_and(|size| self.received >= size) {
            self.stop(world);
            self.end(world, FlowOutcome::Finished, None);
        }
    }

    /// The client has what it wanted, and says so.
    fn stop(&mut self, world: &mut World) {
        self.stage = Stage::Ending;
        self.heard = 0;
        self.say(world, self.client, STATE);
    }

    fn end(&mut self, world: &mut World, outcome: FlowOutcome, why: Option<&'static str>) {
        for index in 0..self.streams.len() {
            self.report(world, index, outcome, why);
        }
    }

    fn fail(&mut self, world: &mut World) {
        self.failed = true;
        if self.streams.is_empty() {
            self.open_stream(world);
        }
        self.end(world, FlowOutcome::Failed, Some("the connection failed"));
    }
}

impl Workload for Iperf3 {
    fn on_start(&mut self, world: &mut World) {
        let control = world.connect_from(self.client, self.place, PORT);
        world.set_role(control, Role::Control);
        self.control = Some(control);
    }

    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        if self.control == Some(id) {
            self.on_control(world, side, notice);
        } else if let Some(&Some(index)) = self.by_connection.get(id.index as usize)
            && self.streams[index].id == id
        {
            self.on_stream(world, index, side, notice);
        }
    }

    fn on_timer(&mut self, world: &mut World, token: u64) {
        if self.is_done() {
            return;
        }
        match token {
            STOP => {
                self.stop(world);
                if self.sender == self.client {
                    for stream in &self.streams {
                        world.stop_writing(stream.id, self.sender);
                    }
                } else {
                    self.end(world, FlowOutcome::Finished, None);
                }
            }
            OMITTED => {
                self.end_interval(world);
                self.begin_intervals(world, false);
                for index in 0..self.streams.len() {
                    self.streams[index].omitted_retransmits = self.retransmits(world, index);
                    self.streams[index].omitted_bytes = self.streams[index].bytes;
                }
            }
            _ if token == TICK + self.interval.clock => {
                self.end_interval(world);
                world.call_at(world.now() + SECOND, self.place, token);
            }
            _ => {}
        }
    }

    fn on_end(&mut self, world: &mut World) {
        if self.streams.is_empty() {
            self.open_stream(world);
        }
        let endless = self.size.is_none() && self.time.is_none();
        if endless {
            self.end(world, FlowOutcome::Finished, None);
        } else {
            self.end(world, FlowOutcome::Unfinished, Some("the run ended"));
        }
    }

    fn is_done(&self) -> bool {
        self.failed
            || self.streams.len() == self.count as usize
                && self.streams.iter().all(|stream| stream.done)
    }
}
