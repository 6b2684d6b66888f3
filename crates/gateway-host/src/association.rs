//! One UDP association: a socket beside a program at near, or the socket that stands for a host at far.

use crate::entrance::Asked;
use crate::entrance::socks_udp::{self, NoRequest};
use crate::flows::{FlowReport, FlowState, Ledger};
use crate::onward::Onward;
use crate::report::AssociationsReport;
use crate::user::user_of;
use bentpipe_gateway::{FlowId, Received, Target};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, getsockname, recvfrom, sendto};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// So many of the addresses that a host has sent to may answer: the newest ones.
const MOST_CORRESPONDENTS: usize = 256;

/// Who is at the socket's other end.
#[derive(Debug)]
pub(crate) enum Side {
    /// Near: a program that speaks SOCKS.
    Program {
        ip: IpAddr,
        /// Where its first datagram came from: others of this address get nothing.
        at: Option<SocketAddr>,
        /// The place of the connection whose end ends the association.
        connection: usize,
    },
    /// Far: whomever the host sends to. Nobody else may send to it, so that strangers cannot load the path: address-dependent filtering (RFC 4787,
    /// section 5).
    Anybody {
        target: Target,
        /// The socket is one of IPv6, where IPv4 is written as IPv6 (RFC 4291, section 2.5.5.2).
        writes_v6: bool,
        correspondents: VecDeque<IpAddr>,
        /// A datagram to an address was refused before.
        refused: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Association {
    pub socket: OwnedFd,
    pub side: Side,
    pub flow: Option<FlowId>,
    pub ledger: Ledger,
    /// It waits for its turn.
    pub queued: bool,
}

/// What came to a socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// For the other gateway: these bytes of the buffer.
    Datagram {
        address: Option<SocketAddr>,
        bytes: Range<usize>,
    },
    /// It goes nowhere, and is counted.
    Dropped,
    /// There is no more now.
    Nothing,
}

/// IPv4 is never written as IPv6.
fn canonical(at: SocketAddr) -> SocketAddr {
    match at.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), at.port()),
        // With its scope.
        IpAddr::V6(_) => at,
    }
}

impl Association {
    /// One of a program at this address, as long as its connection lasts.
    pub fn of_program(socket: OwnedFd, program: IpAddr, connection: usize) -> Self {
        let side = Side::Program {
            ip: program.to_canonical(),
            at: None,
            connection,
        };
        Self {
            socket,
            side,
            flow: None,
            ledger: Ledger::new(SocketAddr::new(program.to_canonical(), 0), None),
            queued: false,
        }
    }

    /// One that the other gateway has opened.
    pub fn onward(socket: OwnedFd, flow: FlowId, target: Target) -> rustix::io::Result<Self> {
        let writes_v6 = SocketAddr::try_from(getsockname(&socket)?)?.is_ipv6();
        let named = target.destination.port() != 0;
        let known = named.then_some(Asked::Address(target.destination));
        let side = Side::Anybody {
            target,
            writes_v6,
            correspondents: VecDeque::new(),
            refused: false,
        };
        Ok(Self {
            socket,
            side,
            flow: Some(flow),
            ledger: Ledger::new(canonical(target.source), known),
            queued: false,
        })
    }

    pub fn report(&self, now: Instant) -> FlowReport {
        self.ledger.report(FlowState::Udp, now)
    }

    /// Whose flow it is to be, and where the flow leads. None: its program has sent nothing yet.
    pub fn wanted(&self) -> Option<(u64, Target)> {
        let Side::Program { at, .. } = self.side else {
            return None;
        };
        let source = at?;
        let any = match source {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let target = Target {
            // Each datagram names its own.
            destination: SocketAddr::new(any, 0),
            source,
        };
        Some((user_of(source.ip()), target))
    }

    /// Reads one datagram.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        onward: &mut dyn Onward,
        report: &mut AssociationsReport,
    ) -> Arrival {
        let (length, from) = match recvfrom(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, length, Some(from))) => match SocketAddr::try_from(from) {
                Ok(from) => (length, canonical(from)),
                Err(_) => return Arrival::Dropped,
            },
            Err(Errno::AGAIN) => return Arrival::Nothing,
            // An error is that of an earlier datagram, and is gone now.
            Ok(_) | Err(_) => return Arrival::Dropped,
        };
        match &mut self.side {
            Side::Program { ip, at, .. } => {
                if from.ip() != *ip || at.is_some_and(|at| at != from) {
                    report.strangers += 1;
                    return Arrival::Dropped;
                }
                let (to, bytes) = match socks_udp::request(&buffer[..length]) {
                    Ok(request) => request,
                    Err(why) => {
                        *match why {
                            NoRequest::Malformed => &mut report.malformed,
                            NoRequest::Fragment => &mut report.fragments,
                            NoRequest::Name => &mut report.names,
                        } += 1;
                        return Arrival::Dropped;
                    }
                };
                *at = Some(from);
                self.ledger.host = from;
                Arrival::Datagram {
                    address: Some(canonical(to)),
                    bytes: length - bytes.len()..length,
                }
            }
            Side::Anybody {
                target,
                correspondents,
                ..
            } => {
                if !correspondents.contains(&from.ip()) {
                    report.unsolicited += 1;
                    return Arrival::Dropped;
                }
                if !onward.allows_datagram(from) {
                    report.refused += 1;
                    return Arrival::Dropped;
                }
                Arrival::Datagram {
                    address: (from != canonical(target.destination)).then_some(from),
                    bytes: 0..length,
                }
            }
        }
    }

    /// Gives the host, or whom the host sends to, a datagram. Whether the kernel took it.
    pub fn give(
        &mut self,
        received: &Received,
        scratch: &mut Vec<u8>,
        onward: &mut dyn Onward,
        report: &mut AssociationsReport,
    ) -> bool {
        let flags = SendFlags::NOSIGNAL;
        let sent = match &mut self.side {
            Side::Program { at, .. } => {
                // Far names where each comes from: the association leads to nobody else.
                let (Some(to), Some(from)) = (*at, received.address) else {
                    report.unsent += 1;
                    return false;
                };
                scratch.clear();
                socks_udp::write_header(canonical(from), scratch);
                scratch.extend_from_slice(&received.bytes);
                sendto(&self.socket, scratch, flags, &to)
            }
            Side::Anybody {
                target,
                writes_v6,
                correspondents,
                refused,
            } => {
                let to = canonical(received.address.unwrap_or(target.destination));
                if to.port() == 0 || !onward.allows_datagram(to) {
                    report.refused += 1;
                    if !std::mem::replace(refused, true) {
                        onward.refused_datagram(to, canonical(target.source));
                    }
                    return false;
                }
                if !correspondents.contains(&to.ip()) {
                    if correspondents.len() >= MOST_CORRESPONDENTS {
                        correspondents.pop_front();
                    }
                    correspondents.push_back(to.ip());
                }
                let to = match to.ip() {
                    IpAddr::V4(ip) if *writes_v6 => {
                        SocketAddr::new(ip.to_ipv6_mapped().into(), to.port())
                    }
                    _ => to,
                };
                sendto(&self.socket, &received.bytes, flags, &to)
            }
        };
        // As any network does where there is no room or no way.
        report.unsent += u64::from(sent.is_err());
        sent.is_ok()
    }
}
