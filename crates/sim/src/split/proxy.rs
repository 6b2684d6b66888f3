//! The proxy at near or at far: it takes every TCP connection that would pass for its own.

use super::relay::{Call, Relay};
use super::{Facing, SplitFigures};
use crate::node::{Node, Outbox};
use crate::packet::{Address, Body, ConnectionId, Packet};
use crate::seat::{Seat, lies_across};
use bentpipe_base::{EventQueue, Nanos, Time};
use bentpipe_tcp::segment::{Segment, flag};
use bentpipe_tcp::{Config, Socket};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Proxy {
    seat: Seat,
    peer: Seat,
    /// By [`Facing`].
    settings: [Arc<Config>; 2],
    mtu: u32,
    /// By the connection's place in the slab.
    relays: Vec<Option<Box<Relay>>>,
    /// By place: connections of an earlier use are over.
    first_generation: Vec<u32>,
    /// A bit for each place: whether something has happened to it since the last sample.
    touched: Vec<u64>,
    timers: EventQueue<(ConnectionId, Facing)>,
    tcp: bentpipe_tcp::Outbox,
    buffered_bytes: u64,
    /// Of what has been forgotten, and the maximum.
    figures: SplitFigures,
}

impl Proxy {
    pub fn new([seat, peer]: [Seat; 2], settings: [Arc<Config>; 2], mtu: u32) -> Self {
        Self {
            seat,
            peer,
            settings,
            mtu,
            relays: Vec::new(),
            first_generation: Vec::new(),
            touched: Vec::new(),
            timers: EventQueue::default(),
            tcp: bentpipe_tcp::Outbox::default(),
            buffered_bytes: 0,
            figures: SplitFigures::default(),
        }
    }

    /// How long the machine takes to look at what has come: the median.
    pub fn wakeup(&self) -> Nanos {
        self.settings[Facing::Host as usize].wakeup_ns
    }

    /// Whether the path lies between this proxy and a seat.
    pub fn is_across(&self, to: Seat) -> bool {
        lies_across(self.seat, self.peer, to)
    }

    fn relay(&self, id: ConnectionId) -> Option<&Relay> {
        let relay = self.relays.get(id.index as usize)?.as_deref()?;
        (relay.id == id).then_some(relay)
    }

    pub fn socket(&self, id: ConnectionId, facing: Facing) -> Option<&Socket> {
        self.relay(id)?.leg(facing).map(|leg| &leg.socket)
    }

    /// Of 64 places in the slab, those to which something has happened since the last sample.
    pub fn touched(&self, word: usize) -> u64 {
        self.touched.get(word).copied().unwrap_or(0)
    }

    /// A sample is over.
    pub fn forget_touched(&mut self) {
        self.touched.fill(0);
    }

    /// The next sample is to look at this place in the slab.
    pub fn touch(&mut self, index: u32) {
        let word = index as usize / 64;
        if self.touched.len() <= word {
            self.touched.resize(word + 1, 0);
        }
        self.touched[word] |= 1 << (index % 64);
    }

    /// Forgets a connection; packets still under way find nobody.
    pub fn release(&mut self, id: ConnectionId) {
        let place = id.index as usize;
        if self.first_generation.len() <= place {
            self.first_generation.resize(place + 1, 0);
        }
        self.first_generation[place] = id.generation + 1;
        if self.relay(id).is_some()
            && let Some(relay) = self.relays[place].take()
        {
            self.buffered_bytes -= relay.buffered_bytes();
            self.figures = self.figures.with(&relay, self.seat);
            self.touch(id.index);
        }
    }

    /// So far.
    pub fn figures(&self) -> SplitFigures {
        let relays = self.relays.iter().flatten();
        relays.fold(self.figures, |sum, relay| sum.with(relay, self.seat))
    }

