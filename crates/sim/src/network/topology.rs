//! The description of a network: who sits where, and what joins the seats. It is data, checked before anything is built.

use super::lines::Lines;
use super::link::Carrier;
use crate::node::Node;
use crate::node::host::Host;
use crate::packet::Packet;
use crate::seat::Seat;
use bentpipe_path::Pipe;
use core::fmt;

/// What sits on a seat.
#[derive(Debug)]
pub(crate) enum Occupant {
    Host(Box<Host>),
    /// A box on the way.
    Box(Box<dyn Node>),
    /// Two links meet here, and every packet goes on.
    Nothing,
}

/// What joins two seats.
#[derive(Debug)]
pub(crate) enum Joint {
    /// Towards the second seat, and back.
    Pipes([Box<Pipe<Packet>>; 2]),
    /// A line to each server, or nothing where there is none.
    Lines,
}

#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub seats: Vec<(Seat, Occupant)>,
    pub links: Vec<(Seat, Seat, Joint)>,
}

/// What is wrong with a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    TakenTwice(Seat),
    Empty { seat: Seat, joined_to: Seat },
    Loop(Seat, Seat),
    Apart(Seat, Seat),
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TakenTwice(seat) => {
                let seat = seat.name();
                write!(f, "the seat `{seat}` is taken twice; it has room for one")
            }
            Self::Empty { seat, joined_to } => {
                let (seat, to) = (seat.name(), joined_to.name());
                write!(f, "`{to}` is linked to `{seat}`, where nothing sits")
            }
            Self::Loop(a, b) => {
                let (a, b) = (a.name(), b.name());
                write!(
                    f,
                    "the link from `{a}` to `{b}` closes a loop; there may be one way between two seats"
                )
            }
            Self::Apart(a, b) => {
                let (a, b) = (a.name(), b.name());
                write!(f, "no links lead from `{a}` to `{b}`")
            }
        }
    }
}

impl core::error::Error for TopologyError {}

/// One direction of a link, between places in [`Topology::seats`].
#[derive(Debug)]
pub(super) struct Way {
    pub from: usize,
    pub to: usize,
    pub carrier: Carrier,
}

/// By place, and by the seat that a packet is addressed to: the way that it takes.
pub(super) type Routes = Vec<[Option<usize>; Seat::ALL.len()]>;

/// A topology that is right.
#[derive(Debug)]
pub(super) struct Checked {
    pub seats: Vec<(Seat, Occupant)>,
    /// In the order of the links, each link's two directions together.
    pub ways: Vec<Way>,
    pub routes: Routes,
}

impl Topology {
    pub(super) fn check(self) -> Result<Checked, TopologyError> {
        for (place, (seat, _)) in self.seats.iter().enumerate() {
            if self.seats[..place].iter().any(|(other, _)| other == seat) {
                return Err(TopologyError::TakenTwice(*seat));
            }
        }
        let place_of = |seat: Seat| self.seats.iter().position(|(taken, _)| *taken == seat);
        let mut ways = Vec::new();
        // Which seats are joined so far: those of one number.
        let mut group: Vec<usize> = (0..self.seats.len()).collect();
        for (first, second, joint) in self.links {
            let empty = |seat, joined_to| TopologyError::Empty { seat, joined_to };
            let from = place_of(first).ok_or(empty(first, second))?;
            let to = place_of(second).ok_or(empty(second, first))?;
            let (kept, other) = (group[from], group[to]);
            if kept == other {
                return Err(TopologyError::Loop(first, second));
            }
            for each in &mut group {
                if *each == other {
                    *each = kept;
                }
            }
            let carriers = match joint {
                Joint::Pipes(pipes) => pipes.map(Carrier::Pipe),
                Joint::Lines => [Lines::default(), Lines::default()].map(Carrier::Lines),
            };
            for ((from, to), carrier) in [(from, to), (to, from)].into_iter().zip(carriers) {
                ways.push(Way { from, to, carrier });
            }
        }
        if let Some(apart) = group.iter().position(|&each| each != group[0]) {
            return Err(TopologyError::Apart(self.seats[0].0, self.seats[apart].0));
        }
        let routes = routes(&self.seats, &ways);
        Ok(Checked {
            seats: self.seats,
            ways,
            routes,
        })
    }
}

/// Without loops there is one way from each seat to each other.
fn routes(seats: &[(Seat, Occupant)], ways: &[Way]) -> Routes {
    let mut routes: Routes = vec![[None; Seat::ALL.len()]; seats.len()];
    for (target, (seat, _)) in seats.iter().enumerate() {
        let mut reached = vec![target];
        let mut next = 0;
        while let Some(&place) = reached.get(next) {
            next += 1;
            for (number, way) in ways.iter().enumerate() {
                if way.to == place && !reached.contains(&way.from) {
                    routes[way.from][*seat as usize] = Some(number);
                    reached.push(way.from);
                }
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(seats: &[Seat], links: &[(Seat, Seat)]) -> Topology {
        let seat = |&seat: &Seat| (seat, Occupant::Nothing);
        let link = |&(first, second): &(Seat, Seat)| (first, second, Joint::Lines);
        Topology {
            seats: seats.iter().map(seat).collect(),
            links: links.iter().map(link).collect(),
        }
    }

    use Seat::{Client, Far, Near, Server};

    #[test]
    fn a_chain_routes_each_packet_towards_its_seat() {
        let chain = topology(&[Client, Near, Server], &[(Near, Server), (Client, Near)]);
        let checked = chain.check().expect("a chain");
        // Ways: near to server, server to near, client to near, near to client.
        assert_eq!(checked.routes[0][Server as usize], Some(2));
        assert_eq!(checked.routes[1][Server as usize], Some(0));
        assert_eq!(checked.routes[2][Client as usize], Some(1));
        assert_eq!(checked.routes[1][Client as usize], Some(3));
        assert_eq!(checked.routes[0][Far as usize], None);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_lab() {
        let said = |seats: &[Seat], links: &[(Seat, Seat)]| {
            let error = topology(seats, links).check().expect_err("wrong");
            error.to_string()
        };
        assert_eq!(
            said(&[Client, Near, Near], &[]),
            "the seat `near` is taken twice; it has room for one"
        );
        assert_eq!(
            said(&[Client, Server], &[(Client, Near)]),
            "`client` is linked to `near`, where nothing sits"
        );
        assert_eq!(
            said(
                &[Client, Near, Server],
                &[(Client, Near), (Near, Server), (Client, Server)]
            ),
            "the link from `client` to `server` closes a loop; there may be one way between two seats"
        );
        assert_eq!(
            said(&[Client, Near, Server], &[(Client, Near)]),
            "no links lead from `client` to `server`"
        );
    }
}
