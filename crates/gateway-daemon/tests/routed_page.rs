//! Near as a router: its rules hand users' connections to it, are suspended while far is away, and are gone after any end.

use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/routed_page.sh");

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
fn the_rules_take_connections_make_way_for_a_bypass_and_are_gone_after_any_end() {
    let can = in_namespaces(&["sh", "-c", "nft list tables && ip link"]).output();
    if !can.is_ok_and(|said| said.status.success()) {
        eprintln!("skipped: it needs namespaces, nft and ip");
        return;
    }
    let program = env!("CARGO_BIN_EXE_bentpipe-gateway");
    let said = in_namespaces(&["bash", SCRIPT, program]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}{errors}");
    assert_eq!(text.lines().count(), 4, "{text}");
}
