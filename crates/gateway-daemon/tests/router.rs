//! A reload changes the router's rules, in a network namespace of its own. Where this machine lets nobody make one, the test says so.

mod world;

use std::fs;
use std::process::{Command, Stdio};
use world::{PROGRAM, World};

/// Starts near, then changes its exceptions and its bypass by SIGHUP. Prints the rules after each step.
const SCRIPT: &str = r#"
set -e
ip link set lo up
rules() { nft list table inet bentpipe_gateway; }
until_rules() { for _ in $(seq 100); do if rules 2>/dev/null | grep -q "$1"; then return 0; fi; sleep 0.1; done; echo "no $1"; exit 1; }
"$PROGRAM" near --config "$CONFIG" & near=$!
until_rules tproxy
until_rules "ip daddr 10.0.0.0/8 return"
sed -i 's|except = .*|except = ["10.9.0.0/16", "fd00::/8"]\nbypass_after_s = 1|' "$CONFIG"
kill -HUP $near
until_rules "ip daddr 10.9.0.0/16 return"
until_rules "ip6 daddr fd00::/8 return"
if rules | grep -q 10.0.0.0; then echo "the old exception stays"; exit 1; fi
for _ in $(seq 100); do rules | grep -q tproxy || break; sleep 0.1; done
if rules | grep -q tproxy; then echo "no bypass"; exit 1; fi
sed -i '/bypass_after_s/d' "$CONFIG"
kill -HUP $near
until_rules tproxy
kill $near; wait $near
if rules 2>/dev/null; then echo "rules stay behind"; exit 1; fi
echo done
"#;

#[test]
fn a_reload_changes_exceptions_and_the_bypass_and_nothing_stays_behind() {
    let tried = Command::new("unshare")
        .args([
            "-rn",
            "sh",
            "-c",
            "nft add table inet t && ip link set lo up",
        ])
        .stderr(Stdio::null())
        .status();
    if !tried.is_ok_and(|it| it.success()) {
        eprintln!("skipped: no network namespace with nft and ip can be made here");
        return;
    }
    let world = World::new();
    let router = "[router]\ninterfaces = [\"lan0\"]\nexcept = [\"10.0.0.0/8\"]\n";
    let config = world.near_config("10 Mbit/s", "", router);
    let text = fs::read_to_string(&config).unwrap();
    let socks = format!("socks5 = [\"127.0.0.1:{}\"]", world.socks);
    let tproxy = "tproxy = [\"127.0.0.1:4100\", \"[::1]:4100\"]";
    let text = text
        .replace(&socks, tproxy)
        .replace("localhost", "127.0.0.1");
    fs::write(&config, text).unwrap();
    let said = Command::new("unshare")
        .args(["-rn", "bash", "-c", SCRIPT])
        .env("PROGRAM", PROGRAM)
        .env("CONFIG", &config)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&said.stdout);
    let error = String::from_utf8_lossy(&said.stderr);
    assert!(
        said.status.success() && out.trim().ends_with("done"),
        "{out} {error}"
    );
}
