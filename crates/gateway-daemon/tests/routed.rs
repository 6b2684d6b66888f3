//! Near as a router, in network namespaces: its rules hand users' connections and UDP to it, are suspended while far is away, and are gone after any
//! end.

use std::process::Command;

/// As root of user, network, mount and process namespaces, which end with the script.
fn in_namespaces(program: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--net", "--mount", "--pid"])
        .args(["--fork", "--kill-child", "--mount-proc"])
        .args(program);
    command
}

/// Runs a script of this folder, which says a line for each thing that it has seen.
fn run(script: &str, lines: usize) {
    let can = in_namespaces(&["sh", "-c", "nft list tables && ip link"]).output();
    if !can.is_ok_and(|said| said.status.success()) {
        eprintln!("skipped: it needs namespaces, nft and ip");
        return;
    }
    let script = format!("{}/tests/{script}", env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_bentpipe-gateway");
    let said = in_namespaces(&["bash", &script, program]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}{errors}");
    assert_eq!(text.lines().count(), lines, "{text}");
}

#[test]
fn the_rules_take_connections_make_way_for_a_bypass_and_are_gone_after_any_end() {
    run("routed_page.sh", 4);
}

#[test]
fn the_rules_take_udp_and_answers_come_from_the_address_that_was_asked() {
    run("routed_udp.sh", 5);
}

#[test]
fn whole_packets_cross_by_devices_under_the_access_list_and_leave_nothing() {
    run("routed_tun.sh", 4);
}
