//! The standard topology, `client - near = path = far - server`, with the seats that a specification takes.

use crate::gateway::{self, GatewayConfig, SharedEnd};
use crate::near::NearConfig;
use crate::network::Network;
use crate::network::topology::{Joint, Occupant, Topology};
use crate::node::config::HostConfig;
use crate::node::host::Host;
use crate::node::{self, Node};
use crate::packet::Packet;
use crate::seat::{Seat, Side};
use crate::spec::SimSpec;
use crate::spec_error::SpecError;
use crate::split::{Proxy, SplitConfig, SplitEnd};
use crate::tunnel::{self, Beside, Tunnel, TunnelConfig, TunnelEnd};
use crate::workload::WorkloadSpec;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_base::time::Time;
use bentpipe_base::topology::{Link, Standard};
use bentpipe_path::Pipe;
use bentpipe_tunnel::Crossing;
use core::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Boxes and the seats that they take.
pub(crate) type Boxes = Vec<(Seat, Box<dyn Node>)>;

/// The seats at the path's two ends: of the client's side, and of the server's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEnds {
    near: Seat,
    far: Seat,
    /// What crosses the path are a tunnel's frames, or a proxy's own connections.
    between: bool,
}

/// Which seats a specification takes. Far is also taken where servers at delays of their own lie beyond it.
fn standard(spec: &SimSpec, boxes: &Boxes) -> Standard {
    let boxed = |seat| boxes.iter().any(|(taken, _)| *taken == seat);
    let beyond = |work: &WorkloadSpec| matches!(work, WorkloadSpec::Channels(_));
    Standard {
        near: spec.near.is_some() || spec.split.is_some() || boxed(Seat::Near),
        far: spec.split.is_some() || boxed(Seat::Far) || spec.workloads.iter().any(beyond),
    }
}

impl PathEnds {
    fn new(standard: Standard, spec: &SimSpec) -> Self {
        let [far, near] = standard.path_ends();
        Self {
            near,
            far,
            between: spec.tunnel.is_some() || spec.split.is_some() || spec.gateway.is_some(),
        }
    }

    /// The path's pipe to this side.
    pub fn pipe(self, network: &mut Network, to: Side) -> Option<&mut Pipe<Packet>> {
        match to {
            Side::Client => network.pipe(self.far, self.near),
            Side::Server => network.pipe(self.near, self.far),
        }
    }

    /// Where a host's capture looks, and in which direction. Near, which has two links, is watched at the path's end, and the
    /// server at the far end, where the packets of all servers pass; where other packets cross the path, at its own end.
    fn watched(self, seat: Seat) -> (Seat, Seat) {
        match seat {
            Seat::Client if self.near == Seat::Near => (Seat::Client, Seat::Near),
            Seat::Client | Seat::Near => (self.near, self.far),
            Seat::Server if self.between => (Seat::Server, self.far),
            Seat::Far | Seat::Server => (self.far, self.near),
        }
    }
}

/// The world of a specification before any workload has begun, at `start`. `boxes` sit beside those of the specification.
pub(crate) fn build(
    spec: &SimSpec,
    mut boxes: Boxes,
    start: Time,
) -> Result<(World, PathEnds), SpecError> {
    for each in &spec.boxes {
        boxes.push((each.seat, node::build(each).map_err(SpecError::Box)?));
    }
    let tunnel = spec.tunnel.as_ref();
    let beside = Rc::new(RefCell::new(Beside::new(&spec.beside_tunnel)));
    let tunnel = tunnel
        .map(|config| dig(config, spec, &beside, &mut boxes))
        .transpose()?;
    let gateways = spec.gateway.as_ref();
    let gateways = gateways
        .map(|config| seat_gateways(config, spec, start, &beside, &mut boxes))
        .transpose()?;
    let standard = standard(spec, &boxes);
    let ends = PathEnds::new(standard, spec);
    let mut network = Network::new(topology(spec, standard, boxes)?, spec.seed, start)?;
    network.recorder.ip = spec.client.tcp.ip;
    for seat in &spec.capture {
        let (at, towards) = ends.watched(*seat);
        network.capture(at, towards, *seat);
    }
    let near = spec.near.as_ref().map_or(&spec.client, |near| &near.host);
    let settings = Seat::ALL.map(|seat| match seat {
        Seat::Client => Arc::new(spec.client.tcp.clone()),
        Seat::Near => Arc::new(near.tcp.clone()),
        Seat::Far | Seat::Server => Arc::new(spec.server.tcp.clone()),
    });
    let mut world = World::new(network, settings, spec.near.clone(), spec.seed);
    world.is_split = spec.split.is_some();
    world.tunnel = tunnel;
    world.beside_tunnel = beside;
    world.gateways = gateways;
    Ok((world, ends))
}

