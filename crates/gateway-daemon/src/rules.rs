//! The router's rules, which hand users' TCP connections and UDP to the gateway: nftables' TPROXY and a route for what is marked
//! (Documentation/networking/tproxy.rst).
//!
//! Nothing stays behind, whatever ends the daemon. The table belongs to a process of nft(8) that reads commands from this one
//! (`flags owner`: the kernel removes the table with its owner), and a shell beside it removes the route when nft has ended.

use crate::config::{Router, TakenUdp};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const TABLE: &str = "bentpipe_gateway";
/// What marks packets for the gateway, and the table of routes for them: numbers that little else uses.
const MARK: u32 = 0x6270;
const ROUTES: u32 = 25_200;
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes rules and routes of before, adds the routes, feeds nft, and removes the routes when that has ended.
fn script() -> String {
    let each = |action: &str, quiet: &str| {
        [4, 6]
            .map(|family| {
                let all = if family == 4 { "0.0.0.0/0" } else { "::/0" };
                format!(
                    "ip -{family} rule {action} fwmark {MARK} lookup {ROUTES}{quiet}\n\
                     ip -{family} route {action} local {all} dev lo table {ROUTES}{quiet}\n"
                )
            })
            .concat()
    };
    let (remove, add) = (each("del", " 2>/dev/null"), each("add", " || exit 1"));
    format!("trap '' INT\n{remove}{add}nft -i >/dev/null\n{remove}")
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
    keeper: Child,
    commands: Option<ChildStdin>,
    listeners: Vec<SocketAddr>,
    taking: bool,
}

impl Rules {
    pub fn apply(router: &Router, listeners: &[SocketAddr]) -> Result<Self, String> {
        let mut keeper = Command::new("sh")
            .args(["-c", &script()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            // Ctrl-C in a terminal is the daemon's, which then ends the keeper.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("[router]: cannot start sh: {error}"))?;
        let commands = keeper.stdin.take();
        let mut rules = Self {
            keeper,
            commands,
            listeners: listeners.to_vec(),
            taking: true,
        };
        let lines = [table(router), takes(listeners)].concat();
        // A keeper that has ended says so itself, below.
        let _ = rules.send(&lines);
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok(Some(status)) = rules.keeper.try_wait() {
                return Err(format!(
                    "[router]: the rules could not be set ({status}). They need nft and ip (the packages nftables and iproute2) and CAP_NET_ADMIN"
                ));
            }
            // The last rule is there when all of them are.
            if listed()?.matches("tproxy").count() == listeners.len() {
                return Ok(rules);
            }
            if Instant::now() > until {
                return Err(
                    "[router]: nft did not take the rules; what it says stands above".into(),
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Other interfaces and exceptions, at once. Connections that were taken stay with the gateway.
    pub fn change(&mut self, router: &Router) -> io::Result<()> {
        // One line is one transaction: no packet comes between its parts.
        let flush = format!("flush chain inet {TABLE} prerouting");
        let all: Vec<_> = std::iter::once(flush).chain(prerouting(router)).collect();
        self.send(&[all.join("; ")])
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
        self.send(&lines)?;
        self.taking = taking;
        Ok(())
    }

    fn send(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = lines.join("\n");
        text.push('\n');
        match &mut self.commands {
            Some(commands) => commands.write_all(text.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        // nft reads the end, and the shell then removes the routes.
        self.commands = None;
        let until = Instant::now() + PATIENCE;
        while matches!(self.keeper.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        // One that does not end by itself leaves the routes, which nothing uses.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// Our table as the kernel has it; empty if there is none.
fn listed() -> Result<String, String> {
    let said = Command::new("nft")
        .args(["list", "table", "inet", TABLE])
        .output();
    let said: Output = said.map_err(|error| {
        format!("[router]: cannot start nft: {error}. The Debian package nftables has it")
    })?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
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
