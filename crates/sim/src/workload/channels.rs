//! N channels, each a client with one connection after another: it connects to a server drawn at random, is sent a flow
//! of drawn size, the server closes, and the client at once (or after `think`) connects again, until the run ends. The
//! draws are those of the crate bentpipe-workloads, so that real sockets can be given the same flows.
//!
//! 1. All channels begin at the workload's start.
//! 2. A flow ends with its last byte; the client goes on when it reads the end of the stream, which most often comes with
//!    it. The connection left behind takes its time to close beside the next.
//! 3. The server writes when it has accepted, and the kernel takes what its buffer has room for.
//! 4. TIME-WAIT costs nothing: ports are not scarce, and what comes late finds a closed connection.

use super::Workload;
use crate::packet::{ConnectionId, ServerId};
use crate::rows::{FlowDetail, FlowOutcome, FlowRow};
use crate::seat::Side;
use crate::spec_error::SpecError;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::ConfigError;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Notice, Socket, Writer};
use bentpipe_workloads::{ChannelPlan, Distribution, PlannedFlow, ServersSpec};
use serde::Serialize;

const PORT: u16 = 5001;
/// What `live`'s servers write at once.
const WRITER: Writer = Writer::UntilFull { block: 256 * 1024 };

#[derive(Debug)]
struct Client {
    plan: ChannelPlan,
    open: Option<Open>,
}

/// A connection whose end the client has not read yet.
#[derive(Debug)]
struct Open {
    id: ConnectionId,
    number: u64,
    flow: PlannedFlow,
    start: Time,
    connected: Option<Time>,
    first_byte: Option<Time>,
    bytes: u64,
    reported: bool,
}

/// The channels in plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelsSpec {
    /// Of the workload: its draws are made under it.
    pub name: String,
    pub start_ns: Time,
    pub channels: u32,
    pub servers: u32,
    /// Of a flow, in bytes.
    pub size: Distribution,
    /// One way between the far end and each server, in nanoseconds, and its standard deviation per packet.
    pub terrestrial_delay: Distribution,
    pub terrestrial_jitter_ns: Nanos,
    /// Between the end of a flow and the channel's next connection.
    pub think_ns: Nanos,
}

bentpipe_reading::read_struct!(ChannelsSpec {
    name,
    start_ns,
    channels,
    servers,
    size,
    terrestrial_delay,
    terrestrial_jitter_ns,
    think_ns,
});

#[derive(Debug)]
pub struct Channels {
    place: usize,
    size: Distribution,
    think: Nanos,
    servers: Vec<ServerId>,
    clients: Vec<Client>,
    /// The channel that last used each place among the connections.
    owners: Vec<u32>,
}

impl Channels {
    pub fn new(world: &mut World, place: usize, spec: &ChannelsSpec) -> Result<Self, SpecError> {
        let wrong = |field: &str, why: &dyn core::fmt::Display| {
            SpecError::Workload(format!("{}.{field}: {why}", spec.name))
        };
        if spec.servers == 0 {
            return Err(wrong("servers", &"at least one is wanted"));
        }
        if spec.servers > u32::from(u16::MAX) {
            return Err(wrong("servers", &"expected at most 65535"));
        }
        spec.size.check().map_err(|error| wrong("size", &error))?;
        spec.terrestrial_delay
            .check()
            .map_err(|error| wrong("terrestrial_delay", &error))?;
        let seed = world.seed;
        let client = |number| Client {
            plan: ChannelPlan::new(seed, &spec.name, number, spec.servers),
            open: None,
        };
        Ok(Self {
            place,
            size: spec.size.clone(),
            think: spec.think_ns,
            servers: add_servers(world, spec)?,
            clients: (0..spec.channels).map(client).collect(),
            owners: Vec::new(),
        })
    }

    fn open(&mut self, world: &mut World, channel: u32) {
        let client = &mut self.clients[channel as usize];
        let flow = client.plan.next_flow(&self.size);
        let server = self.servers[flow.server as usize];
        let id = world.connect_to(server, self.place, PORT);
        let number = world.flow_number();
        world.set_flow(id, number);
        client.open = Some(Open {
            id,
            number,
            flow,
            start: world.now(),
            connected: None,
            first_byte: None,
            bytes: 0,
            reported: false,
        });
        let place = id.index as usize;
        if place >= self.owners.len() {
            self.owners.resize(place + 1, 0);
        }
        self.owners[place] = channel;
    }

