"""The goodput that the doctor says, beside the one that the programs measured."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_capture, from_run
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.lab_seen import lab_seen
from bentpipe.doctor.path_seen import path_seen
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

_FAR = {"rtt": "250 ms", "rate": "20 Mbit/s"}
_BULK = {"name": "download", "kind": "bulk", "direction": "down"}
_UPLOAD = {"name": "upload", "kind": "bulk", "direction": "up"}
_FILE = {"name": "page", "kind": "http", "size": "2 MB"}
_TABLES = ("sockets", "flows", "pings")


def by_programs(work: dict[str, Any]) -> float:
    return float(work["bytes"] * 8 / (work["completion_s"] or work["duration_s"]))


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("work", [_BULK, _UPLOAD, _FILE], ids=["download", "upload", "file"])
def test_by_sockets_it_is_the_programs(work: dict[str, Any], end: Any) -> None:
    # A program like iperf3 connects twice before it sends: 1.3 of these 8 s.
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=_FAR, workload=[work]))
    tables = {name: run.table(name) for name in _TABLES}
    (seen,) = from_run.transfers(run.record, tables, end)
    (figures,) = run.record["workloads"].values()
    # Of an upload iperf3's server counts a round trip more: from when it tells the client to begin.
    off = 0.05 if work is _UPLOAD else 0.02
    assert seen.goodput_bit_s == pytest.approx(by_programs(figures), rel=off)


@pytest.mark.parametrize("host", ["client", "server"])
@pytest.mark.parametrize("work", [_BULK, _UPLOAD, _FILE], ids=["download", "upload", "file"])
def test_by_a_capture_it_is_the_programs(work: dict[str, Any], host: str, tmp_path: Path) -> None:
    lab = bentpipe.Lab(duration="8 s", path=_FAR, workload=[work])
    done = execute(lab, engine="sim", out=tmp_path / "out", options=EngineOptions(pcap=("client", "server")))
    (folder,) = (tmp_path / "out").glob("[!.]*/")
    seen = from_capture.read(folder / f"{host}.pcapng").transfers[0]
    (figures,) = done.records[0]["workloads"].values()
    assert seen.goodput_bit_s == pytest.approx(by_programs(figures), rel=0.04)


def test_the_doctors_lab_transfers_for_as_long_as_was_seen() -> None:
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=_FAR, workload=[_BULK]))
    tables = {name: run.table(name) for name in _TABLES}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    path = path_seen(found)
    assert path is not None
    again = bentpipe.simulate(bentpipe.Lab(**lab_seen(path, found)))
    (first,), (second,) = run.record["workloads"].values(), again.record["workloads"].values()
    assert second["duration_s"] == pytest.approx(first["duration_s"], rel=0.02)


def test_a_window_that_came_at_once_has_no_goodput_of_its_own() -> None:
    """20 kB over a connection that stays open: one window, which takes the round trip before it too."""
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=_FAR, workload=[{**_FILE, "size": "20 kB"}]))
    tables = {name: run.table(name) for name in _TABLES}
    (seen,) = from_run.transfers(run.record, tables, "receiver")
    still_open = replace(seen, ended="open")
    assert not still_open.counts_from_payload
    assert still_open.duration_s >= 2 * 0.25
