"""The lab that the doctor writes of a path as it was seen."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.lab_seen import lab_seen, toml
from bentpipe.doctor.path_seen import path_seen

BULK = {"name": "download", "kind": "bulk", "direction": "down"}
PATHS: Mapping[str, Mapping[str, Any]] = {
    "policer": {
        "rtt": "50 ms",
        "rate": "40 Mbit/s",
        "down": {"policer": {"rate": "6 Mbit/s", "burst": "60 kB"}},
    },
    "line-drops": {"rtt": "50 ms", "rate": "40 Mbit/s", "down": {"delay_limit": "30 packets"}},
    "short-queue": {"rtt": "50 ms", "rate": "20 Mbit/s", "queue": "15 kB"},
    "ack-path": {"rtt": "50 ms", "rate": "20 Mbit/s", "up": {"rate": "100 kbit/s"}},
}


def goodput(run: bentpipe.Run) -> float:
    (work,) = run.record["workloads"].values()
    return float(work["bytes"] * 8 / 8.0)


@pytest.mark.parametrize("kind", PATHS)
def test_a_lab_has_what_drops_or_slows_and_carries_as_much(kind: str) -> None:
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=PATHS[kind], workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    assert found[0].findings[0].kind == kind
    path = path_seen(found)
    assert path is not None
    written = tomllib.loads(toml(lab_seen(path, found)))
    assert written == lab_seen(path, found)
    again = bentpipe.simulate(bentpipe.Lab(**{**written, "duration": "8 s"}))
    assert goodput(again) == pytest.approx(goodput(run), rel=0.15)


def test_a_lab_has_segments_as_late_as_they_were_and_the_usual_round_trip() -> None:
    # Goodput is not compared: with such jitter it differs by twice from seed to seed.
    jitter = {"spread": "8 ms", "distribution": "uniform", "reorder": True}
    path = {"rtt": "110 ms", "rate": "80 Mbit/s", "down": {"jitter": jitter}}
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", seed=1, path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    seen = path_seen(found)
    assert seen is not None
    written = tomllib.loads(toml(lab_seen(seen, found)))["path"]
    assert float(written["rtt"].split()[0]) == pytest.approx(110, rel=0.03)
    assert float(written["down"]["jitter"]["spread"].split()[0]) == pytest.approx(8, rel=0.25)
    assert written["down"]["jitter"]["reorder"] is True


def test_a_lab_leaves_out_what_dropped_for_a_small_part_of_the_time() -> None:
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=PATHS["policer"], workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (whole,) = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    path = path_seen([whole])
    assert path is not None
    slight = replace(whole, findings=tuple(replace(each, share=0.03) for each in whole.findings))
    assert "policer" in lab_seen(path, [whole])["path"]["down"]
    assert "policer" not in lab_seen(path, [slight])["path"].get("down", {})


def test_a_written_lab_has_booleans_of_toml() -> None:
    document = {"client": {"window_scaling": False}, "path": {"down": {"jitter": {"reorder": True}}}}
    assert tomllib.loads(toml(document)) == document