    /// The channel whose present connection this is.
    fn owner(&self, id: ConnectionId) -> Option<u32> {
        let channel = *self.owners.get(id.index as usize)?;
        let open = self.clients[channel as usize].open.as_ref()?;
        (open.id == id).then_some(channel)
    }

    fn report(
        &mut self,
        world: &mut World,
        channel: u32,
        outcome: FlowOutcome,
        why: Option<&'static str>,
    ) {
        let Some(open) = &mut self.clients[channel as usize].open else {
            return;
        };
        if open.reported {
            return;
        }
        open.reported = true;
        let (local_port, remote_port) = world.ports(open.id);
        world.flows.push(FlowRow {
            flow: open.number,
            workload: self.place,
            opener: Side::Client,
            receiver: Side::Client,
            ip: world.ip(),
            local_port,
            remote_port,
            size_bytes: Some(open.flow.size_bytes),
            start: open.start,
            first_byte: open.first_byte,
            end: (outcome == FlowOutcome::Finished).then_some(world.now()),
            counted_from: open.start,
            bytes: open.bytes,
            omitted_bytes: 0,
            retransmits: world.retransmits(open.id, Side::Server),
            omitted_retransmits: 0,
            outcome,
            why,
            detail: FlowDetail {
                client: Some(channel),
                server: Some(open.flow.server),
                connected: open.connected,
                ..FlowDetail::default()
            },
        });
    }

    /// The channel is done with its connection.
    fn go_on(&mut self, world: &mut World, channel: u32) {
        self.clients[channel as usize].open = None;
        if self.think > Nanos::ZERO {
            world.call_at(world.now() + self.think, self.place, u64::from(channel));
        } else {
            self.open(world, channel);
        }
    }
}

/// Each server at its own drawn delay.
fn add_servers(world: &mut World, spec: &ChannelsSpec) -> Result<Vec<ServerId>, ConfigError> {
    let servers = ServersSpec {
        name: spec.name.clone(),
        servers: spec.servers,
        delay: spec.terrestrial_delay.clone(),
        jitter: spec.terrestrial_jitter_ns,
    };
    let down = servers.lines(world.seed, Direction::Down)?;
    let up = servers.lines(world.seed, Direction::Up)?;
    let both = down.into_iter().zip(up);
    Ok(both
        .filter_map(|(down, up)| world.add_server(down, up))
        .collect())
}

impl Workload for Channels {
    fn on_start(&mut self, world: &mut World) {
        for channel in 0..self.clients.len() as u32 {
            self.open(world, channel);
        }
    }

    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        let owner = self.owner(id);
        let open = owner.and_then(|channel| self.clients[channel as usize].open.as_mut());
        match (notice, side) {
            (Notice::Connected, Side::Client) => {
                if let Some(open) = open {
                    open.connected = Some(world.now());
                }
            }
            (Notice::Connected, Side::Server) => {
                if let Some(open) = open {
                    world.set_writer(id, side, WRITER);
                    world.write(id, side, open.flow.size_bytes);
                    world.close(id, side);
                }
            }
            (Notice::Read(bytes), Side::Client) => {
                if let (Some(channel), Some(open)) = (owner, open) {
                    open.first_byte.get_or_insert(world.now());
                    open.bytes += bytes;
                    if open.bytes >= open.flow.size_bytes {
                        self.report(world, channel, FlowOutcome::Finished, None);
                    }
                }
            }
            (Notice::PeerClosed, _) => {
                world.close(id, side);
                if let (Some(channel), Side::Client) = (owner, side) {
                    self.go_on(world, channel);
                }
            }
            (Notice::Closed(true), _) => {
                let other = world.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    world.release(id);
                }
            }
            (Notice::Closed(false), _) => {
                if let Some(channel) = owner {
                    let why = Some("the connection failed");
                    self.report(world, channel, FlowOutcome::Failed, why);
                    world.release(id);
                    self.go_on(world, channel);
                } else {
                    world.release(id);
                }
            }
            (Notice::Read(_), Side::Server) | (Notice::Drained, _) => {}
        }
    }

    fn on_timer(&mut self, world: &mut World, token: u64) {
        self.open(world, token as u32);
    }

    fn on_end(&mut self, world: &mut World) {
        for channel in 0..self.clients.len() as u32 {
            self.report(
                world,
                channel,
                FlowOutcome::Unfinished,
                Some("the run ended"),
            );
        }
    }

    /// There is always a next connection.
    fn is_done(&self) -> bool {
        false
    }
}
