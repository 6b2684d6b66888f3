//! The UDP of workloads, which crosses in the session: one association for each workload.

use super::host_side::{connection, target};
use crate::packet::{Address, Body, ConnectionId, Datagram, Packet};
use bentpipe_base::{OrderedMap, Time};
use bentpipe_gateway::{Channel, FlowId, Received, Session};

/// A datagram's number is in its first bytes.
const NUMBER_BYTES: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Associations {
    by_workload: OrderedMap<u32, FlowId>,
    /// The workload, and the address of what the gateway sends to its host.
    by_flow: OrderedMap<FlowId, (u32, Address)>,
}

impl Associations {
    /// A host's datagram crosses in the session. `header_bytes`: of IP and UDP. Without a session, or where it has no room, the datagram is
    /// lost. `false`: it is too short for its number.
    pub fn send(
        &mut self,
        now: Time,
        session: &mut Session,
        packet: &Packet,
        header_bytes: u32,
    ) -> bool {
        let Body::Datagram(datagram) = &packet.body else {
            return false;
        };
        let length = datagram.wire_bytes.saturating_sub(header_bytes) as usize;
        if length < NUMBER_BYTES {
            return false;
        }
        let mut bytes = vec![0; length];
        let number = packet.connection.generation.to_be_bytes();
        bytes[..NUMBER_BYTES].copy_from_slice(&number);
        let workload = packet.connection.index;
        let flow = self.by_workload.get(workload).copied().or_else(|| {
            let id = ConnectionId {
                index: workload,
                generation: 0,
            };
            let flow = session.open_udp(now, 0, &target(id, packet.address)).ok()?;
            self.put(flow, workload, packet.address.back());
            Some(flow)
        });
        if let Some(flow) = flow {
            session.send_datagram(now, flow, None, &bytes);
        }
        true
    }

    fn put(&mut self, flow: FlowId, workload: u32, to_host: Address) {
        // Both gateways may have opened one: each sends in its own.
        self.by_workload.get_or_insert_with(workload, || flow);
        self.by_flow.insert(flow, (workload, to_host));
    }

    /// The other gateway has opened one. `false`: it is not of this engine.
    pub fn opened(&mut self, flow: FlowId, channel: Channel) -> bool {
        let Channel::Udp(target) = channel else {
            return false;
        };
        let known = connection(&target);
        if let Some((id, to_host)) = known {
            self.put(flow, id.index, to_host);
        }
        known.is_some()
    }

    pub fn forget(&mut self, flow: FlowId) {
        self.by_flow.remove(flow);
        self.by_workload.retain(|it| *it != flow);
    }

    /// The packet to the host.
    pub fn received(&self, received: &Received, header_bytes: u32) -> Option<Packet> {
        let &(index, address) = self.by_flow.get(received.flow)?;
        let number = received.bytes.first_chunk::<NUMBER_BYTES>()?;
        let id = ConnectionId {
            index,
            generation: u32::from_be_bytes(*number),
        };
        let datagram = Datagram {
            wire_bytes: header_bytes + received.bytes.len() as u32,
            ..Datagram::default()
        };
        Some(Packet::new(id, address, Body::Datagram(datagram)))
    }
}
