//! A connection of a host, which ends at a gateway, and the flow that goes on from there.

use crate::node::Outbox;
use crate::packet::{Address, Body, ConnectionId, Packet, ServerId};
use crate::seat::Seat;
use bentpipe_base::Time;
use bentpipe_gateway::{FlowId, ResetCode, Session, Target};
use bentpipe_tcp::{Notice, Socket};
use core::num::NonZeroU16;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::LazyLock;

/// What crosses between a socket and a flow at once, in bytes.
const BLOCK: u64 = 64 * 1024;
/// Made when it is needed: a module for browsers would have each of its bytes.
static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; BLOCK as usize]);

/// What a connection acts with.
pub(super) struct Call<'a> {
    pub now: Time,
    pub out: &'a mut Outbox,
    /// Empty between two calls of a socket.
    pub tcp: &'a mut bentpipe_tcp::Outbox,
    pub session: &'a mut Session,
    /// Payload that hosts were given in this call.
    pub delivered: u64,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct HostSide {
    pub id: ConnectionId,
    /// Of the packets that the gateway sends to the host.
    pub address: Address,
    pub socket: Socket,
    pub flow: Option<FlowId>,
    /// The entry among the timers that will look at the socket, if any.
    pub scheduled: Time,
    pub connected: bool,
    pub failed: bool,
    /// Each direction's end has been passed on.
    end_sent: bool,
    end_given: bool,
}

impl HostSide {
    pub fn new(id: ConnectionId, address: Address, mut socket: Socket) -> Self {
        socket.read_on_request();
        socket.set_nodelay();
        Self {
            id,
            address,
            socket,
            flow: None,
            scheduled: Time::NEVER,
            connected: false,
            failed: false,
            end_sent: false,
            end_given: false,
        }
    }

    /// Both directions have ended.
    pub fn is_over(&self) -> bool {
        self.end_sent && self.end_given
    }

    /// What to do with the socket, and what it leaves.
    pub fn act<R>(
        &mut self,
        call: &mut Call<'_>,
        act: impl FnOnce(&mut Socket, Time, &mut bentpipe_tcp::Outbox) -> R,
    ) -> R {
        let result = act(&mut self.socket, call.now, call.tcp);
        self.send(call);
        result
    }

    /// Sends what the socket has left.
    pub fn send(&mut self, call: &mut Call<'_>) {
        for segment in call.tcp.packets.drain(..) {
            let packet = Packet::new(self.id, self.address, Body::Tcp(segment));
            call.out.send(call.now, packet);
        }
        for notice in call.tcp.notices.drain(..) {
            match notice {
                Notice::Connected => self.connected = true,
                Notice::Closed(false) => self.failed = true,
                _ => {}
            }
        }
    }

    /// Passes on what can be passed on, in both directions.
    pub fn carry_on(&mut self, call: &mut Call<'_>) {
        let Some(flow) = self.flow else {
            return;
        };
        if self.failed {
            call.session.reset(flow, ResetCode::Host);
            self.flow = None;
            return;
        }
        if !self.connected {
            return;
        }
        while self.socket.unread() > 0 {
            let room = call.session.room(flow) as u64;
            if room == 0 {
                break;
            }
            let bytes = self.act(call, |socket, now, tcp| {
                socket.read(now, room.min(BLOCK), tcp)
            });
            let taken = call.session.write(flow, &ZEROS[..bytes as usize]);
            debug_assert_eq!(taken as u64, bytes, "there was room");
        }
        if self.socket.has_read_all() && !self.end_sent {
            self.end_sent = true;
            call.session.finish(flow);
        }
        while self.socket.unwritten() == 0 {
            let ready = call.session.readable(flow).len();
            if ready == 0 {
                break;
            }
            call.session.consume(flow, ready);
            call.delivered += ready as u64;
            self.act(call, |socket, now, tcp| {
                socket.write(now, ready as u64, tcp);
            });
        }
        let ended = call.session.has_ended(flow) || !call.session.has_flow(flow);
        if ended && !self.end_given {
            self.end_given = true;
            self.act(call, Socket::close);
        }
    }

    /// The other gateway has reset the flow.
    pub fn on_reset(&mut self, call: &mut Call<'_>) {
        self.flow = None;
        if !self.is_over() {
            self.act(call, Socket::abort);
        }
    }
}

/// A target stands for a connection: its number and its address, which have no IP addresses here.
pub(super) fn target(id: ConnectionId, address: Address) -> Target {
    let number = u128::from(id.index) << 32 | u128::from(id.generation);
    let ends = u128::from(address.from as u8) << 8 | u128::from(address.to as u8);
    let server = address.server.map_or(0, |it| it.0.get());
    let at = |number: u128, port| SocketAddr::new(Ipv6Addr::from_bits(number).into(), port);
    Target {
        destination: at(number, server),
        source: at(ends, 0),
    }
}

/// The connection that a target stands for. `None`: no gateway of this engine wrote it.
pub(super) fn connection(target: &Target) -> Option<(ConnectionId, Address)> {
    let bits = |address: SocketAddr| match address {
        SocketAddr::V6(v6) => Some(v6.ip().to_bits()),
        SocketAddr::V4(_) => None,
    };
    let (number, ends) = (bits(target.destination)?, bits(target.source)?);
    let seat = |number: u128| Seat::ALL.get(number as usize & 0xff).copied();
    let id = ConnectionId {
        index: (number >> 32) as u32,
        generation: number as u32,
    };
    let address = Address {
        from: seat(ends >> 8)?,
        to: seat(ends)?,
        server: NonZeroU16::new(target.destination.port()).map(ServerId),
    };
    Some((id, address))
}
