//! A coded tunnel between near and far: whole IP packets enter at one end and leave at the other, coded by `bentpipe-fec`.
//! TCP is not split.
//!
//! ```text
//! client - near = path = far - server
//!            '-- crossing --'
//! ```
//!
//! 1. The outer headers are IP and UDP, of the lab's IP version. Between them and the packet are the tunnel's own.
//! 2. ECN crosses as RFC 6040 says: the outer header of a packet has its ECN field, and a mark on the way is put into the
//!    packet. Repairs and reports are not ECN-capable.
//! 3. All frames of one direction are one flow to a queue that is fair between flows.
//! 4. Packets are lengths here, so a frame carries the packet's number in its place, and the code works on that.
//! 5. The packets of some workloads may cross beside the tunnel, as they are ([`Beside`]).
//! 6. Without `exact` no packet is requested again: it would come a round trip later, when TCP has sent it again.

mod beside;
mod end;

pub use bentpipe_tunnel::{
    ExactRepair, PerSecond, Redundancy, TunnelConfig, TunnelFigures, inner_mtu, outer_bytes,
};
pub(crate) use beside::Beside;
pub(crate) use end::TunnelEnd;

use crate::packet::Packet;
use bentpipe_tunnel::Crossing;
use core::cell::RefCell;
use std::rc::Rc;

/// Both directions, by the side that they lead to.
pub(crate) type Tunnel = [Rc<RefCell<Crossing<Packet>>>; 2];