    fn on_segment(
        &mut self,
        now: Time,
        id: ConnectionId,
        address: Address,
        segment: &Segment,
        out: &mut Outbox,
    ) {
        let facing = if self.is_across(address.to) {
            Facing::Host
        } else {
            Facing::Path
        };
        let place = id.index as usize;
        let first = self.first_generation.get(place).copied().unwrap_or(0);
        let opens = segment.has(flag::SYN) && !segment.has(flag::ACK) && id.generation >= first;
        if self.relay(id).is_none() && opens {
            if self.relays.len() <= place {
                self.relays.resize_with(place + 1, || None);
            }
            let settings = self.settings.clone();
            let mut call = Call {
                now,
                out,
                tcp: &mut self.tcp,
                mtu: self.mtu,
            };
            let relay = Relay::accept(id, facing, address, segment, settings, &mut call);
            self.relays[place] = relay.map(Box::new);
            self.settle(id, 0);
        } else {
            self.act(now, id, out, |relay, call| {
                relay.on_segment(facing, segment, call);
            });
        }
    }

    fn act(
        &mut self,
        now: Time,
        id: ConnectionId,
        out: &mut Outbox,
        act: impl FnOnce(&mut Relay, &mut Call<'_>),
    ) {
        let relay = self.relays.get_mut(id.index as usize);
        let Some(relay) = relay.and_then(Option::as_deref_mut) else {
            return;
        };
        if relay.id != id {
            return;
        }
        let before = relay.buffered_bytes();
        let mut call = Call {
            now,
            out,
            tcp: &mut self.tcp,
            mtu: self.mtu,
        };
        act(relay, &mut call);
        self.settle(id, before);
    }

    /// Sees that the next timers of a relay are among the timers, and counts what it holds.
    fn settle(&mut self, id: ConnectionId, buffered_before: u64) {
        let relay = self.relays.get_mut(id.index as usize);
        let Some(relay) = relay.and_then(Option::as_deref_mut) else {
            return;
        };
        for facing in Facing::BOTH {
            if let Some(leg) = relay.leg_mut(facing)
                && let Some(at) = leg.socket.next_timer()
                && at < leg.scheduled
            {
                leg.scheduled = at;
                self.timers.push(at, (id, facing));
            }
        }
        self.buffered_bytes = self.buffered_bytes + relay.buffered_bytes() - buffered_before;
        let most = &mut self.figures.buffered_bytes_max;
        *most = self.buffered_bytes.max(*most);
        self.touch(id.index);
    }
}

impl SplitFigures {
    /// With a connection's, at this seat.
    fn with(mut self, relay: &Relay, seat: Seat) -> Self {
        self.connections += 1;
        if relay.failed {
            *(if relay.carried {
                &mut self.resets
            } else {
                &mut self.connect_failures
            }) += 1;
        }
        for from in Facing::BOTH {
            let Some(leg) = relay.leg(from) else { continue };
            // From the path it goes on to the client at near, and to the servers at far.
            if (from == Facing::Path) == (seat == Seat::Near) {
                self.down_bytes += leg.passed;
            } else {
                self.up_bytes += leg.passed;
            }
            if from == Facing::Path {
                self.retransmits += leg.socket.retransmits();
            }
        }
        self
    }
}

impl Node for Proxy {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match &packet.body {
            Body::Tcp(_) if packet.corrupted => {}
            Body::Tcp(segment) => {
                self.on_segment(now, packet.connection, packet.address, segment, out);
            }
            Body::Echo(_) | Body::Datagram(_) | Body::Bytes(_) => out.send(now, packet),
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next_time()
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        let Some((at, (id, facing))) = self.timers.pop() else {
            return;
        };
        self.act(now, id, out, |relay, call| {
            let Some(leg) = relay.leg_mut(facing) else {
                return;
            };
            if leg.scheduled > at {
                return;
            }
            leg.scheduled = Time::NEVER;
            if leg.socket.next_timer().is_some_and(|at| at <= now) {
                relay.on_timer(facing, call);
            }
        });
    }
}
