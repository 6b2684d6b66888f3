//! What a host's network is set to, whatever its namespace is for.

use crate::per_host::HostId;
use crate::refusal::Refused;
use crate::sysctl;
use netlink_packet_route::route::RouteMetric;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSetup {
    /// Set in this order: by name.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
    /// Set as a metric of the route, since a network namespace may not make a restricted algorithm its default.
    pub congestion_control: Option<String>,
    /// Segments; `None` leaves the kernel's.
    pub initcwnd: Option<u32>,
    pub initrwnd: Option<u32>,
}

/// What the kernel's refusal to do something becomes.
pub(crate) fn at(host: HostId, doing: &'static str) -> impl Fn(io::Error) -> Refused {
    move |error| Refused {
        what: "network".into(),
        message: format!("{doing} of the host {} gave: {error}", host.name()),
        remedy: None,
    }
}

/// Keeps the kernel's own packets off a link: router solicitations, link-local addresses and their reports.
pub(crate) fn quiet(device: &str, ipv6: bool) -> io::Result<()> {
    let name = |setting: &str| format!("net.ipv6.conf.{device}.{setting}");
    for (setting, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("router_solicitations", "0"),
    ] {
        sysctl::set_if_there(&name(setting), value)?;
    }
    if ipv6 {
        Ok(())
    } else {
        sysctl::set_if_there(&name("disable_ipv6"), "1")
    }
}

pub(crate) fn metrics(
    setup: &HostSetup,
    congestion_control: Option<&str>,
) -> Result<Vec<RouteMetric>, Refused> {
    let mut metrics = Vec::new();
    if let Some(algorithm) = congestion_control {
        let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        // Asking the kernel for one that it does not have would, as root, load a module into the machine.
        if !available.split_whitespace().any(|known| known == algorithm) {
            return Err(Refused {
                what: "congestion_control".into(),
                message: format!(
                    "this kernel has no congestion control {algorithm:?} loaded; it has {}",
                    available.trim()
                ),
                remedy: Some(format!("sudo modprobe tcp_{algorithm}")),
            });
        }
        metrics.push(RouteMetric::CcAlgo(algorithm.to_owned()));
    }
    metrics.extend(setup.initcwnd.map(RouteMetric::InitCwnd));
    metrics.extend(setup.initrwnd.map(RouteMetric::InitRwnd));
    Ok(metrics)
}
