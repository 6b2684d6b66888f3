//! What a configuration has to keep to beyond its form.

use super::{File, Role, Router, Tun};
use std::net::SocketAddr;

/// It comes into commands of nft and ip.
fn check_interface(key: &str, name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let right = (1..=15).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with(['-', '.'])
        && !name.ends_with('@');
    if right {
        Ok(())
    } else {
        Err(format!("{key}: \"{name}\" is no name of an interface"))
    }
}

/// A name or an address, and a port.
pub fn check_address(text: &str) -> Result<(), String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let is_name = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '/');
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err(format!(
            "got \"{text}\", expected an IPv6 address in brackets and its port, such as \"[2001:db8::1]:4433\""
        ));
    }
    if is_name && matches!(port.parse::<u16>(), Ok(1..)) {
        return Ok(());
    }
    Err(format!(
        "got \"{text}\", expected a name or an address with its port, such as \"far.example.net:4433\""
    ))
}

fn check_bypass(section: &str, after_s: Option<f64>) -> Result<(), String> {
    match after_s {
        Some(after) if !(1.0..=86_400.0).contains(&after) => {
            Err(format!("{section}.bypass_after_s: expected 1 to 86400 s"))
        }
        _ => Ok(()),
    }
}

impl Tun {
    fn check(&self, role: Role) -> Result<(), String> {
        check_interface("tun.device", &self.device)?;
        if self.address.is_empty() {
            return Err(
                "tun.address is empty: expected the device's address, such as [\"10.77.0.1/24\"]"
                    .into(),
            );
        }
        for name in &self.interfaces {
            check_interface("tun.interfaces", name)?;
        }
        check_bypass("tun", self.bypass_after_s)?;
        let of_near =
            !self.interfaces.is_empty() || self.routes.is_some() || self.bypass_after_s.is_some();
        match role {
            Role::Near if self.masquerade.is_some() => {
                return Err(
                    "tun.masquerade is far's: users' addresses are kept between near and far"
                        .into(),
                );
            }
            Role::Far if of_near => {
                return Err("tun.interfaces, tun.routes and tun.bypass_after_s are near's: they say what is routed into the device".into());
            }
            _ => {}
        }
        let least = if self.address.iter().any(|it| it.addr().is_ipv6()) {
            1280
        } else {
            576
        };
        if let Some(mtu) = self.mtu.filter(|it| !(least..=65_000).contains(it)) {
            return Err(format!(
                "tun.mtu: got {mtu}, expected {least} to 65000 bytes"
            ));
        }
        Ok(())
    }
}

impl File {
    fn check_router(&self, router: &Router) -> Result<(), String> {
        if self.listen.tproxy.is_empty() {
            return Err("[router] needs listen.tproxy, such as tproxy = [\"127.0.0.1:4100\", \"[::1]:4100\"]: its rules hand connections to it".into());
        }
        for family in [SocketAddr::is_ipv4, SocketAddr::is_ipv6] {
            let found = self.listen.tproxy.iter().filter(|at| family(at)).count();
            if found > 1 {
                return Err("[router] hands connections to one address of each family, but listen.tproxy has more".into());
            }
        }
        if router.interfaces.is_empty() {
            return Err("router.interfaces is empty: expected the interfaces that users are behind, such as [\"lan0\"]".into());
        }
        for name in &router.interfaces {
            check_interface("router.interfaces", name)?;
        }
        check_bypass("router", router.bypass_after_s)
    }

    /// Beyond the form.
    pub(super) fn check(&self) -> Result<(), String> {
        let listen = &self.listen;
        let ways_in = listen.socks5.len() + listen.http_connect.len() + listen.tproxy.len();
        match self.role {
            Role::Near => {
                let address = self.peer.address.as_deref();
                let address = address.ok_or("peer.address is missing: near has to know where far is, such as \"far.example.net:4433\"")?;
                check_address(address).map_err(|what| format!("peer.address: {what}"))?;
                if listen.peer.is_some() {
                    return Err(
                        "listen.peer is far's: near connects to far and waits for nobody there"
                            .into(),
                    );
                }
                if ways_in == 0 {
                    return Err("[listen] has no way in: near needs socks5, http_connect or tproxy, such as socks5 = [\"127.0.0.1:1080\"]".into());
                }
                if ways_in > 8 {
                    return Err(format!(
                        "[listen] has {ways_in} addresses, expected 8 at most"
                    ));
                }
                if !(self.access.allow.is_empty() && self.access.deny.is_empty()) {
                    return Err("[access] is far's: far decides where connections go".into());
                }
            }
            Role::Far => {
                if listen.peer.is_none() {
                    return Err("listen.peer is missing: far has to know where near reaches it, such as peer = \"[::]:4433\"".into());
                }
                if ways_in > 0 {
                    return Err("[listen] has a way in for users (socks5, http_connect or tproxy): these are near's".into());
                }
                if self.peer.address.is_some() {
                    return Err(
                        "peer.address is near's: far waits for near, from any address".into(),
                    );
                }
            }
        }
        if let Some(router) = &self.router {
            self.check_router(router)?;
        }
        if let Some(tun) = &self.tun {
            tun.check(self.role)?;
        }
        for way in listen.socks5.iter().chain(&listen.http_connect) {
            if way.ip().is_unspecified() {
                return Err(format!(
                    "[listen]: {way} is open to every network; expected an address of this machine, such as 127.0.0.1:{}",
                    way.port()
                ));
            }
        }
        if let Some(at) = self.status.prometheus.filter(|at| !at.ip().is_loopback()) {
            return Err(format!(
                "status.prometheus: got {at}, expected a loopback address such as 127.0.0.1:{}",
                at.port()
            ));
        }
        if !(1200..=65_000).contains(&self.path.udp_payload) {
            return Err(format!(
                "path.udp_payload: got {}, expected 1200 to 65000 bytes",
                self.path.udp_payload
            ));
        }
        let limits = [
            ("connections", self.limits.connections),
            ("user_associations", self.limits.user_associations),
        ];
        match limits.iter().find(|(_, most)| *most == 0) {
            Some((key, _)) => Err(format!("limits.{key}: got 0, expected 1 or more")),
            None => Ok(()),
        }
    }
}
