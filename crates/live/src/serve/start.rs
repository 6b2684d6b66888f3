//! `start`: the pipes run, then what stands at near and far, the sampler and the watch.

use super::{Run, Started};
use crate::awake::keep_awake;
use crate::channels;
use crate::clock::monotonic_ns;
use crate::datapath::Decoded;
use crate::gateway::{self, Gateways};
use crate::links::Links;
use crate::per_host::HostId;
use crate::protocol::{Event, Start};
use crate::sampler::Sampler;
use crate::split::{self, Split};
use crate::watch::Watch;
use std::io;

impl Run {
    pub(super) fn start(&mut self, start: Start) -> Result<Event, String> {
        let sockets = self
            .sockets
            .take()
            .ok_or("a second start: the run has begun already")?;
        let awake = if self.setup.keep_awake {
            keep_awake()
        } else {
            Vec::new()
        };
        let zero_monotonic_ns = monotonic_ns() + start.zero_in_ns;
        let ours = self.setup.gateway.as_ref().filter(|it| it.is_ours());
        let decoded = ours.map(|_| {
            let bins = || Decoded::new(self.setup.bin_ns, zero_monotonic_ns);
            [bins(), bins()]
        });
        let links = Links::start(
            &self.setup,
            &self.plan,
            &self.namespaces,
            zero_monotonic_ns,
            decoded.as_ref(),
        )?;
        let split = self.split()?;
        let gateways = self.gateways(decoded, zero_monotonic_ns)?;
        let sampler = Sampler::start(
            sockets,
            self.setup.sample_interval_ns,
            zero_monotonic_ns,
            &self.setup.raw_folder.join("sockets.csv"),
            &self.setup.raw_folder.join("closed.csv"),
        )
        .map_err(|error| format!("the sampler could not start: {error}"))?;
        let namespaces = self
            .namespaces
            .as_ref()
            .try_map(|_, namespace| namespace.net.number());
        let kernel = std::mem::take(&mut self.kernel);
        let watch = namespaces
            .map_err(io::Error::from)
            .and_then(|namespaces| Watch::start(namespaces, kernel, zero_monotonic_ns))
            .map_err(|error| format!("the watch over the hosts could not start: {error}"))?;
        // They are in the network namespace of one of the hosts, as whoever started them.
        for &process in &awake {
            watch.leave_out(process);
        }
        self.started = Some(Started {
            zero_monotonic_ns,
            links,
            split,
            gateways,
            sampler,
            awake,
            watch: Some(watch),
            said: None,
        });
        Ok(Event::Started { zero_monotonic_ns })
    }

    /// Begins to split connections, if the run does.
    fn split(&mut self) -> Result<Option<Split>, String> {
        let mut take = |host| self.namespaces.get_mut(host)?.splitter.take();
        let (Some(near), Some(far)) = (take(HostId::Near), take(HostId::Far)) else {
            return Ok(None);
        };
        let descriptors = channels::spare_descriptors(&self.setup.channels, split::DESCRIPTORS);
        Split::start(near, far, descriptors)
            .map(Some)
            .map_err(|error| format!("the split could not start: {error}"))
    }

    /// Starts the gateways, if the run has them. They connect at once.
    fn gateways(
        &mut self,
        decoded: Option<[Decoded; 2]>,
        zero_monotonic_ns: i64,
    ) -> Result<Option<Gateways>, String> {
        let mut take = |host| self.namespaces.get_mut(host)?.gateway_seat.take();
        let seats = (take(HostId::Near), take(HostId::Far));
        let ((Some(near), Some(far)), Some(setup), Some(decoded)) =
            (seats, &self.setup.gateway, decoded)
        else {
            return Ok(None);
        };
        let descriptors = channels::spare_descriptors(&self.setup.channels, gateway::DESCRIPTORS);
        Gateways::start(
            setup,
            [near, far],
            self.setup.path.mtu,
            descriptors,
            decoded,
            zero_monotonic_ns,
        )
        .map(Some)
        .map_err(|error| format!("the gateways could not start: {error}"))
    }
}
