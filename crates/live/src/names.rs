//! The names `client` and `server` inside the run: /etc/hosts and /etc/resolv.conf covered by files of our own, and
//! the services that would answer from the machine's own files kept out (systemd-resolved by /etc/nsswitch.conf,
//! nscd by an empty folder over its socket's). A program that takes the first address of a name gets the lab's IP version:
//! /etc/gai.conf is covered too (gai.conf(5), RFC 6724 section 2.1).
//!
//! They live on a tmpfs of the private mount namespace, which is mounted over /tmp just long enough to bind them
//! from, so that no file is left anywhere. A file that the machine does not have is not made.

use crate::family::Family;
use rustix::io::{Errno, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;

const SCRATCH: &str = "/tmp";
/// Where the C library finds nscd.
const NSCD: &str = "/var/run/nscd";

/// Nothing is reachable but the other host: a name that is not in `hosts` fails at once instead of timing out.
const RESOLV_CONF: &str =
    "# bentpipe: there is no name server inside a run\noptions timeout:1 attempts:1\n";

/// An IPv4 address comes before every other one.
const IPV4_FIRST: &str = "precedence ::ffff:0:0/96 100\n";

/// `first`: the version of the address that a name gives first.
pub(crate) fn cover(names: &[(&str, IpAddr)], first: Family) -> Result<()> {
    mount(
        "tmpfs",
        SCRATCH,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        None,
    )?;
    let covered = cover_from_scratch(names, first);
    unmount(SCRATCH, UnmountFlags::empty())?;
    covered
}

fn cover_from_scratch(names: &[(&str, IpAddr)], first: Family) -> Result<()> {
    bind("hosts", &hosts(names))?;
    // Of private addresses, IPv6 comes first unless a file says otherwise.
    let order = if first == Family::V4 { IPV4_FIRST } else { "" };
    bind("gai.conf", order)?;
    bind("resolv.conf", RESOLV_CONF)?;
    let machine = fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    bind("nsswitch.conf", &sources(&machine))?;
    if fs::exists(NSCD).unwrap_or(false) {
        mount("tmpfs", NSCD, "tmpfs", MountFlags::empty(), None)?;
    }
    Ok(())
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

/// The machine's nsswitch.conf with host names from the files that we cover alone.
fn sources(machine: &str) -> String {
    let others = machine
        .lines()
        .filter(|line| !line.trim_start().starts_with("hosts:"));
    others
        .chain(["hosts: files dns"])
        .fold(String::new(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_come_from_files_and_all_else_from_where_it_did() {
        let machine = "passwd: files sss\nhosts: mymachines resolve [!UNAVAIL=return] files\n";
        assert_eq!(sources(machine), "passwd: files sss\nhosts: files dns\n");
    }

    #[test]
    fn each_address_has_its_name_on_a_line_of_its_own() {
        let names = [
            ("client", "10.77.0.1".parse().unwrap()),
            ("client", "fd77::1".parse().unwrap()),
        ];
        assert!(hosts(&names).ends_with("\n10.77.0.1 client\nfd77::1 client\n"));
    }
}
