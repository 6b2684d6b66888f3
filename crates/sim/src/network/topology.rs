//! What the simulator puts on the seats and links of a topology.

use super::lines::ServerLines;
use super::link::Carrier;
use crate::node::Node;
use crate::node::host::Host;
use crate::packet::Packet;
use crate::seat::Seat;
use crate::split::SplitEnd;
use bentpipe_base::topology::{self, Checked, TopologyError};
use bentpipe_path::Pipe;

/// What sits on a seat.
#[derive(Debug)]
pub(crate) enum Occupant {
    Host(Box<Host>),
    /// A box on the way.
    Box(Box<dyn Node>),
    /// A proxy, at which TCP ends.
    Split(Box<SplitEnd>),
    /// Two links meet here, and every packet goes on.
    Nothing,
}

/// What joins two seats.
#[derive(Debug)]
pub(crate) enum Joint {
    /// Towards the second seat, and back.
    Pipes([Box<Pipe<Packet>>; 2]),
    /// A line to each server, or nothing where there is none.
    ServerLines,
}

pub(crate) type Topology = topology::Topology<Occupant, Joint>;

/// One direction of a link, between places in [`Laid::seats`].
#[derive(Debug)]
pub(super) struct Way {
    pub from: usize,
    pub to: usize,
    pub carrier: Carrier,
}

/// By place, and by the seat that a packet is addressed to: the way that it takes.
pub(super) type Routes = Vec<[Option<usize>; Seat::ALL.len()]>;

/// A topology that is right, with a carrier for each direction of its links.
#[derive(Debug)]
pub(super) struct Laid {
    pub seats: Vec<(Seat, Occupant)>,
    /// In the order of the links, each link's two directions together.
    pub ways: Vec<Way>,
    pub routes: Routes,
}

pub(super) fn lay(topology: Topology) -> Result<Laid, TopologyError> {
    let Checked {
        seats,
        links,
        routes,
    } = topology.check()?;
    let mut ways = Vec::new();
    for ([first, second], joint) in links {
        let carriers = match joint {
            Joint::Pipes(pipes) => pipes.map(Carrier::Pipe),
            Joint::ServerLines => {
                [ServerLines::default(), ServerLines::default()].map(Carrier::ServerLines)
            }
        };
        for ((from, to), carrier) in [(first, second), (second, first)].into_iter().zip(carriers) {
            ways.push(Way { from, to, carrier });
        }
    }
    let number = |way: topology::Way| 2 * way.link + usize::from(way.back);
    let routes = routes
        .into_iter()
        .map(|each| each.map(|way| way.map(number)));
    Ok(Laid {
        seats,
        ways,
        routes: routes.collect(),
    })
}
