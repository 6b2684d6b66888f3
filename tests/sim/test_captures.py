"""A simulated host's capture, as tshark's own analysis of TCP judges it."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.run import execute

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


def captured(lab: Path, changes: Sequence[str], folder: Path) -> Path:
    options = EngineOptions(pcap=("client", "server"))
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
        assert said <= OPENING | REPAIR
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
    port = flow["local_port"]
    only = f"tcp.dstport == {port} && tcp.len > 0"
    lengths = tshark(run / "client.pcapng", "tcp.len", only=only)
    assert sum(map(int, lengths)) == flow["bytes"]
    echoes = tshark(run / "client.pcapng", "icmp.seq", only="icmp.type == 0")
    assert len(echoes) == 3
