//! A connection at a proxy: its two sockets, and what goes from one to the other.

use super::{BLOCK, Facing};
use crate::node::Outbox;
use crate::packet::{Address, Body, ConnectionId, Packet};
use bentpipe_base::Time;
use bentpipe_tcp::segment::Segment;
use bentpipe_tcp::{Config, Notice, Socket};
use std::sync::Arc;

/// What a relay acts with.
pub(super) struct Call<'a> {
    pub now: Time,
    pub out: &'a mut Outbox,
    /// Empty between two calls of a socket.
    pub tcp: &'a mut bentpipe_tcp::Outbox,
    pub mtu: u32,
}

#[derive(Debug)]
pub(super) struct Leg {
    pub socket: Socket,
    /// Of the packets that it sends.
    address: Address,
    /// The entry among the timers that will look at the socket, if any.
    pub scheduled: Time,
    connected: bool,
    failed: bool,
    /// Payload read from it, and offered to the other.
    pub passed: u64,
    /// The other has been told that nothing more comes.
    end_passed: bool,
}

#[derive(Debug)]
pub(super) struct Relay {
    pub id: ConnectionId,
    /// Where the connection was opened from.
    opener: Facing,
    /// Of the SYN that opened it.
    address: Address,
    legs: [Option<Leg>; 2],
    settings: [Arc<Config>; 2],
    /// One leg has failed, and the other has been told.
    pub failed: bool,
    /// Both were connected.
    pub carried: bool,
}

impl Relay {
    /// A SYN has come. `None`: its socket cannot be made.
    pub fn accept(
        id: ConnectionId,
        opener: Facing,
        address: Address,
        syn: &Segment,
        settings: [Arc<Config>; 2],
        call: &mut Call<'_>,
    ) -> Option<Self> {
        let mut relay = Self {
            id,
            opener,
            address,
            legs: [None, None],
            settings,
            failed: false,
            carried: false,
        };
        let random = call.out.random();
        let own = &relay.settings[opener as usize];
        let socket = Socket::accept(syn, own, call.mtu, random, call.now, call.tcp);
        relay.open(opener, socket?, call);
        relay.carry_on(call);
        Some(relay)
    }

    fn open(&mut self, facing: Facing, mut socket: Socket, call: &mut Call<'_>) {
        socket.read_on_request();
        socket.set_nodelay();
        let address = if facing == self.opener {
            self.address.back()
        } else {
            self.address
        };
        self.legs[facing as usize] = Some(Leg {
            socket,
            address,
            scheduled: Time::NEVER,
            connected: false,
            failed: false,
            passed: 0,
            end_passed: false,
        });
        self.send(facing, call);
    }

    pub fn leg(&self, facing: Facing) -> Option<&Leg> {
        self.legs[facing as usize].as_ref()
    }

    pub fn leg_mut(&mut self, facing: Facing) -> Option<&mut Leg> {
        self.legs[facing as usize].as_mut()
    }

    fn socket(&self, facing: Facing) -> Option<&Socket> {
        self.leg(facing).map(|leg| &leg.socket)
    }

    /// A segment has come to one of its sockets.
    pub fn on_segment(&mut self, facing: Facing, segment: &Segment, call: &mut Call<'_>) {
        self.act(facing, call, |socket, now, tcp| {
            socket.on_segment(now, segment, tcp);
        });
        self.carry_on(call);
    }

    /// A timer of one of its sockets is due.
    pub fn on_timer(&mut self, facing: Facing, call: &mut Call<'_>) {
        self.act(facing, call, Socket::on_timer);
        self.carry_on(call);
    }

    /// What to do with a socket, and what it leaves.
    fn act<R>(
        &mut self,
        facing: Facing,
        call: &mut Call<'_>,
        act: impl FnOnce(&mut Socket, Time, &mut bentpipe_tcp::Outbox) -> R,
    ) -> Option<R> {
        let leg = self.legs[facing as usize].as_mut()?;
        let result = act(&mut leg.socket, call.now, call.tcp);
        self.send(facing, call);
        Some(result)
    }

