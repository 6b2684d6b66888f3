//! `[split]`: TCP ends at near and at far, and the hosts do not see it.
//!
//! Each of the two is a router whose kernel hands over the TCP connections that pass it ([`tproxy`]), addresses and ports as they
//! were. A thread of the host process accepts each and opens it again on the other side, under its opener's address and port
//! ([`forwarder`]); data, the end of either direction and RST go from one to the other ([`relay`]). The leg between near and far
//! is in a network namespace of its own ([`long_leg`]).

mod forwarder;
mod long_leg;
mod relay;
pub(crate) mod sockets;
mod tproxy;

pub use forwarder::SplitEndReport;
pub(crate) use long_leg::{Site, Splitter, Taken, prepare_host};

use crate::per_host::HostId;
use forwarder::Running;
use serde::Serialize;
use std::io;

/// The forwarders' threads, by the host that they stand for.
pub(crate) const THREADS: [(&str, HostId); 2] =
    [("split near", HostId::Near), ("split far", HostId::Far)];
/// Connections that an end may have open at once, if open files suffice.
const MOST: u64 = 16_384;

/// What the two ends did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitReport {
    pub near: SplitEndReport,
    pub far: SplitEndReport,
}

/// Both ends at work.
#[derive(Debug)]
pub(crate) struct Split([Running; 2]);

/// Descriptors of both ends.
pub(crate) const DESCRIPTORS: u64 = MOST * OF_A_CONNECTION;
/// Descriptors of a connection: two at each end.
const OF_A_CONNECTION: u64 = 4;

impl Split {
    /// `descriptors`: what both ends may have together.
    pub fn start(near: Splitter, far: Splitter, descriptors: u64) -> io::Result<Self> {
        let limit = descriptors / OF_A_CONNECTION;
        let near = Running::start(THREADS[0], near.sides, limit)?;
        let far = Running::start(THREADS[1], far.sides, limit)?;
        Ok(Self([near, far]))
    }

    /// An end is no longer at work.
    pub fn has_ended(&self) -> bool {
        self.0.iter().any(Running::has_ended)
    }

    pub fn stop(self) -> io::Result<SplitReport> {
        let [near, far] = self.0;
        let (near, far) = (near.stop(), far.stop());
        Ok(SplitReport {
            near: near?,
            far: far?,
        })
    }
}
