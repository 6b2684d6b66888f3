//! An end of the tunnel: the node at near or at far. It codes what goes across the path and decodes what has come.

use crate::node::{Node, Outbox};
use crate::packet::{Address, Body, Bytes, ConnectionId, Packet};
use crate::seat::{Seat, lies_across};
use crate::tunnel::Beside;
use bentpipe_base::Time;
use bentpipe_fec::{FrameKind, Sent};
use bentpipe_path::packet::Ecn;
use bentpipe_tunnel::Crossing;
use core::cell::RefCell;
use std::rc::Rc;

/// No workload's connection has this place.
const FRAMES: ConnectionId = ConnectionId {
    index: u32::MAX,
    generation: 0,
};

#[derive(Debug)]
pub(crate) struct TunnelEnd {
    seat: Seat,
    peer: Seat,
    outer_bytes: u32,
    outgoing: Rc<RefCell<Crossing<Packet>>>,
    incoming: Rc<RefCell<Crossing<Packet>>>,
    beside: Rc<RefCell<Beside>>,
    frame: Vec<u8>,
}

impl TunnelEnd {
    pub fn new(
        [seat, peer]: [Seat; 2],
        outer_bytes: u32,
        outgoing: Rc<RefCell<Crossing<Packet>>>,
        incoming: Rc<RefCell<Crossing<Packet>>>,
        beside: Rc<RefCell<Beside>>,
    ) -> Self {
        Self {
            seat,
            peer,
            outer_bytes,
            outgoing,
            incoming,
            beside,
            frame: Vec::new(),
        }
    }

    /// Whether the path lies between this end and a seat.
    fn is_across(&self, to: Seat) -> bool {
        lies_across(self.seat, self.peer, to)
    }

    /// Reports that do not parse come from no tunnel.
    fn on_frame(&self, now: Time, frame: &Bytes) {
        let payload = &*frame.payload;
        if FrameKind::of(payload) == Some(FrameKind::Report) {
            let _ = self.outgoing.borrow_mut().sender.handle(now, payload);
            return;
        }
        let marked = frame.ecn == Ecn::Ce;
        let wire_bytes = u32::from(frame.header_bytes) + payload.len() as u32 - self.outer_bytes;
        let mut incoming = self.incoming.borrow_mut();
        incoming.handle(now, payload, wire_bytes, marked);
    }

    fn send(&self, now: Time, sent: Sent, ecn: Ecn, out: &mut Outbox) {
        let header_bytes = self.outer_bytes + sent.wire_bytes - self.frame.len() as u32;
        let body = Body::Bytes(Bytes {
            payload: self.frame.as_slice().into(),
            header_bytes: header_bytes as u16,
            ecn,
            repair: sent.kind == FrameKind::Repair,
        });
        let address = Address {
            from: self.seat,
            to: self.peer,
            server: None,
        };
        out.send(now, Packet::new(FRAMES, address, body));
    }

    /// Sends on whatever may leave now.
    fn drive(&mut self, now: Time, out: &mut Outbox) {
        loop {
            let released = self.incoming.borrow_mut().release(now, &mut self.frame);
            let Some((number, packet)) = released else {
                break;
            };
            debug_assert_eq!(
                self.frame,
                number.to_be_bytes(),
                "a packet is what was coded"
            );
            out.send(now, packet);
        }
        loop {
            self.frame.clear();
            let mut outgoing = self.outgoing.borrow_mut();
            let Some(sent) = outgoing.sender.poll_transmit(now, &mut self.frame) else {
                break;
            };
            let ecn = outgoing.ecn(&self.frame);
            drop(outgoing);
            self.send(now, sent, ecn, out);
        }
        self.frame.clear();
        let mut incoming = self.incoming.borrow_mut();
        let report = incoming.receiver.poll_transmit(now, &mut self.frame);
        drop(incoming);
        if let Some(sent) = report {
            self.send(now, sent, Ecn::NotEct, out);
        }
    }
}

impl Node for TunnelEnd {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match &packet.body {
            Body::Bytes(frame) if packet.address.to == self.seat => {
                if !packet.corrupted {
                    self.on_frame(now, frame);
                }
            }
            _ if self.is_across(packet.address.to) && !self.beside.borrow().has(&packet) => {
                let mut outgoing = self.outgoing.borrow_mut();
                // Packets are lengths here: the code works on their numbers.
                let name = outgoing.next_number().to_be_bytes();
                outgoing.push(now, packet, &name);
            }
            _ => out.send(now, packet),
        }
        self.drive(now, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let sends = self.outgoing.borrow().sender.poll_timeout();
        let receives = self.incoming.borrow().receiver.poll_timeout();
        sends.into_iter().chain(receives).min()
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.drive(now, out);
    }
}
