//! What captures show: packets at one end of a link, with the ports and initial sequence numbers of their connections.

use crate::packet::{ConnectionId, Packet};
use crate::rows::Captured;
use crate::seat::{Seat, Side};
use bentpipe_base::time::Time;
use bentpipe_tables::pcapng::InterfaceDirection;

/// A connection as the wire has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub client_port: u16,
    pub server_port: u16,
    /// By [`Side`].
    pub initial_seq: [u32; 2],
}

#[derive(Debug, Default)]
pub(crate) struct CaptureRecorder {
    /// By the connection's place in the slab.
    numbers: Vec<Numbers>,
    pub ip: u8,
    pub captured: Vec<Captured>,
}

impl CaptureRecorder {
    /// A connection is opened.
    pub fn open(&mut self, id: ConnectionId, numbers: Numbers) {
        let index = id.index as usize;
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, Numbers::default());
        }
        self.numbers[index] = numbers;
    }

    pub fn numbers(&self, id: ConnectionId) -> Numbers {
        let known = self.numbers.get(id.index as usize);
        known.copied().unwrap_or_default()
    }

    pub fn note(&mut self, time: Time, at: Seat, direction: InterfaceDirection, packet: &Packet) {
        let numbers = match packet.tcp() {
            Some(_) => self.numbers(packet.connection),
            None => Numbers::default(),
        };
        let sender: Side = packet.address.sender();
        self.captured.push(Captured {
            time,
            at,
            sender,
            direction,
            client_port: numbers.client_port,
            server_port: numbers.server_port,
            initial_seq: numbers.initial_seq[sender as usize],
            initial_ack: numbers.initial_seq[sender.other() as usize],
            ip: self.ip,
            packet: packet.clone(),
        });
    }
}
