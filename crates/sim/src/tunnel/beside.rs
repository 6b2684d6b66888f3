//! Whose packets cross the path beside the tunnel.

use crate::packet::{Body, ConnectionId, Packet};

/// By workload and by connection, each by its place.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    workloads: Vec<bool>,
    connections: Vec<bool>,
}

fn put(places: &mut Vec<bool>, place: usize, value: bool) {
    if value && places.len() <= place {
        places.resize(place + 1, false);
    }
    if let Some(found) = places.get_mut(place) {
        *found = value;
    }
}

fn has(places: &[bool], place: usize) -> bool {
    places.get(place).copied().unwrap_or(false)
}

impl Beside {
    pub fn new(workloads: &[usize]) -> Self {
        let mut beside = Self::default();
        for &workload in workloads {
            put(&mut beside.workloads, workload, true);
        }
        beside
    }

    /// A workload opens a connection. Its place may have been another's before.
    pub fn open(&mut self, id: ConnectionId, workload: usize) {
        let value = has(&self.workloads, workload);
        put(&mut self.connections, id.index as usize, value);
    }

    /// An echo's or a datagram's place is its workload's.
    pub fn has(&self, packet: &Packet) -> bool {
        let place = packet.connection.index as usize;
        match packet.body {
            Body::Tcp(_) => has(&self.connections, place),
            Body::Echo(_) | Body::Datagram(_) => has(&self.workloads, place),
            Body::Bytes(_) => false,
        }
    }
}
