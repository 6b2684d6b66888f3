"""The lab that the doctor writes of a path as it was seen."""

import tomllib
from collections.abc import Mapping
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