    fn send(&mut self, facing: Facing, call: &mut Call<'_>) {
        let Some(leg) = self.legs[facing as usize].as_mut() else {
            return;
        };
        for segment in call.tcp.packets.drain(..) {
            let packet = Packet::new(self.id, leg.address, Body::Tcp(segment));
            call.out.send(call.now, packet);
        }
        for notice in call.tcp.notices.drain(..) {
            match notice {
                Notice::Connected => leg.connected = true,
                Notice::Closed(false) => leg.failed = true,
                _ => {}
            }
        }
    }

    /// Whatever follows from what has happened to the sockets.
    fn carry_on(&mut self, call: &mut Call<'_>) {
        let has =
            |relay: &Self, facing, what: fn(&Leg) -> bool| relay.leg(facing).is_some_and(what);
        if let Some(failed) = Facing::BOTH
            .into_iter()
            .find(|facing| has(self, *facing, |leg| leg.failed))
        {
            if !self.failed && !self.is_over() {
                self.failed = true;
                self.act(failed.other(), call, Socket::abort);
            }
            return;
        }
        let onward = self.opener.other();
        if self.leg(onward).is_none() && has(self, self.opener, |leg| leg.connected) {
            let random = call.out.random();
            let settings = &self.settings[onward as usize];
            let socket = Socket::connect(settings, call.mtu, random, call.now, call.tcp);
            if let Some(socket) = socket {
                self.open(onward, socket, call);
            }
        }
        if Facing::BOTH
            .into_iter()
            .all(|facing| has(self, facing, |leg| leg.connected))
        {
            self.carried = true;
            for from in Facing::BOTH {
                self.relay(from, call);
            }
            self.check_invariants();
        }
    }

    /// Both ends have been passed on: the proxy has closed both sockets, and hears of nothing more.
    fn is_over(&self) -> bool {
        let mut legs = self.legs.iter().flatten();
        legs.all(|leg| leg.end_passed)
    }

    /// Passes on what has come to one socket, as far as the other takes it.
    fn relay(&mut self, from: Facing, call: &mut Call<'_>) {
        let to = from.other();
        while self.socket(from).is_some_and(|socket| socket.unread() > 0)
            && self
                .socket(to)
                .is_some_and(|socket| socket.unwritten() == 0)
        {
            let read = self.act(from, call, |socket, now, tcp| socket.read(now, BLOCK, tcp));
            let bytes = read.unwrap_or(0);
            if let Some(leg) = self.leg_mut(from) {
                leg.passed += bytes;
            }
            self.act(to, call, |socket, now, tcp| socket.write(now, bytes, tcp));
        }
        if let Some(leg) = self.leg_mut(from)
            && leg.socket.has_read_all()
            && !leg.end_passed
        {
            leg.end_passed = true;
            self.act(to, call, Socket::close);
        }
    }

    /// Payload taken from one side and not acknowledged by the other.
    pub fn buffered_bytes(&self) -> u64 {
        if self.failed {
            return 0;
        }
        let of = |leg: &Leg| leg.socket.unread() + leg.socket.unacknowledged();
        let legs = self.legs.iter().flatten();
        legs.filter(|leg| !leg.failed).map(of).sum()
    }

    /// Payload that came from one socket left by the other, in order, save what is still held. There are no bytes here, only
    /// their numbers, so this is all that could be wrong.
    fn check_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        for from in Facing::BOTH {
            let (Some(source), Some(sink)) = (self.leg(from), self.leg(from.other())) else {
                continue;
            };
            let written = sink.socket.acknowledged() + sink.socket.unacknowledged();
            assert_eq!(source.socket.bytes_read(), source.passed, "{self:?}");
            assert_eq!(written, source.passed, "bytes were lost or made: {self:?}");
            assert!(
                sink.socket.unwritten() <= BLOCK,
                "too much is held: {self:?}"
            );
            assert!(
                !source.end_passed || source.socket.unread() == 0,
                "the end was passed on before the last byte: {self:?}"
            );
        }
    }
}
