"""The gateway's configuration page names each key that the daemon reads, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _keys() -> set[str]:
    """The keys of config/mod.rs, from `File` down: `role`, `peer.address`, ..."""
    source = (ROOT / "crates/gateway-daemon/src/config/mod.rs").read_text(encoding="utf-8")
    tables = {
        name: re.findall(r"^    pub (\w+): (?:Option<)?(\w+)", body, flags=re.M)
        for name, body in re.findall(r"^pub struct (\w+) \{\n(.*?)^\}", source, flags=re.M | re.S)
    }
    keys = set()
    for key, kind in tables["File"]:
        if kind in tables:
            keys |= {f"{key}.{inner}" for inner, _ in tables[kind]}
        else:
            keys.add(key)
    return keys


def test_the_configuration_page_names_each_key_of_the_daemon_and_no_other() -> None:
    page = (ROOT / "docs/gateway/configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_0-9.]+)` \|", page, flags=re.M)
    keys = _keys()
    assert {"role", "peer.address", "path.rate", "router.bypass_after_s"} <= keys
    assert sorted(rows) == sorted(keys)


def test_units_start_only_what_the_package_installs() -> None:
    for role in ("near", "far"):
        unit = (ROOT / f"packaging/bentpipe-gateway-{role}.service").read_text(encoding="utf-8")
        assert f"ExecStart=/usr/bin/bentpipe-gateway {role} --config /etc/bentpipe/gateway.toml" in unit
        assert "DynamicUser=yes" in unit
        assert "LoadCredential=gateway.key:/etc/bentpipe/gateway.key" in unit
