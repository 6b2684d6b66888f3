//! Who sits where between a client and its servers, and what joins the seats: `client - near = path = far - server`.
//!
//! A topology is data, checked before anything is built from it. The simulator puts nodes on its seats and pipes on its links;
//! the live engine makes a network namespace of each seat and devices of each link.

use crate::Direction;
use core::fmt;
use serde::Serialize;

/// A place in the network, in their order along the way. Client and server are always taken, by hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    Client,
    /// Between the client and the path.
    Near,
    /// Between the path and the servers.
    Far,
    Server,
}

bentpipe_reading::read_words!(Seat {
    "client" => Client,
    "near" => Near,
    "far" => Far,
    "server" => Server,
});

impl Seat {
    pub const ALL: [Self; 4] = [Self::Client, Self::Near, Self::Far, Self::Server];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Near => "near",
            Self::Far => "far",
            Self::Server => "server",
        }
    }
}

/// What joins two seats of the standard topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The long path.
    Path,
    /// Between the client and near.
    Lan,
    /// Between far and the servers.
    Terrestrial,
}

impl Link {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Lan => "lan",
            Self::Terrestrial => "terrestrial",
        }
    }

    /// What one direction of the link is called in reports, tables and seeds.
    pub const fn pipe_name(self, direction: Direction) -> &'static str {
        match (self, direction) {
            (Self::Path, direction) => direction.name(),
            (Self::Lan, Direction::Down) => "lan-down",
            (Self::Lan, Direction::Up) => "lan-up",
            (Self::Terrestrial, Direction::Down) => "terrestrial-down",
            (Self::Terrestrial, Direction::Up) => "terrestrial-up",
        }
    }
}

/// The standard topology: client and server, the path between them, and the seats at its two ends where something sits there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standard {
    pub near: bool,
    pub far: bool,
}

/// A link with the seats at its two ends, the one on the server's side first.
pub type Joined<L> = (Seat, Seat, L);

impl Standard {
    /// The seats that are taken, in their order along the way.
    pub fn seats(self) -> impl Iterator<Item = Seat> {
        Seat::ALL.into_iter().filter(move |seat| match seat {
            Seat::Client | Seat::Server => true,
            Seat::Near => self.near,
            Seat::Far => self.far,
        })
    }

    /// The path first.
    pub fn links(self) -> impl Iterator<Item = Joined<Link>> {
        let [far, near] = self.path_ends();
        let lan = self.near.then_some((Seat::Near, Seat::Client, Link::Lan));
        let terrestrial = self
            .far
            .then_some((Seat::Server, Seat::Far, Link::Terrestrial));
        [(far, near, Link::Path)]
            .into_iter()
            .chain(lan)
            .chain(terrestrial)
    }

    /// The seats at the path's ends, the one on the server's side first.
    pub fn path_ends(self) -> [Seat; 2] {
        let far = if self.far { Seat::Far } else { Seat::Server };
        let near = if self.near { Seat::Near } else { Seat::Client };
        [far, near]
    }
}

/// What sits on seats (`N`) and what joins them (`L`).
#[derive(Debug)]
pub struct Topology<N, L> {
    pub seats: Vec<(Seat, N)>,
    pub links: Vec<Joined<L>>,
}

impl<N, L> Default for Topology<N, L> {
    fn default() -> Self {
        Self {
            seats: Vec::new(),
            links: Vec::new(),
        }
    }
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

/// One direction of a link: its number in [`Checked::links`], and whether it leads from the link's second seat to its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub link: usize,
    pub back: bool,
}

/// A topology that is right.
#[derive(Debug)]
pub struct Checked<N, L> {
    pub seats: Vec<(Seat, N)>,
    /// The places of its two ends in `seats`, and what joins them.
    pub links: Vec<([usize; 2], L)>,
    /// By place in `seats`, and by the seat that a packet is addressed to: the way that it takes.
    pub routes: Vec<[Option<Way>; Seat::ALL.len()]>,
}

impl<N, L> Topology<N, L> {
    pub fn check(self) -> Result<Checked<N, L>, TopologyError> {
        for (place, (seat, _)) in self.seats.iter().enumerate() {
            if self.seats[..place].iter().any(|(other, _)| other == seat) {
                return Err(TopologyError::TakenTwice(*seat));
            }
        }
        let place_of = |seat: Seat| self.seats.iter().position(|(taken, _)| *taken == seat);
        let mut links = Vec::new();
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
            links.push(([from, to], joint));
        }
        if let Some(apart) = group.iter().position(|&each| each != group[0]) {
            return Err(TopologyError::Apart(self.seats[0].0, self.seats[apart].0));
        }
        let routes = routes(&self.seats, &links);
        Ok(Checked {
            seats: self.seats,
            links,
            routes,
        })
    }
}

/// Without loops there is one way from each seat to each other.
fn routes<N, L>(
    seats: &[(Seat, N)],
    links: &[([usize; 2], L)],
) -> Vec<[Option<Way>; Seat::ALL.len()]> {
    let mut routes = vec![[None; Seat::ALL.len()]; seats.len()];
    for (target, (seat, _)) in seats.iter().enumerate() {
        let mut reached = vec![target];
        let mut next = 0;
        while let Some(&place) = reached.get(next) {
            next += 1;
            for (link, ([first, second], _)) in links.iter().enumerate() {
                for (from, to, back) in [(*first, *second, false), (*second, *first, true)] {
                    if to == place && !reached.contains(&from) {
                        routes[from][*seat as usize] = Some(Way { link, back });
                        reached.push(from);
                    }
                }
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;
    use Seat::{Client, Far, Near, Server};

    fn topology(seats: &[Seat], links: &[(Seat, Seat)]) -> Topology<(), ()> {
        Topology {
            seats: seats.iter().map(|&seat| (seat, ())).collect(),
            links: links
                .iter()
                .map(|&(first, second)| (first, second, ()))
                .collect(),
        }
    }

    #[test]
    fn a_chain_routes_each_packet_towards_its_seat() {
        let chain = topology(&[Client, Near, Server], &[(Near, Server), (Client, Near)]);
        let checked = chain.check().expect("a chain");
        let way = |link, back| Some(Way { link, back });
        assert_eq!(checked.routes[0][Server as usize], way(1, false));
        assert_eq!(checked.routes[1][Server as usize], way(0, false));
        assert_eq!(checked.routes[2][Client as usize], way(0, true));
        assert_eq!(checked.routes[1][Client as usize], way(1, true));
        assert_eq!(checked.routes[0][Far as usize], None);
    }

    #[test]
    fn the_standard_topology_is_right_with_and_without_its_inner_seats() {
        for (near, far) in [(false, false), (true, false), (false, true), (true, true)] {
            let standard = Standard { near, far };
            let topology = Topology {
                seats: standard.seats().map(|seat| (seat, ())).collect(),
                links: standard.links().collect(),
            };
            let checked = topology.check().expect("it is right");
            assert_eq!(
                checked.seats.len(),
                2 + usize::from(near) + usize::from(far)
            );
            assert_eq!(checked.links[0].1, Link::Path);
            for (place, (seat, ())) in checked.seats.iter().enumerate() {
                for (other, ()) in &checked.seats {
                    let way = checked.routes[place][*other as usize];
                    assert_eq!(way.is_some(), seat != other, "{seat:?} to {other:?}");
                    // The first seat of a link is on the server's side, so what goes up goes back.
                    assert_eq!(way.is_some_and(|way| way.back), other > seat);
                }
            }
        }
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
