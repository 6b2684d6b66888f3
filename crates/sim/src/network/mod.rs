//! The network: a table of nodes and links, and the loop over virtual time that carries packets between them. What a node
//! does is the node's business, and how long a way takes is the link's.
//!
//! Each direction of a link and each node has one place in a list of next times. A step takes the earliest; of equal times the
//! first in the list, so the path's directions come before other links, and links before nodes. Nothing is
//! scheduled in any other way.

pub(crate) mod capture;
mod lines;
mod link;
pub(crate) mod topology;

use crate::clock::Clock;
use crate::node::host::Host;
use crate::node::{Node, Outbox};
use crate::packet::{Packet, ServerId};
use crate::seat::Seat;
use crate::split::Proxy;
use bentpipe_base::time::Time;
use bentpipe_base::topology::TopologyError;
use bentpipe_path::{Pipe, Terrestrial};
use bentpipe_tables::pcapng::InterfaceDirection;
use capture::CaptureRecorder;
use link::Carrier;
use topology::{Laid, Occupant, Routes, Topology, Way, lay};

#[derive(Debug)]
struct Seated {
    occupant: Occupant,
    clock: Clock,
}

/// Where a packet enters and leaves a link, and whose capture shows it there.
#[derive(Debug)]
struct WatchedWay {
    way: Way,
    /// At the way's two ends.
    captured_as: [Option<Seat>; 2],
}

#[derive(Debug)]
pub(crate) struct Network {
    now: Time,
    seated: Vec<Seated>,
    links: Vec<WatchedWay>,
    routes: Routes,
    /// Of the links, then of the nodes.
    next: Vec<Time>,
    /// By [`Seat`].
    places: [Option<usize>; Seat::ALL.len()],
    pub out: Outbox,
    pub recorder: CaptureRecorder,
}

