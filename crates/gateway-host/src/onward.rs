//! How far reaches destinations.

use crate::packet_ends::PacketEnds;
use bentpipe_gateway::{ResetCode, Target};
use rustix::io::Errno;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// Which way a whole packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketWay {
    /// From this machine to the other gateway.
    Leaves,
    /// From the other gateway to this machine.
    Comes,
}

/// How a gateway reaches the destinations that the other one's hosts ask for.
pub trait Onward {
    /// Begins a TCP connection, with a socket that does not block. An error resets the flow: [`reset_code`] has the kernel's.
    fn connect(&mut self, target: &Target) -> Result<OwnedFd, ResetCode>;

    /// Makes the UDP socket of an association, bound and not connected, which does not block. It serves all addresses that the association's host sends
    /// to (RFC 4787, section 4.1): one of IPv6 that takes IPv4, too, reaches both. An error resets the association. Without this, none is taken.
    fn associate(&mut self, target: &Target) -> Result<OwnedFd, ResetCode> {
        let _ = target;
        Err(ResetCode::NotAllowed)
    }

    /// Whether datagrams may go to this address, and come from it. Asked for each one. IPv4 is never written as IPv6.
    fn allows_datagram(&mut self, address: SocketAddr) -> bool {
        let _ = address;
        false
    }

    /// The first datagram of an association that was refused was to this address, and from this host.
    fn refused_datagram(&mut self, to: SocketAddr, host: SocketAddr) {
        let _ = (to, host);
    }

    /// Whether a whole packet may cross. Asked for each one, at both gateways.
    fn allows_packet(&mut self, way: PacketWay, ends: PacketEnds) -> bool {
        let _ = (way, ends);
        false
    }

    /// The first packet of a session that was refused.
    fn refused_packet(&mut self, way: PacketWay, ends: PacketEnds) {
        let _ = (way, ends);
    }
}

impl<F: FnMut(&Target) -> Result<OwnedFd, ResetCode>> Onward for F {
    fn connect(&mut self, target: &Target) -> Result<OwnedFd, ResetCode> {
        self(target)
    }
}

/// What the other gateway is told of a connection that failed.
pub fn reset_code(error: Errno) -> ResetCode {
    match error {
        Errno::CONNREFUSED => ResetCode::Refused,
        Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::HOSTDOWN => {
            ResetCode::Unreachable
        }
        Errno::TIMEDOUT => ResetCode::TimedOut,
        Errno::ACCESS | Errno::PERM => ResetCode::NotAllowed,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL => {
            ResetCode::Overloaded
        }
        _ => ResetCode::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_gateway_hears_why_a_connection_failed() {
        assert_eq!(reset_code(Errno::CONNREFUSED), ResetCode::Refused);
        assert_eq!(reset_code(Errno::NETUNREACH), ResetCode::Unreachable);
        assert_eq!(reset_code(Errno::TIMEDOUT), ResetCode::TimedOut);
        assert_eq!(reset_code(Errno::PIPE), ResetCode::Host);
    }
}
