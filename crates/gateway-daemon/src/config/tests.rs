use super::*;
use bentpipe_carrier::identity::Identity;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn key() -> String {
    Identity::from_seed([7; 32]).public().to_string()
}

fn near() -> String {
    format!(
        "role = \"near\"\nkey = \"gateway.key\"\n[peer]\naddress = \"far.example.net:4433\"\nkey = \"{}\"\n\
         [path]\nrate = \"16 Mbit/s\"\n[listen]\nsocks5 = [\"127.0.0.1:1080\"]\n",
        key()
    )
}

#[test]
fn a_short_file_is_enough() {
    let file = File::parse(&near()).unwrap();
    assert_eq!(file.path.rate, Rate::Fixed(16_000_000));
    assert_eq!(file.path.redundancy, Redundancy::Adaptive);
    assert_eq!(file.limits.connections, 10_000);
    let far = format!(
        "role = \"far\"\nkey = \"k\"\n[peer]\nkey = \"{}\"\n[path]\nrate = {{ cap = \"1 Gbit/s\" }}\n\
         redundancy = 0.1\n[listen]\npeer = \"[::]:4433\"\n[access]\nallow = [\"10.0.0.0/8 port 443\"]\n",
        key()
    );
    let far = File::parse(&far).unwrap();
    assert_eq!(far.path.rate, Rate::Capped(1_000_000_000));
    assert_eq!(far.access.allow.len(), 1);
}

#[test]
fn each_mistake_has_a_message_that_names_its_place() {
    let change = |from: &str, to: &str| {
        let text = near();
        assert!(text.contains(from));
        File::parse(&text.replace(from, to)).unwrap_err()
    };
    for (from, to, expected) in [
        (
            "\"near\"",
            "\"middle\"",
            ":1: role: unknown variant `middle`",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "rate = \"16\"",
            ":7: rate: got \"16\", expected a rate",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "rate = 16",
            ":7: rate: expected a rate such as",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "rats = \"16 Mbit/s\"",
            ":7: unknown field `rats`",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "",
            ":6: [path]: missing field `rate`",
        ),
        (
            "far.example.net:4433",
            "far.example.net",
            "peer.address: got",
        ),
        ("127.0.0.1:1080", "0.0.0.0:1080", "open to every network"),
        (
            "127.0.0.1:1080",
            "localhost",
            ":9: socks5: got \"localhost\", expected an address and a port, such as",
        ),
        (
            "[\"127.0.0.1:1080\"]",
            "\"127.0.0.1:1080\"",
            ":9: socks5: got \"127.0.0.1:1080\", expected a list in brackets",
        ),
        (
            "role = \"near\"",
            "role = near",
            ":1: role: this is no TOML: ",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "rate = \"16 Mbit/s",
            ":7: rate: this is no TOML: ",
        ),
        (
            "rate = \"16 Mbit/s\"",
            "rate = \"16 Mbit/s\"\nrate = \"fair\"",
            ":8: rate: it stands here for the second time",
        ),
        (
            "[path]",
            "[limits]\nconnections = -1\n[path]",
            ":7: connections: got -1, expected a whole number, 0 or more",
        ),
        (
            "[path]",
            "[path]\nudp_payload = \"1200\"",
            ":7: udp_payload: got \"1200\", expected a whole number",
        ),
        (
            "[path]",
            "[router]\ninterfaces = [\"lan0\"]\nexcept = [\"10.0.0.0/40\"]\n[path]",
            ":8: except: got \"10.0.0.0/40\", expected an address and the length of its network",
        ),
        (
            "\"far.example.net:4433\"",
            "\":4433\"",
            "peer.address: got \":4433\"",
        ),
        (
            "\"far.example.net:4433\"",
            "\"::1:4433\"",
            "such as \"[2001:db8::1]:4433\"",
        ),
        (
            "socks5 = [\"127.0.0.1:1080\"]",
            "",
            "[listen] has no way in",
        ),
        (
            "role = \"near\"",
            "role = \"far\"",
            "listen.peer is missing",
        ),
        ("[path]", "[path]\nredundancy = 2.0", "from 0 to 1"),
        (
            "[path]",
            "[status]\nprometheus = \"192.0.2.1:9\"\n[path]",
            "expected a loopback",
        ),
        (
            "[path]",
            "[limits]\nmemory = \"64\"\n[path]",
            "expected a size",
        ),
        ("[path]", "[path", ":6:"),
        (&key(), "abc", ":5: key: invalid base64"),
    ] {
        let error = change(from, to);
        assert!(error.contains(expected), "{to}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_key_that_others_may_read_is_warned_of_and_ones_own_is_no_peers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.toml");
    let key = folder.path().join("gateway.key");
    fs::write(&path, near()).unwrap();
    let error = Loaded::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("gateway.key: cannot read the private key"),
        "{error}"
    );
    fs::write(&key, Identity::from_seed([8; 32]).to_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Loaded::read(&path).unwrap().warnings.len(), 1);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Loaded::read(&path).unwrap().warnings.is_empty());
    fs::write(&key, Identity::from_seed([7; 32]).to_pem()).unwrap();
    let error = Loaded::read(&path).unwrap_err().to_string();
    assert!(error.contains("own public key"), "{error}");
}

#[test]
fn udp_is_taken_by_ports_or_all_of_it() {
    let parse = |udp: &str| {
        let text = near().replace(
            "socks5 = [\"127.0.0.1:1080\"]",
            "tproxy = [\"127.0.0.1:4100\"]",
        );
        File::parse(&format!("{text}[router]\ninterfaces = [\"lan0\"]\n{udp}\n"))
    };
    for (udp, expected) in [
        ("", TakenUdp::Nothing),
        ("udp = []", TakenUdp::Nothing),
        ("udp = [53, 443]", TakenUdp::Ports(vec![53, 443])),
        ("udp = \"all\"", TakenUdp::All),
    ] {
        assert_eq!(parse(udp).unwrap().router.unwrap().udp, expected);
    }
    for wrong in ["\"none\"", "[0]", "[65536]", "53", "[\"dns\"]"] {
        let error = parse(&format!("udp = {wrong}")).unwrap_err();
        assert!(error.contains("expected \"all\", or ports"), "{error}");
    }
}

#[test]
fn a_device_for_packets_has_what_its_end_needs() {
    let near = |tun: &str| File::parse(&format!("{}[tun]\n{tun}\n", near()));
    let short = near("address = [\"10.77.0.1/24\"]\ninterfaces = [\"lan0\"]");
    let tun = short.unwrap().tun.unwrap();
    assert_eq!((tun.device.as_str(), tun.mtu), ("bentpipe0", None));
    let address = "address = [\"10.77.0.1/24\", \"fd77::1/64\"]\n";
    for (wrong, expected) in [
        ("", "missing field `address`"),
        ("address = []", "tun.address is empty"),
        (
            "address = [\"10.77.0.1\"]",
            "got \"10.77.0.1\", expected an address and the length of its network",
        ),
        (
            &format!("{address}device = \"a b\""),
            "no name of an interface",
        ),
        (
            &format!("{address}interfaces = [\"-x\"]"),
            "no name of an interface",
        ),
        (
            &format!("{address}masquerade = true"),
            "tun.masquerade is far's",
        ),
        (&format!("{address}mtu = 1279"), "expected 1280 to 65000"),
    ] {
        let error = near(wrong).unwrap_err();
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}
