//! The links of a run while it goes on: the long path and those from near and far to the hosts, each a datapath of its own.

use crate::datapath::{self, Capture, Datapath, DatapathSpec, Decoded};
use crate::host_namespace::HostNamespace;
use crate::per_host::{HostId, PerHost};
use crate::protocol::Setup;
use crate::report::Crossing;
use crate::topology::{Plan, Wire};
use crate::tun;
use bentpipe_base::topology::Link;
use bentpipe_path::time::Nanos;

/// In the plan's order: the path first.
pub(crate) struct Links(Vec<RunningLink>);

struct RunningLink {
    link: Link,
    /// The host on the server's side first.
    ends: [HostId; 2],
    datapath: Datapath,
}

impl Links {
    pub(crate) fn start(
        setup: &Setup,
        plan: &Plan,
        namespaces: &PerHost<HostNamespace>,
        zero_monotonic_ns: i64,
        decoded: Option<&[Decoded; 2]>,
    ) -> Result<Self, String> {
        let mut links = Self(Vec::new());
        for wire in plan.wires() {
            let (link, ends) = (wire.link, wire.ends);
            match start(setup, &wire, namespaces, zero_monotonic_ns, decoded) {
                Ok(datapath) => links.0.push(RunningLink {
                    link,
                    ends,
                    datapath,
                }),
                Err(error) => {
                    // Why this one could not start is what there is to say.
                    for running in links.0 {
                        let _ = running.datapath.stop();
                    }
                    return Err(error);
                }
            }
        }
        Ok(links)
    }

    /// What went wrong so far, if a device failed.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.iter().find_map(|running| running.datapath.trouble())
    }

    /// Ends all pipes, and says what each link did and what its devices lost.
    pub(crate) fn stop(
        self,
        namespaces: &mut PerHost<HostNamespace>,
    ) -> Result<Vec<Crossing>, String> {
        let mut crossings = Vec::new();
        for RunningLink {
            link,
            ends: [server_side, client_side],
            datapath,
        } in self.0
        {
            let report = datapath
                .stop()
                .map_err(|error| format!("the datapath could not finish: {error}"))?;
            let mut drops = |host| {
                let namespace = namespaces.get_mut(host).ok_or("a link without its host")?;
                namespace
                    .device_drops(link)
                    .map_err(|error| format!("reading a device's drop counts gave {error}"))
            };
            crossings.push(Crossing {
                report,
                client_side: drops(client_side)?,
                server_side: drops(server_side)?,
            });
        }
        Ok(crossings)
    }
}

/// Starts the datapath of one link.
fn start(
    setup: &Setup,
    wire: &Wire<'_>,
    namespaces: &PerHost<HostNamespace>,
    zero_monotonic_ns: i64,
    decoded: Option<&[Decoded; 2]>,
) -> Result<Datapath, String> {
    let link = wire.link;
    let [server_side, client_side] = wire.ends;
    let [down, up] = setup.pipes(link).ok_or("a link without its pipes")?;
    let device = |host| {
        let namespace = namespaces.get(host).ok_or("a link without its host")?;
        namespace
            .share(link)
            .map_err(|error| format!("sharing a TUN device gave {error}"))
    };
    // A host is recorded once: near and far, which have two links, at the long path.
    let capture = |host: HostId| {
        let one_link = matches!(host, HostId::Client | HostId::Server);
        let here = one_link || link == Link::Path;
        (here && setup.pcap.contains(&host)).then(|| Capture {
            host: host.name(),
            file: setup.raw_folder.join(format!("{}.pcapng", host.name())),
        })
    };
    datapath::start(DatapathSpec {
        link,
        client: device(client_side)?,
        server: device(server_side)?,
        vnet_header_bytes: tun::VNET_HEADER_BYTES,
        down,
        up,
        tunnel: setup.tunnel.clone().filter(|_| link == Link::Path),
        decoded: decoded.filter(|_| link == Link::Path).cloned(),
        servers: wire.servers.to_vec(),
        mtu: setup.path.mtu,
        seed: setup.seed,
        bin: Nanos(setup.bin_ns),
        zero_monotonic_ns,
        link_csv: (link == Link::Path).then(|| setup.raw_folder.join("link.csv")),
        client_pcap: capture(client_side),
        server_pcap: capture(server_side),
    })
    .map_err(|error| format!("the datapath could not start: {error}"))
}
