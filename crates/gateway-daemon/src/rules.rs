//! The router's rules, which hand users' TCP connections and UDP to the gateway: nftables' TPROXY and a route for what is marked
//! (Documentation/networking/tproxy.rst).
//!
//! Nothing stays behind, whatever ends the daemon: a [`Keeper`] sees to it.

use crate::config::{Router, TakenUdp};
use crate::keeper::{Keeper, Reader, listed};
use std::io;
use std::net::SocketAddr;

pub const TABLE: &str = "bentpipe_gateway";
/// What marks packets for the gateway, and the table of routes for them: numbers that little else uses.
const MARK: u32 = 0x6270;
const ROUTES: u32 = 25_200;
/// Before the rules of `[tun]`.
const PREFERENCE: u32 = 25_200;

/// What adds the routes, for the families of the listeners, and what removes those of both: lines of sh.
fn routes(listeners: &[SocketAddr]) -> (String, String) {
    let each = |families: &[u8], action: &str, preference: &str, end: &str| {
        let lines = families.iter().map(|family| {
            let all = if *family == 4 { "0.0.0.0/0" } else { "::/0" };
            format!(
                "ip -{family} rule {action} {preference} fwmark {MARK} lookup {ROUTES}{end}\n\
                 ip -{family} route {action} local {all} dev lo table {ROUTES}{end}\n"
            )
        });
        lines.collect::<Vec<_>>().concat()
    };
    let preference = format!("pref {PREFERENCE}");
    // A machine without IPv6 refuses its routes.
    let mut families = vec![4_u8, 6];
    families.retain(|family| listeners.iter().any(|at| at.is_ipv4() == (*family == 4)));
    (
        each(&families, "add", &preference, " || exit 1"),
        each(&[4, 6], "del", "", " 2>/dev/null"),
    )
}

/// The table without its rules for new connections.
fn table(router: &Router) -> Vec<String> {
    let mut lines = vec![
        format!("add table inet {TABLE} {{ flags owner; }}"),
        format!(
            "add chain inet {TABLE} prerouting {{ type filter hook prerouting priority mangle; policy accept; }}"
        ),
        format!("add chain inet {TABLE} new"),
    ];
    lines.extend(prerouting(router));
    lines
}

/// Which packets may be the gateway's.
fn prerouting(router: &Router) -> Vec<String> {
    let quoted: Vec<String> = router
        .interfaces
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let mut lines = vec![
        format!(
            "add rule inet {TABLE} prerouting iifname != {{ {} }} return",
            quoted.join(", ")
        ),
        format!(
            "add rule inet {TABLE} prerouting fib daddr type {{ local, broadcast, anycast, multicast }} return"
        ),
        format!(
            "add rule inet {TABLE} prerouting meta l4proto tcp socket transparent 1 meta mark set {MARK} accept"
        ),
    ];
    for except in &router.except {
        let family = if except.addr().is_ipv4() { "ip" } else { "ip6" };
        lines.push(format!(
            "add rule inet {TABLE} prerouting {family} daddr {except} return"
        ));
    }
    lines.push(format!(
        "add rule inet {TABLE} prerouting tcp flags & (syn | ack) == syn jump new"
    ));
    let udp = match &router.udp {
        TakenUdp::Nothing => return lines,
        TakenUdp::All => "meta l4proto udp".to_owned(),
        TakenUdp::Ports(ports) => {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("udp dport {{ {} }}", ports.join(", "))
        }
    };
    lines.push(format!("add rule inet {TABLE} prerouting {udp} jump new"));
    lines
}

/// The rules that take new connections, and datagrams.
fn takes(listeners: &[SocketAddr]) -> Vec<String> {
    listeners
        .iter()
        .map(|at| {
            let (family, name) = if at.is_ipv4() { ("ipv4", "ip") } else { ("ipv6", "ip6") };
            format!("add rule inet {TABLE} new meta nfproto {family} meta l4proto {{ tcp, udp }} tproxy {name} to {at} meta mark set {MARK} accept")
        })
        .collect()
}

/// The rules, as long as this stands.
#[derive(Debug)]
pub struct Rules {
    keeper: Keeper,
    listeners: Vec<SocketAddr>,
    taking: bool,
}

impl Rules {
    pub fn apply(router: &Router, listeners: &[SocketAddr]) -> Result<Self, String> {
        let (add, remove) = routes(listeners);
        let mut keeper = Keeper::start("[router]", &add, &remove, Reader::Nft)?;
        // A keeper that has ended says so itself, below.
        let _ = keeper.send(&[table(router), takes(listeners)].concat());
        keeper.wait_until(|| {
            let found = listed("[router]", TABLE)?;
            // nft goes on after a rule that the kernel does not take. Without that of sockets no taken connection would work.
            Ok(found.contains("socket transparent")
                && found.matches("tproxy").count() == listeners.len())
        })?;
        Ok(Self {
            keeper,
            listeners: listeners.to_vec(),
            taking: true,
        })
    }

    /// Other interfaces and exceptions, at once. Connections that were taken stay with the gateway.
    pub fn change(&mut self, router: &Router) -> io::Result<()> {
        // One line is one transaction: no packet comes between its parts.
        let flush = format!("flush chain inet {TABLE} prerouting");
        let all: Vec<_> = std::iter::once(flush).chain(prerouting(router)).collect();
        self.keeper.send(&[all.join("; ")])
    }

    /// Whether new connections are taken. Those that were taken stay with the gateway.
    pub fn take_new(&mut self, taking: bool) -> io::Result<()> {
        if taking == self.taking {
            return Ok(());
        }
        let lines = if taking {
            takes(&self.listeners)
        } else {
            vec![format!("flush chain inet {TABLE} new")]
        };
        self.keeper.send(&lines)?;
        self.taking = taking;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_interfaces_exceptions_and_both_families() {
        let router = Router {
            interfaces: vec!["lan0".into(), "lan1".into()],
            except: vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
            udp: TakenUdp::Ports(vec![53, 443]),
            bypass_after_s: None,
        };
        let all = table(&router).join("\n");
        assert!(all.ends_with("prerouting udp dport { 53, 443 } jump new"));
        assert!(all.contains("iifname != { \"lan0\", \"lan1\" } return"));
        assert!(all.contains("ip daddr 10.0.0.0/8 return"));
        assert!(all.contains("ip6 daddr fd00::/8 return"));
        let listeners = [
            "127.0.0.1:4100".parse().unwrap(),
            "[::1]:4100".parse().unwrap(),
        ];
        let (add, remove) = routes(&listeners[..1]);
        assert!(add.contains("ip -4 route add local 0.0.0.0/0") && !add.contains("ip -6"));
        assert!(remove.contains("ip -4 rule del") && remove.contains("ip -6 rule del"));
        assert!(routes(&listeners).0.contains("ip -6 route add local ::/0"));
        let takes = takes(&listeners);
        assert!(
            takes[0]
                .contains("nfproto ipv4 meta l4proto { tcp, udp } tproxy ip to 127.0.0.1:4100 ")
        );
        assert!(
            takes[1].contains("nfproto ipv6 meta l4proto { tcp, udp } tproxy ip6 to [::1]:4100 ")
        );
    }
}
