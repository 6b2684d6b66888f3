//! The names `client` and `server` inside the run: /etc/hosts and /etc/resolv.conf covered by files of our own.
//!
//! They live on a tmpfs of the private mount namespace, which is mounted over /tmp just long enough to bind them
//! from, so that no file is left anywhere. A file that the machine does not have is not made.

use rustix::io::{Errno, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;

const SCRATCH: &str = "/tmp";

/// Nothing is reachable but the other host: a name that is not in `hosts` fails at once instead of timing out.
const RESOLV_CONF: &str =
    "# bentpipe: there is no name server inside a run\noptions timeout:1 attempts:1\n";

pub(crate) fn cover(names: &[(&str, IpAddr)]) -> Result<()> {
    mount(
        "tmpfs",
        SCRATCH,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        None,
    )?;
    let covered = bind("hosts", &hosts(names)).and_then(|()| bind("resolv.conf", RESOLV_CONF));
    unmount(SCRATCH, UnmountFlags::empty())?;
    covered
}

fn bind(name: &str, text: &str) -> Result<()> {
    let target = format!("/etc/{name}");
    if !fs::exists(&target).unwrap_or(false) {
        return Ok(());
    }
    let source = format!("{SCRATCH}/{name}");
    fs::write(&source, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    mount_bind(source, target)
}

fn hosts(names: &[(&str, IpAddr)]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (name, address) in names {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_name_on_a_line_of_its_own() {
        let names = [
            ("client", "10.77.0.1".parse().unwrap()),
            ("client", "fd77::1".parse().unwrap()),
        ];
        assert!(hosts(&names).ends_with("\n10.77.0.1 client\nfd77::1 client\n"));
    }
}
