"""Programs of others in the gateways' seats: a stand-in takes sing-box's commands and files."""

import sys
from pathlib import Path

import pytest
from real_runs import LIVE, run, shadow

from bentpipe import EngineError

pytestmark = LIVE

LAB = """
duration = "8 s"
until = "done"
[path]
rtt = "20 ms"
rate = "16 Mbit/s"
[gateway]
kind = "hysteria2"
[[workload]]
name = "download"
kind = "bulk"
size = "300 kB"
[[workload]]
name = "keys"
kind = "interactive"
count = 5
interval = "50 ms"
"""
STAND_IN = Path(__file__).with_name("stand_in_sing_box.py")


def test_connections_cross_through_the_programs_and_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "asked"
    shadow(tmp_path, "sing-box", f'echo "$1" >> {log}\nexec {sys.executable} {STAND_IN} "$@"', monkeypatch)
    (record,) = run(tmp_path, LAB).records
    assert record["status"] == "done", record["why"]
    assert record["workloads"]["download"]["bytes"] >= 300_000
    assert record["workloads"]["keys"]["unanswered"] == 0
    assert sorted(log.read_text().split()) == ["generate", "run", "run"]
    assert "gateway" not in record
    # What they cost is measured, and a machine that kept them from running makes the run unreliable.
    for host in ("near", "far"):
        assert sum(each["ran_s"] for each in record["engine_error"]["hosts"][host]["programs"]) > 0


def test_a_program_that_ends_fails_the_run_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = 'echo "no such inbound" >&2; exit 3'
    script = f'[ "$1" = run ] && {{ {says}; }}\nexec {sys.executable} {STAND_IN} "$@"'
    shadow(tmp_path, "sing-box", script, monkeypatch)
    (record,) = run(tmp_path, LAB).records
    assert record["status"] == "failed"
    said = "sing-box at far ended before the run: sing-box ended with status 3: no such inbound"
    assert any(said in why for why in record["why"])


def test_a_program_that_is_not_installed_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lab = LAB.split("[[workload]]", maxsplit=1)[0] + '[[workload]]\nname = "keys"\nkind = "interactive"\n'
    with pytest.raises(EngineError, match=r'sing-box \(needed by gateway.kind = "hysteria2"\)'):
        run(tmp_path, lab)


def test_workloads_whose_servers_know_ports_are_refused(tmp_path: Path) -> None:
    lab = LAB.split("[[workload]]", maxsplit=1)[0]
    lab += '[[workload]]\nname = "users"\nkind = "channels"\nchannels = 2\nsize = "1 kB"\n'
    with pytest.raises(EngineError, match='"channels" cannot cross gateways of kind "hysteria2"'):
        run(tmp_path, lab)
