//! The links of a run while it goes on: the long path and, with a near host, the LAN, each a datapath of its own.

use crate::channels;
use crate::datapath::{self, Capture, Datapath, DatapathSpec};
use crate::node::Node;
use crate::protocol::{Host, PerHost, Setup};
use crate::report::Crossing;
use crate::topology::Link;
use crate::tun;
use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::Nanos;

pub(crate) struct Links {
    path: Datapath,
    lan: Option<Datapath>,
}

/// Who is at a link's ends, the client's side first.
fn ends(link: Link, near: bool) -> (Host, Host) {
    match link {
        Link::Lan => (Host::Client, Host::Near),
        Link::Path if near => (Host::Near, Host::Server),
        Link::Path => (Host::Client, Host::Server),
    }
}

impl Links {
    pub(crate) fn start(
        setup: &Setup,
        nodes: &PerHost<Node>,
        zero_monotonic_ns: i64,
    ) -> Result<Self, String> {
        let start = |link, down: &PipeConfig, up: &PipeConfig| {
            let (near_side, far_side) = ends(link, setup.near.is_some());
            let device = |host| {
                let node = nodes.get(host).ok_or("a link without its host")?;
                node.share(link)
                    .map_err(|error| format!("sharing a TUN device gave {error}"))
            };
            // A host is recorded once: the near host, which has two links, at the long path.
            let capture = |host: Host| {
                let here = host != Host::Near || link == Link::Path;
                (here && setup.pcap.contains(&host)).then(|| Capture {
                    host: host.name(),
                    file: setup.spool.join(format!("{}.pcapng", host.name())),
                })
            };
            datapath::start(DatapathSpec {
                link,
                client: device(near_side)?,
                server: device(far_side)?,
                vnet_header_bytes: tun::VNET_HEADER_BYTES,
                down: down.clone(),
                up: up.clone(),
                servers: match link {
                    Link::Path => channels::servers_specs(&setup.channels),
                    Link::Lan => Vec::new(),
                },
                mtu: setup.path.mtu,
                seed: setup.seed,
                bin: Nanos(setup.bin_ns),
                zero_monotonic_ns,
                link_csv: (link == Link::Path).then(|| setup.spool.join("link.csv")),
                client_pcap: capture(near_side),
                server_pcap: capture(far_side),
            })
            .map_err(|error| format!("the datapath could not start: {error}"))
        };
        let lan = match &setup.near {
            Some(near) => Some(start(Link::Lan, &near.down, &near.up)?),
            None => None,
        };
        match start(Link::Path, &setup.path.down, &setup.path.up) {
            Ok(path) => Ok(Self { path, lan }),
            Err(error) => {
                // Why the path could not start is what there is to say.
                let _ = lan.map(Datapath::stop);
                Err(error)
            }
        }
    }

    /// What went wrong so far, if a device failed.
    pub(crate) fn trouble(&self) -> Option<String> {
        let lan = self.lan.as_ref().and_then(Datapath::trouble);
        self.path.trouble().or(lan)
    }

    /// Ends all pipes, and says what each link did and what its devices lost.
    pub(crate) fn stop(self, nodes: &mut PerHost<Node>) -> Result<Vec<Crossing>, String> {
        let near = self.lan.is_some();
        let running = [(Link::Path, Some(self.path)), (Link::Lan, self.lan)];
        let running = running
            .into_iter()
            .filter_map(|(link, it)| Some((link, it?)));
        let mut crossings = Vec::new();
        for (link, datapath) in running {
            let report = datapath
                .stop()
                .map_err(|error| format!("the datapath could not finish: {error}"))?;
            let mut drops = |host| {
                let node = nodes.get_mut(host).ok_or("a link without its host")?;
                node.device_drops(link)
                    .map_err(|error| format!("reading a device's drop counts gave {error}"))
            };
            let (near_side, far_side) = ends(link, near);
            crossings.push(Crossing {
                report,
                client_side: drops(near_side)?,
                server_side: drops(far_side)?,
            });
        }
        Ok(crossings)
    }
}
