//! Programs and protocols through both daemons, byte for byte, and destinations that far refuses: the short part of `make check-gateway-protocols`.

use std::process::{Command, Stdio};

const PROOF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/proof");

/// As root of user, network, mount and process namespaces, which end with the script.
fn in_namespaces(program: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--net", "--mount", "--pid"])
        .args(["--fork", "--kill-child", "--mount-proc"])
        .args(program);
    command
}

#[test]
fn bytes_cross_as_they_are_and_far_reaches_nothing_that_it_should_not() {
    let needs = "nft list tables && ip link && test -r /dev/net/tun && python3 -c 'import asyncio'";
    let can = in_namespaces(&["sh", "-c", needs])
        .stderr(Stdio::null())
        .output();
    if !can.is_ok_and(|said| said.status.success()) {
        eprintln!("skipped: it needs namespaces, nft, ip, /dev/net/tun and Python");
        return;
    }
    let gateway = env!("CARGO_BIN_EXE_bentpipe-gateway");
    let short = ["python3", PROOF, "--short", "--gateway", gateway];
    let said = in_namespaces(&short).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}{errors}");
    // The trials that need no program of others.
    let right = text
        .lines()
        .filter(|line| line.contains("| right |"))
        .count();
    assert!(right >= 6, "{text}");
}