/// Seats a tunnel's ends at near and far.
fn dig(
    config: &TunnelConfig,
    spec: &SimSpec,
    beside: &Rc<RefCell<Beside>>,
    boxes: &mut Boxes,
) -> Result<Tunnel, SpecError> {
    let ip = spec.client.tcp.ip;
    let crossing = || {
        let crossing = Crossing::new(config, spec.mtu, ip, spec.bin_ns);
        let crossing = crossing.map_err(|error| SpecError::Box(format!("tunnel: {error}")))?;
        Ok::<_, SpecError>(Rc::new(RefCell::new(crossing)))
    };
    let [down, up] = [crossing()?, crossing()?];
    for (seats, outgoing, incoming) in [
        ([Seat::Near, Seat::Far], &up, &down),
        ([Seat::Far, Seat::Near], &down, &up),
    ] {
        let outer = tunnel::outer_bytes(ip);
        let end = TunnelEnd::new(
            seats,
            outer,
            Rc::clone(outgoing),
            Rc::clone(incoming),
            Rc::clone(beside),
        );
        boxes.push((seats[0], Box::new(end)));
    }
    Ok([down, up])
}

/// Seats a gateway at near and one at far.
fn seat_gateways(
    config: &GatewayConfig,
    spec: &SimSpec,
    start: Time,
    beside: &Rc<RefCell<Beside>>,
    boxes: &mut Boxes,
) -> Result<[SharedEnd; 2], SpecError> {
    let ip_bytes = if spec.client.tcp.ip == 6 { 40 } else { 20 };
    let mtu = [spec.mtu, ip_bytes];
    let ends = gateway::pair(config, mtu, spec.bin_ns, spec.seed, start, beside);
    let ends = ends.map_err(|error| SpecError::Box(format!("gateway: {error}")))?;
    let ends = ends.map(|end| SharedEnd(Rc::new(RefCell::new(end))));
    for (seat, end) in [Seat::Near, Seat::Far].into_iter().zip(&ends) {
        boxes.push((seat, Box::new(end.clone())));
    }
    Ok(ends)
}

/// The proxy at the first of these seats.
fn proxy(split: &SplitConfig, seats: [Seat; 2], mtu: u32) -> Proxy {
    let host = match seats[0] {
        Seat::Near => &split.near,
        _ => &split.far,
    };
    let settings = [host, &split.path].map(|host| Arc::new(host.tcp.clone()));
    Proxy::new(seats, settings, mtu)
}

fn topology(spec: &SimSpec, standard: Standard, mut boxes: Boxes) -> Result<Topology, SpecError> {
    let pipes = |link: Link, down, up| -> Result<Joint, SpecError> {
        let pipe = |config, direction| {
            let place = link.pipe_name(direction);
            Pipe::new(config, spec.mtu, spec.seed, place, spec.bin_ns).map(Box::new)
        };
        Ok(Joint::Pipes([
            pipe(down, Direction::Down)?,
            pipe(up, Direction::Up)?,
        ]))
    };
    let host = |seat, config: &HostConfig| {
        let host = Host::new(seat, config.clone(), spec.host_mtu());
        (seat, Occupant::Host(Box::new(host)))
    };
    let mut topology = Topology::default();
    topology.seats.push(host(Seat::Client, &spec.client));
    topology.seats.push(host(Seat::Server, &spec.server));
    for (first, second, link) in standard.links() {
        topology.links.push(match (link, &spec.near) {
            (Link::Path, _) => (first, second, pipes(link, &spec.down, &spec.up)?),
            (Link::Lan, Some(NearConfig { down, up, .. })) => {
                (first, second, pipes(link, down, up)?)
            }
            (Link::Lan, None) => (first, second, Joint::ServerLines),
            // Of equal times, what goes to the servers comes before what comes from them.
            (Link::Terrestrial, _) => (second, first, Joint::ServerLines),
        });
    }
    if let Some(split) = &spec.split {
        for seats in [[Seat::Near, Seat::Far], [Seat::Far, Seat::Near]] {
            let beneath = boxes.iter().position(|(seat, _)| *seat == seats[0]);
            let beneath = beneath.map(|place| boxes.remove(place).1);
            let end = SplitEnd::new(proxy(split, seats, spec.host_mtu()), beneath);
            topology
                .seats
                .push((seats[0], Occupant::Split(Box::new(end))));
        }
    } else if let Some(near) = &spec.near {
        topology.seats.push(host(Seat::Near, &near.host));
    }
    if standard.far && spec.split.is_none() && boxes.iter().all(|(seat, _)| *seat != Seat::Far) {
        topology.seats.push((Seat::Far, Occupant::Nothing));
    }
    let boxes = boxes.into_iter();
    topology
        .seats
        .extend(boxes.map(|(seat, node)| (seat, Occupant::Box(node))));
    Ok(topology)
}