impl Network {
    /// `start`: the time at which it stands.
    pub fn new(topology: Topology, seed: u64, start: Time) -> Result<Self, TopologyError> {
        let Laid {
            seats,
            ways,
            routes,
        } = lay(topology)?;
        let mut places = [None; Seat::ALL.len()];
        let mut seated = Vec::new();
        for (seat, occupant) in seats {
            places[seat as usize] = Some(seated.len());
            let clock = match &occupant {
                Occupant::Host(host) => Clock::new(host.config().tcp.wakeup_ns, seed, seat.name()),
                Occupant::Split(end) => Clock::new(end.proxy.wakeup(), seed, seat.name()),
                Occupant::Box(_) | Occupant::Nothing => Clock::immediate(),
            };
            seated.push(Seated { occupant, clock });
        }
        let links = ways.into_iter().map(|way| WatchedWay {
            way,
            captured_as: [None; 2],
        });
        let links: Vec<_> = links.collect();
        Ok(Self {
            now: start,
            next: vec![Time::NEVER; links.len() + seated.len()],
            seated,
            links,
            routes,
            places,
            out: Outbox::new(seed),
            recorder: CaptureRecorder::default(),
        })
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Moves the time on where nothing happens.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// When the next step is due, and whose it is: the first of the earliest.
    fn next_step(&self) -> (Time, usize) {
        let mut first = (Time::NEVER, 0);
        for (place, &at) in self.next.iter().enumerate() {
            if at < first.0 {
                first = (at, place);
            }
        }
        first
    }

    /// Does what is due next if that is not after `until`, and says whether there was such a step.
    pub fn step(&mut self, until: Time) -> bool {
        let (at, place) = self.next_step();
        if at > until || at == Time::NEVER {
            return false;
        }
        self.now = self.now.max(at);
        if place < self.links.len() {
            let carrier = &mut self.links[place].way.carrier;
            let packet = carrier.pop(at);
            self.next[place] = carrier.next_time();
            if let Some(packet) = packet {
                self.arrive(place, packet);
            }
        } else {
            let place = place - self.links.len();
            let Seated { occupant, clock } = &mut self.seated[place];
            let now = clock.present(self.now);
            match occupant {
                Occupant::Host(host) => host.on_timeout(now, &mut self.out),
                Occupant::Box(node) => node.on_timeout(now, &mut self.out),
                Occupant::Split(end) => end.on_timeout(now, &mut self.out),
                Occupant::Nothing => {}
            }
            self.carry(place);
        }
        true
    }

    /// A packet comes to the end of a way.
    #[inline]
    fn arrive(&mut self, link: usize, packet: Packet) {
        let WatchedWay { way, captured_as } = &self.links[link];
        let place = way.to;
        let Seated { occupant, clock } = &mut self.seated[place];
        let now = clock.arrival(self.now);
        if let Some(at) = captured_as[1] {
            self.recorder.note(now, at, InterfaceDirection::In, &packet);
        }
        match occupant {
            Occupant::Host(host) => host.handle(now, packet, &mut self.out),
            Occupant::Box(node) => node.handle(now, packet, &mut self.out),
            Occupant::Split(end) => end.handle(now, packet, &mut self.out),
            Occupant::Nothing => {
                if let Some(link) = self.send(place, now, packet) {
                    self.next[link] = self.links[link].way.carrier.next_time();
                }
                return;
            }
        }
        self.carry(place);
    }

    /// Puts a packet on the way that leads from a node to the packet's seat. To a seat where nobody sits, or to the sender's
    /// own, there is none: such a packet is lost. Returns the link, which is then to be asked for its next time.
    #[inline]
    fn send(&mut self, place: usize, at: Time, packet: Packet) -> Option<usize> {
        let number = self.routes[place][packet.address.to as usize]?;
        let link = &mut self.links[number];
        if let Some(seat) = link.captured_as[0] {
            self.recorder
                .note(at, seat, InterfaceDirection::Out, &packet);
        }
        link.way.carrier.push(at, packet);
        Some(number)
    }

    /// Sends what a node left, and asks the links that it took and the node for their next times.
    #[inline]
    fn carry(&mut self, place: usize) {
        if !self.out.packets.is_empty() {
            let mut packets = core::mem::take(&mut self.out.packets);
            let mut taken = None;
            for (at, packet) in packets.drain(..) {
                let link = self.send(place, at, packet);
                if let Some(other) = taken.filter(|_| taken != link) {
                    self.next[other] = self.links[other].way.carrier.next_time();
                }
                taken = link;
            }
            if let Some(last) = taken {
                self.next[last] = self.links[last].way.carrier.next_time();
            }
            self.out.packets = packets;
        }
        let next = match &self.seated[place].occupant {
            Occupant::Host(host) => host.poll_timeout(),
            Occupant::Box(node) => node.poll_timeout(),
            Occupant::Split(end) => end.poll_timeout(),
            Occupant::Nothing => None,
        };
        self.next[self.links.len() + place] = next.unwrap_or(Time::NEVER);
    }

    /// The host at a seat.
    pub fn host(&self, seat: Seat) -> Option<&Host> {
        match &self.seated[self.places[seat as usize]?].occupant {
            Occupant::Host(host) => Some(host),
            Occupant::Box(_) | Occupant::Split(_) | Occupant::Nothing => None,
        }
    }

    pub fn host_mut(&mut self, seat: Seat) -> Option<&mut Host> {
        match &mut self.seated[self.places[seat as usize]?].occupant {
            Occupant::Host(host) => Some(host),
            Occupant::Box(_) | Occupant::Split(_) | Occupant::Nothing => None,
        }
    }

    /// The proxy at a seat.
    pub fn proxy(&self, seat: Seat) -> Option<&Proxy> {
        match &self.seated[self.places[seat as usize]?].occupant {
            Occupant::Split(end) => Some(&end.proxy),
            Occupant::Host(_) | Occupant::Box(_) | Occupant::Nothing => None,
        }
    }

    pub fn proxy_mut(&mut self, seat: Seat) -> Option<&mut Proxy> {
        match &mut self.seated[self.places[seat as usize]?].occupant {
            Occupant::Split(end) => Some(&mut end.proxy),
            Occupant::Host(_) | Occupant::Box(_) | Occupant::Nothing => None,
        }
    }

    /// Lets an application act on a host, at the host's present.
    pub fn at_host(&mut self, seat: Seat, act: impl FnOnce(&mut Host, Time, &mut Outbox)) {
        let Some(place) = self.places[seat as usize] else {
            return;
        };
        let now = self.seated[place].clock.present(self.now);
        if let Occupant::Host(host) = &mut self.seated[place].occupant {
            act(host, now, &mut self.out);
            self.carry(place);
        }
    }

    /// Sends a packet from the seat that it names.
    pub fn inject(&mut self, packet: Packet) {
        if let Some(place) = self.places[packet.address.from as usize] {
            self.out.send(self.now, packet);
            self.carry(place);
        }
    }

    /// A host's present, which is later than the network's while it wakes.
    pub fn present(&self, seat: Seat) -> Time {
        let clock = self.places[seat as usize].map(|place| &self.seated[place].clock);
        clock.map_or(self.now, |clock| clock.present(self.now))
    }

    /// The pipe of the link that leads from one seat to the other.
    pub fn pipe(&mut self, from: Seat, to: Seat) -> Option<&mut Pipe<Packet>> {
        let [from, to] = [from, to].map(|seat| self.places[seat as usize]);
        let link = self
            .links
            .iter_mut()
            .find(|link| Some(link.way.from) == from && Some(link.way.to) == to)?;
        match &mut link.way.carrier {
            Carrier::Pipe(pipe) => Some(pipe),
            Carrier::ServerLines(_) => None,
        }
    }

    /// A server behind these delays, towards the servers and back. `None` where there are no lines, or too many servers.
    pub fn add_server(&mut self, there: Terrestrial, back: Terrestrial) -> Option<ServerId> {
        let far = self.places[Seat::Far as usize];
        let mut delays = [Some(there), Some(back)];
        let mut server = None;
        for link in &mut self.links {
            let backwards = Some(link.way.to) == far;
            if let Carrier::ServerLines(lines) = &mut link.way.carrier
                && (backwards || Some(link.way.from) == far)
                && let Some(delay) = delays[usize::from(backwards)].take()
            {
                server = Some(lines.add(delay)?);
            }
        }
        server
    }

    /// Shows a capture what passes at one end of the link from `at` to `towards`, under the name of `seat`.
    pub fn capture(&mut self, at: Seat, towards: Seat, seat: Seat) {
        let [at, towards] = [at, towards].map(|seat| self.places[seat as usize]);
        for link in &mut self.links {
            let ends = (Some(link.way.from), Some(link.way.to));
            if ends == (at, towards) {
                link.captured_as[0] = Some(seat);
            } else if ends == (towards, at) {
                link.captured_as[1] = Some(seat);
            }
        }
    }
}
