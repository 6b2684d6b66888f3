//! `[tun]`: a device for whole IP packets, with its addresses, routes and rules. Nothing of it stays behind: the device, its addresses and its routes go
//! with the daemon, and a [`Keeper`] removes the rules.

use crate::config::{File, Role, Tun};
use crate::keeper::{Keeper, Reader, listed};
use crate::setup::carrier;
use bentpipe_gateway::packet_payload_max;
use bentpipe_gateway_host::tun_device;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

pub const TABLE: &str = "bentpipe_gateway_tun";
/// Near: users' packets look for a route in the main table first, but for its default; then in a table of the device's. Both come behind the rule for
/// what `[router]` has marked.
const PREFERENCES: [u32; 2] = [25_201, 25_202];
const ROUTES: u32 = 25_201;
/// RFC 8200, section 5.
const LEAST_MTU_V6: usize = 1280;

/// The longest packet of the device: one that crosses in one piece, if there is no other.
pub fn mtu(file: &File, tun: &Tun) -> u16 {
    let whole = packet_payload_max(carrier(file).certain_datagram());
    let least = if tun.has(6) { LEAST_MTU_V6 } else { 0 };
    let mtu = tun.mtu.map_or(whole.max(least), usize::from);
    u16::try_from(mtu).unwrap_or(u16::MAX)
}

/// The device, with its addresses and routes.
pub fn device(file: &File, tun: &Tun) -> Result<OwnedFd, String> {
    let name = &tun.device;
    let device = tun_device(name).map_err(|error| {
        format!("[tun]: cannot make the device {name}: {error}. It needs /dev/net/tun and CAP_NET_ADMIN, and a name that is free")
    })?;
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| {
            format!("[tun]: cannot start ip: {error}. The Debian package iproute2 has it")
        })?;
    if let Some(mut commands) = ip.stdin.take() {
        let text = commands_for_ip(file, tun).join("\n") + "\n";
        // An error is ip's, which says it.
        let _ = commands.write_all(text.as_bytes());
    }
    let status = ip.wait().map_err(|error| format!("[tun]: ip: {error}"))?;
    if status.success() {
        Ok(device)
    } else {
        Err(format!(
            "[tun]: ip could not set up {name} ({status}); what it says stands above"
        ))
    }
}

fn commands_for_ip(file: &File, tun: &Tun) -> Vec<String> {
    let name = &tun.device;
    // No packets of its own: it would ask for routers.
    let mut lines = vec![format!("link set dev {name} addrgenmode none")];
    for address in &tun.address {
        let nodad = if address.addr().is_ipv6() {
            " nodad"
        } else {
            ""
        };
        lines.push(format!("addr add {address} dev {name}{nodad}"));
    }
    lines.push(format!("link set dev {name} mtu {} up", mtu(file, tun)));
    let (networks, table) = match file.role {
        Role::Near => (tun.routes(), format!(" table {ROUTES}")),
        Role::Far => (tun.users.clone(), String::new()),
    };
    for network in networks {
        lines.push(format!("route replace {network} dev {name}{table}"));
    }
    lines
}

/// The rules, as long as this stands.
#[derive(Debug)]
pub struct TunRules {
    _keeper: Option<Keeper>,
}

impl TunRules {
    pub fn apply(file: &File) -> Result<Self, String> {
        let Some(tun) = &file.tun else {
            return Ok(Self { _keeper: None });
        };
        let keeper = match file.role {
            Role::Near if tun.interfaces.is_empty() => None,
            Role::Near => {
                let (add, remove) = rules_of_near(tun);
                Some(Keeper::start("[tun]", &add, &remove, Reader::Nobody)?)
            }
            Role::Far if tun.masquerade == Some(false) => None,
            Role::Far => {
                let mut keeper = Keeper::start("[tun]", "", "", Reader::Nft)?;
                let lines = table_of_far(tun);
                // A keeper that has ended says so itself, below.
                let _ = keeper.send(&lines);
                let rules = lines.iter().filter(|it| it.ends_with("masquerade")).count();
                keeper.wait_until(|| {
                    Ok(listed("[tun]", TABLE)?.matches("masquerade").count() == rules)
                })?;
                Some(keeper)
            }
        };
        Ok(Self { _keeper: keeper })
    }
}

/// What adds the rules, and what removes them: lines of sh.
fn rules_of_near(tun: &Tun) -> (String, String) {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    let [first, second] = PREFERENCES;
    for family in [4, 6].into_iter().filter(|&it| tun.has(it)) {
        remove.extend(PREFERENCES.map(|preference| {
            format!("while ip -{family} rule del pref {preference} 2>/dev/null; do :; done\n")
        }));
        add.extend(tun.interfaces.iter().map(|name| {
            format!(
                "ip -{family} rule add pref {first} iif {name} lookup main suppress_prefixlength 0 || exit 1\n\
                 ip -{family} rule add pref {second} iif {name} lookup {ROUTES} || exit 1\n"
            )
        }));
    }
    (add.concat(), remove.concat())
}

fn table_of_far(tun: &Tun) -> Vec<String> {
    let mut lines = vec![
        format!("add table inet {TABLE} {{ flags owner; }}"),
        format!(
            "add chain inet {TABLE} postrouting {{ type nat hook postrouting priority srcnat; policy accept; }}"
        ),
    ];
    for network in tun.networks() {
        let family = if network.addr().is_ipv4() {
            "ip"
        } else {
            "ip6"
        };
        let device = &tun.device;
        lines.push(format!(
            "add rule inet {TABLE} postrouting oifname != \"{device}\" {family} saddr {network} masquerade"
        ));
    }
    lines
}

impl Tun {
    /// Whether it has an address of this family: 4 or 6.
    fn has(&self, family: u8) -> bool {
        self.address
            .iter()
            .any(|it| it.addr().is_ipv4() == (family == 4))
    }

    /// The networks whose packets cross: the users', and that of the devices themselves.
    pub fn networks(&self) -> Vec<IpNet> {
        let mut all: Vec<_> = self
            .users
            .iter()
            .chain(&self.address)
            .map(IpNet::trunc)
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Near: where users' packets go through the device.
    fn routes(&self) -> Vec<IpNet> {
        match &self.routes {
            Some(routes) => routes.clone(),
            None => [4, 6]
                .into_iter()
                .filter(|&it| self.has(it))
                .map(|it| {
                    if it == 4 {
                        IpNet::V4(Ipv4Net::default())
                    } else {
                        IpNet::V6(Ipv6Net::default())
                    }
                })
                .collect(),
        }
    }
}
