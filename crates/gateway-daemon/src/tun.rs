//! `[tun]`: a device for whole IP packets, with its addresses, routes and rules. Nothing of it stays behind: the device, its addresses and its routes go
//! with the daemon, and a [`Keeper`] removes the rules.

use crate::bypass::{Bypass, LOOK_EVERY};
use crate::config::{File, Role, Tun};
use crate::keeper::{Keeper, Reader, listed};
use crate::setup::carrier;
use bentpipe_gateway::packet_payload_max;
use bentpipe_gateway_host::{Watch, tun_device};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::warn;

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
pub struct TunRules(Arc<Mutex<Option<Keeper>>>);

impl Drop for TunRules {
    fn drop(&mut self) {
        // The thread finds none, and ends.
        drop(lock(&self.0).take());
    }
}

fn lock(keeper: &Mutex<Option<Keeper>>) -> MutexGuard<'_, Option<Keeper>> {
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TunRules {
    pub fn apply(file: &File, watch: Watch) -> Result<Option<Self>, String> {
        let Some(tun) = &file.tun else {
            return Ok(None);
        };
        let keeper = match file.role {
            Role::Near if tun.interfaces.is_empty() => None,
            Role::Near => {
                let (add, remove) = rules_of_near(tun);
                Some(Keeper::start("[tun]", &add, &remove, Reader::Shell)?)
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
        let bypasses = keeper.is_some() && tun.bypass_after_s.is_some();
        let keeper = Arc::new(Mutex::new(keeper));
        if bypasses {
            let (tun, looks) = (tun.clone(), Arc::clone(&keeper));
            thread::spawn(move || look(&tun, &looks, &watch));
        }
        Ok(Some(Self(keeper)))
    }
}

/// Near: routes users' packets past the device while the other gateway was not heard for long.
fn look(tun: &Tun, keeper: &Mutex<Option<Keeper>>, watch: &Watch) {
    let after = tun.bypass_after_s.map(Duration::from_secs_f64);
    let mut bypass = Bypass::new("whole packets");
    while lock(keeper).is_some() {
        if let Some(takes) = bypass.look(watch, after)
            && let Some(keeper) = lock(keeper).as_mut()
            && let Err(error) = keeper.send(&into_device(tun, if takes { "add" } else { "del" }))
        {
            warn!(%error, "[tun]: the rules could not be changed");
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Commands that add or delete the rules by which users' packets are routed into the device.
fn into_device(tun: &Tun, action: &str) -> Vec<String> {
    let families = [4, 6].into_iter().filter(|&it| tun.has(it));
    let rule = |family: u8, name: &String| {
        let preference = PREFERENCES[1];
        format!("ip -{family} rule {action} pref {preference} iif {name} lookup {ROUTES}")
    };
    families
        .flat_map(|family| tun.interfaces.iter().map(move |name| rule(family, name)))
        .collect()
}

/// What adds the rules, and what removes them: lines of sh.
fn rules_of_near(tun: &Tun) -> (String, String) {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    let first = PREFERENCES[0];
    for family in [4, 6].into_iter().filter(|&it| tun.has(it)) {
        remove.extend(PREFERENCES.map(|preference| {
            format!("while ip -{family} rule del pref {preference} 2>/dev/null; do :; done\n")
        }));
        add.extend(tun.interfaces.iter().map(|name| {
            format!("ip -{family} rule add pref {first} iif {name} lookup main suppress_prefixlength 0 || exit 1\n")
        }));
    }
    let rules = into_device(tun, "add").into_iter();
    add.extend(rules.map(|rule| rule + " || exit 1\n"));
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
