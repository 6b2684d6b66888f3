"""Programs of others in the gateways' seats: a stand-in takes sing-box's commands and files."""

import sys
from pathlib import Path

import polars as pl
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
STANDS_IN = f'exec {sys.executable} {STAND_IN} "$@"'
CALL = """
[[workload]]
name = "call"
kind = "call"
time = "1 s"
"""


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


def test_channels_cross_through_programs_that_give_connections_other_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow(tmp_path, "sing-box", STANDS_IN, monkeypatch)
    lab = LAB.split("[[workload]]", maxsplit=1)[0].replace("8 s", "3 s")
    lab += '[[workload]]\nname = "users"\nkind = "channels"\nchannels = 5\nservers = 2\n'
    lab += 'size = { distribution = "bounded-pareto", shape = 1.2, min = "1 kB", max = "100 kB" }\n'
    results = run(tmp_path, lab)
    (record,) = results.records
    entry = record["workloads"]["users"]
    assert record["status"] == "done", record["why"]
    # Each of the five has one under way when the run ends.
    assert entry["failed"] == 0
    assert entry["finished"] == entry["flows"] - 5 > 20
    finished = results.flows.filter(pl.col("outcome") == "finished")
    assert finished["size_bytes"].n_unique() > 10
    assert (finished["bytes"] == finished["size_bytes"]).all()


def test_a_call_crosses_both_ways_through_programs_that_take_udp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow(tmp_path, "sing-box", STANDS_IN, monkeypatch)
    results = run(tmp_path, LAB.split("[[workload]]", maxsplit=1)[0] + CALL)
    (record,) = results.records
    call = record["workloads"]["call"]
    assert record["status"] == "done", record["why"]
    assert call["up"]["sent"] == 50
    # The server sends from the first datagram on, which comes half a round trip after the client's start.
    assert 40 <= call["down"]["sent"] < 50
    assert call["up"]["lost"] <= 1
    assert call["down"]["lost"] <= 1
    assert call["down"]["mos"] > 3
    # The caller's own packets have 200 bytes. Between the programs each has their line too.
    assert results.link.filter(pipe="up")["throughput_bytes"].sum() > 50 * 215


def test_a_file_that_the_runs_end_cuts_counts_what_the_client_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server and the program at far hold megabytes that never crossed the path."""
    shadow(tmp_path, "sing-box", STANDS_IN, monkeypatch)
    lab = LAB.split("[[workload]]", maxsplit=1)[0].replace("8 s", "3 s")
    results = run(tmp_path, lab + '[[workload]]\nname = "file"\nkind = "http"\nsize = "50 MB"\n')
    (record,) = results.records
    crossed = results.link.filter(pipe="down")["throughput_bytes"].sum()
    assert record["status"] == "done", record["why"]
    assert 0.8 * crossed < record["workloads"]["file"]["bytes"] < crossed
