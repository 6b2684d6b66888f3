//! A bench for tests: two hosts, the path between them, and a seed, driven step by step. Boxes of the test's own may sit at near and
//! far.
//!
//! A host looks at what arrived after a random wake-up time with a median of 20 us. A test of exact times sets `wakeup_ns` of both
//! hosts (`spec.client.tcp`, `spec.server.tcp`) to zero.
//!
//! ```
//! use bentpipe_base::{Nanos, Time};
//! use bentpipe_sim::pair::Pair;
//! use bentpipe_sim::seat::Side;
//! use bentpipe_sim::spec::SimSpec;
//!
//! let mut spec = SimSpec { seed: 7, ..SimSpec::default() };
//! for pipe in [&mut spec.down, &mut spec.up] {
//!     pipe.propagation.delay_ns = Nanos::from_millis(275);
//! }
//! let mut pair = Pair::new(&spec, Vec::new())?;
//! let connection = pair.connect();
//! pair.write(connection, Side::Client, 100_000);
//! pair.run_until(Time(1_200_000_000));
//! assert_eq!(pair.received(Side::Server), 14_480);
//! assert_eq!(pair.socket(connection, Side::Client).expect("open").window().cwnd, 20);
//! # Ok::<(), bentpipe_sim::spec_error::SpecError>(())
//! ```

use crate::gateway::GatewayFigures;
use crate::node::Node;
use crate::packet::{ConnectionId, Packet};
use crate::seat::{Seat, Side};
use crate::spec::SimSpec;
use crate::spec_error::SpecError;
use crate::split::SplitFigures;
use crate::standard;
use crate::world::World;
use bentpipe_base::time::Time;
use bentpipe_tcp::congestion::Registry;
use bentpipe_tcp::{Notice, Socket};

pub struct Pair {
    world: World,
    received: [u64; 2],
    events: u64,
}

impl Pair {
    /// At time zero, with nothing under way. The specification's workloads are not begun. `boxes` sit at their seats.
    ///
    /// # Errors
    /// If the specification cannot be run.
    pub fn new(spec: &SimSpec, boxes: Vec<(Seat, Box<dyn Node>)>) -> Result<Self, SpecError> {
        Self::with_controls(spec, boxes, &Registry::default())
    }

    /// The same with the congestion controls of this registry.
    ///
    /// # Errors
    /// If the specification cannot be run.
    pub fn with_controls(
        spec: &SimSpec,
        boxes: Vec<(Seat, Box<dyn Node>)>,
        controls: &Registry,
    ) -> Result<Self, SpecError> {
        let mut spec = spec.clone();
        spec.resolve_controls(controls)?;
        let (world, _) = standard::build(&spec, boxes, Time::ZERO)?;
        Ok(Self {
            world,
            received: [0; 2],
            events: 0,
        })
    }

    /// Opens a connection from the client; data may be written at once.
    pub fn connect(&mut self) -> ConnectionId {
        self.world.connect(0, 5001)
    }

    /// The same for the workload at this place: it may cross beside a tunnel or gateways (`SimSpec::beside_tunnel`).
    pub fn connect_as(&mut self, workload: usize) -> ConnectionId {
        self.world.connect(workload, 5001)
    }

    pub fn write(&mut self, id: ConnectionId, side: Side, bytes: u64) {
        self.world.write(id, side, bytes);
    }

    pub fn close(&mut self, id: ConnectionId, side: Side) {
        self.world.close(id, side);
    }

    pub fn abort(&mut self, id: ConnectionId, side: Side) {
        self.world.abort(id, side);
    }

    /// What the proxies at near and at far have done so far.
    pub fn split(&self) -> Option<[SplitFigures; 2]> {
        self.world.split_figures()
    }

    /// What the gateways at near and at far have done so far.
    pub fn gateway(&self) -> Option<[GatewayFigures; 2]> {
        self.world.gateway_figures()
    }

    /// Puts a packet on its way from the seat that it names.
    pub fn send(&mut self, packet: Packet) {
        self.world.network.inject(packet);
    }

    /// The server's socket is there when the SYN has come to it.
    pub fn socket(&self, id: ConnectionId, side: Side) -> Option<&Socket> {
        self.world.socket(id, side)
    }

    /// Bytes that applications at this side have read.
    pub fn received(&self, side: Side) -> u64 {
        self.received[side as usize]
    }

    /// Steps of the network so far: packets that left a link, and timeouts of nodes.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Carries on with all that happens up to this time.
    pub fn run_until(&mut self, until: Time) {
        let network = &mut self.world.network;
        while network.step(until) {
            self.events += 1;
            network.out.echoes.clear();
            network.out.datagrams.clear();
            for (_, _, side, notice) in network.out.notices.drain(..) {
                if let Notice::Read(bytes) = notice {
                    self.received[side as usize] += bytes;
                }
            }
        }
        network.set_now(until);
    }
}
