//! What the configuration names of this machine: addresses, interfaces and folders.

use super::{Report, Verdict};
use crate::config::{Loaded, Role};
use crate::sockets::{From, listener, udp};
use crate::status;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;

/// systemd makes them when it starts the service.
const FOLDERS_OF_SYSTEMD: [&str; 2] = ["/run/bentpipe-gateway", "/var/lib/bentpipe-gateway"];
/// ip(7)
const FIRST_FREE_PORT: u16 = 1024;

pub(super) fn machine(loaded: &Loaded, report: &mut Report) {
    let file = &loaded.file;
    let runs = file
        .status
        .socket
        .as_deref()
        .is_some_and(|it| status::ask(it).is_ok());
    // A gateway that runs has the ports.
    if !runs {
        listening(loaded, report);
    }
    let router = file.router.iter().flat_map(|it| &it.interfaces);
    let tun = file.tun.iter().flat_map(|it| &it.interfaces);
    for name in router.chain(tun) {
        if !Path::new("/sys/class/net").join(name).exists() {
            let detail = format!(
                "there is no interface {name} now: nothing is taken from it until it is there"
            );
            report.add("interface", Verdict::Warning, detail);
        }
    }
    let state = loaded.state_path();
    for (key, path) in [
        ("socket", file.status.socket.as_ref()),
        ("state", state.as_ref()),
    ] {
        let folder = path.and_then(|it| it.parent());
        let is_made = |it: &Path| FOLDERS_OF_SYSTEMD.iter().any(|made| it == Path::new(made));
        let folder = folder.filter(|it| !it.as_os_str().is_empty() && !is_made(it));
        if let Some(missing) = folder.filter(|it| !it.is_dir()) {
            let detail = format!("status.{key}: there is no folder {}", missing.display());
            report.add("status", Verdict::Wrong, detail);
        }
    }
}

/// Whether the sockets can be opened. They are closed again.
fn listening(loaded: &Loaded, report: &mut Report) {
    let listen = &loaded.file.listen;
    let peer = listen.peer.iter().map(|at| ("peer", *at));
    let socks5 = listen.socks5.iter().map(|at| ("socks5", *at));
    let http = listen.http_connect.iter().map(|at| ("http_connect", *at));
    // A transparent socket needs a privilege, which is looked at beside this.
    let tproxy = listen.tproxy.iter().map(|at| ("tproxy", *at));
    for (key, at) in peer.chain(socks5).chain(http).chain(tproxy) {
        let from = if key == "peer" {
            From::Peer
        } else {
            From::Programs
        };
        let opened = listener(at, from).and_then(|tcp| {
            // Far takes UDP at the same port.
            let udp = (key == "peer").then(|| udp(at)).transpose();
            udp.map(|udp| (tcp, udp))
        });
        match opened {
            Ok(_) if at.port() < FIRST_FREE_PORT => {
                report.add(
                    "listen",
                    Verdict::Warning,
                    low_port(loaded.file.role, key, at),
                );
            }
            Ok(_) => {}
            Err(error) => {
                let (verdict, why) = cannot(&error, loaded.file.status.socket.is_some());
                report.add("listen", verdict, format!("listen.{key} {at}: {why}"));
            }
        }
    }
}

fn low_port(role: Role, key: &str, at: SocketAddr) -> String {
    format!(
        "listen.{key} {at}: ports below {FIRST_FREE_PORT} need CAP_NET_BIND_SERVICE, which the unit does not give: `systemctl edit bentpipe-gateway-{role}`"
    )
}

/// `would_answer`: a gateway that runs here would have answered at its socket.
fn cannot(error: &Error, would_answer: bool) -> (Verdict, String) {
    match error.kind() {
        ErrorKind::AddrInUse if would_answer => (
            Verdict::Wrong,
            "another program has this port".to_owned(),
        ),
        ErrorKind::AddrInUse => (
            Verdict::Warning,
            "another program has this port, or a gateway that runs already and has no status.socket".to_owned(),
        ),
        ErrorKind::AddrNotAvailable => (
            Verdict::Wrong,
            "this machine does not have this address now".to_owned(),
        ),
        _ => (Verdict::Wrong, format!("cannot listen there: {error}")),
    }
}
