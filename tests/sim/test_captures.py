"""A simulated host's capture, as tshark's own analysis of TCP judges it."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

OPENING = {"Connection establish request", "Connection establish acknowledge", "TCP window update"}
REPAIR = {
    "Duplicate ACK",
    "This frame is a retransmission",
    "This frame is a fast retransmission",
    "This frame is a spurious retransmission",
    "This frame is a out-of-order segment",
    "Previous segment not captured",
    "D-SACK Sequence",
}
"""What a path that loses packets shows of itself."""

OVERTAKEN = {"TCP keep-alive segment"}
"""What tshark calls one of iperf3's states, a byte long, where the next one has overtaken it."""


def captured(
    lab: Path, changes: Sequence[str], folder: Path, hosts: tuple[str, ...] = ("client", "server")
) -> Path:
    options = EngineOptions(pcap=hosts)
    execute(bentpipe.Lab.load(lab, set=changes), engine="sim", out=folder, options=options)
    (run,) = folder.glob("[!.]*/")
    return run


def tshark(capture: Path, *fields: str, only: str) -> list[str]:
    argv = ["tshark", "-r", str(capture), "-Y", only, "-T", "fields"]
    argv += ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    for field in fields:
        argv += ["-e", field]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def complaints(capture: Path) -> set[str]:
    """Without what stands in brackets."""
    said = tshark(capture, "_ws.expert.message", only="_ws.expert")
    return {
        re.sub(r"\s*[(\[].*?[)\]]", "", each).partition(":")[0] for line in said for each in line.split(",")
    }


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("host", ["client", "server"])
def test_a_path_that_loses_nothing_gives_nothing_to_complain_of(
    lab: Path, tmp_path: Path, host: str, ip: int
) -> None:
    run = captured(lab, ["path.queue=100 MB", f"host.ip={ip}"], tmp_path / "out")
    assert complaints(run / f"{host}.pcapng") <= OPENING


@pytest.mark.parametrize(
    "changes",
    [
        ["path.loss=0.02"],
        ["path.loss=0.02", "host.sack=false"],
        ["path.loss=0.02", "host.timestamps=false", "host.ip=6"],
        ["path.jitter={spread='5 ms', reorder=true}"],
    ],
)
def test_loss_shows_as_loss_and_its_repair_and_nothing_else(
    lab: Path, tmp_path: Path, changes: list[str]
) -> None:
    run = captured(lab, changes, tmp_path / "out")
    for host in ("client", "server"):
        said = complaints(run / f"{host}.pcapng")
        overtaken = OVERTAKEN if "reorder" in changes[0] else set()
        assert said <= OPENING | REPAIR | overtaken
        assert said & REPAIR


def test_a_flipped_bit_shows_as_a_bad_checksum_at_the_receiver_only(lab: Path, tmp_path: Path) -> None:
    run = captured(lab, ["path.down.corrupt=0.01"], tmp_path / "out")
    bad = "tcp.checksum.status == 0"
    corrupted = bentpipe.Results.open(run).link["corrupted"].sum()
    assert corrupted > 0
    assert len(tshark(run / "client.pcapng", "frame.number", only=bad)) == corrupted
    assert tshark(run / "server.pcapng", "frame.number", only=bad) == []


def test_the_wire_carries_what_the_flow_says(lab: Path, tmp_path: Path) -> None:
    run = captured(lab, ["path.queue=100 MB"], tmp_path / "out")
    (flow,) = bentpipe.Results.open(run).flows.to_dicts()
    lines = tshark(run / "client.pcapng", "tcp.dstport", "tcp.len", "icmp.type", only="tcp || icmp")
    packets = [line.split("\t") for line in lines]
    assert sum(int(length) for port, length, _ in packets if port == str(flow["local_port"])) == flow["bytes"]
    assert sum(kind == "0" for _, _, kind in packets) == 3


NEAR = '[near]\nrtt = "10 ms"\n'


def test_near_is_captured_at_the_path_and_forwards_what_is_not_for_itself(lab: Path, tmp_path: Path) -> None:
    lab.write_text(lab.read_text() + NEAR)
    run = captured(lab, ["path.queue=100 MB"], tmp_path / "out", ("client", "near", "server"))
    assert complaints(run / "near.pcapng") <= OPENING
    client, near, server = (
        tshark(
            run / f"{host}.pcapng",
            "ip.dst",
            "tcp.seq_raw",
            "tcp.len",
            only="tcp.len > 0 && ip.src == 10.77.0.2",
        )
        for host in ("client", "near", "server")
    )
    assert len(client) > 1000
    # Some are still under way when the run ends.
    assert near[: len(client)] == client
    assert server[: len(near)] == near


WEB = """
title = "a page by the cache"
until = "done"
[path]
rtt = "100 ms"
[near]
rtt = "10 ms"
cache = { size = "1 MB" }
[[workload]]
name = "page"
kind = "http"
objects = ["20 kB", "30 kB"]
fetches = 2
"""


def test_the_connections_of_a_cache_have_nears_address(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(WEB)
    run = captured(lab, [], tmp_path / "out", ("client", "near"))
    between = {
        host: {
            frozenset(line.split("\t"))
            for line in tshark(run / f"{host}.pcapng", "ip.src", "ip.dst", only="tcp")
        }
        for host in ("client", "near")
    }
    assert between == {
        "client": {frozenset({"10.77.0.1", "10.77.0.3"})},
        "near": {frozenset({"10.77.0.3", "10.77.0.2"})},
    }


def test_a_capture_at_near_without_a_near_host_is_refused(lab: Path, tmp_path: Path) -> None:
    with pytest.raises(bentpipe.EngineError, match="no near host"):
        captured(lab, [], tmp_path / "out", ("near",))
