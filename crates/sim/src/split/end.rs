//! What sits at near or at far where TCP is split: the proxy, and between it and the path another box if there is one, such as
//! an end of a tunnel.

use super::Proxy;
use crate::node::{Node, Outbox};
use crate::packet::Packet;
use bentpipe_base::Time;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct SplitEnd {
    pub proxy: Proxy,
    /// Between the proxy and the path.
    beneath: Option<Box<dyn Node>>,
    /// Empty between two calls.
    moving: VecDeque<(Sender, Time, Packet)>,
    leaving: Vec<(Time, Packet)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Proxy,
    Beneath,
}

impl SplitEnd {
    pub fn new(proxy: Proxy, beneath: Option<Box<dyn Node>>) -> Self {
        Self {
            proxy,
            beneath,
            moving: VecDeque::new(),
            leaving: Vec::new(),
        }
    }

    /// Hands what one of the two has sent to the other, until all that is left leaves this seat.
    fn route(&mut self, mut by: Sender, out: &mut Outbox) {
        let Some(beneath) = &mut self.beneath else {
            return;
        };
        loop {
            let sent = out.packets.drain(..);
            self.moving
                .extend(sent.map(|(at, packet)| (by, at, packet)));
            let Some((sender, at, packet)) = self.moving.pop_front() else {
                break;
            };
            match (sender, self.proxy.is_across(packet.address.to)) {
                (Sender::Proxy, true) => {
                    by = Sender::Beneath;
                    beneath.handle(at, packet, out);
                }
                (Sender::Beneath, false) => {
                    by = Sender::Proxy;
                    self.proxy.handle(at, packet, out);
                }
                _ => self.leaving.push((at, packet)),
            }
        }
        out.packets.append(&mut self.leaving);
    }
}

impl Node for SplitEnd {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match &mut self.beneath {
            // What has come from the path.
            Some(beneath) if !self.proxy.is_across(packet.address.to) => {
                beneath.handle(now, packet, out);
                self.route(Sender::Beneath, out);
            }
            _ => {
                self.proxy.handle(now, packet, out);
                self.route(Sender::Proxy, out);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let beneath = self.beneath.as_ref().and_then(|node| node.poll_timeout());
        self.proxy.poll_timeout().into_iter().chain(beneath).min()
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.proxy.poll_timeout().is_some_and(|at| at <= now) {
            self.proxy.on_timeout(now, out);
            self.route(Sender::Proxy, out);
        }
        if let Some(beneath) = &mut self.beneath
            && beneath.poll_timeout().is_some_and(|at| at <= now)
        {
            beneath.on_timeout(now, out);
            self.route(Sender::Beneath, out);
        }
    }
}
