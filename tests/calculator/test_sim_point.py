"""What `calc` gives the simulator directly is what a lab that says the same would give it."""

from pathlib import Path
from typing import Any

import pytest

from bentpipe.calculator.question import Question, ask
from bentpipe.calculator.sim_point import Work, bulk, data_pipe, fetch, simulate
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.linux import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.engines.sim_core import computed
from bentpipe.engines.sim_spec import sim_spec
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.point import Point
from bentpipe.lab.resolve import resolve
from bentpipe.lab.traces import Traces

DOWNLOAD = {"kind": "bulk", "streams": 2, "time": "4 s", "omit": "1 s"}
QUESTIONS: list[tuple[dict[str, Any], Work, dict[str, Any], float | None]] = [
    ({}, bulk(2, 4, 1), DOWNLOAD, None),
    ({"rtt": "33333333 ns", "mtu": 9000}, bulk(2, 4, 1), DOWNLOAD, None),
    ({"rtt": "2 ms"}, bulk(2, 4, 1), DOWNLOAD, None),
    ({"queue": "60 ms", "rate_up": "100 kbit/s"}, bulk(2, 4, 1), DOWNLOAD, 3.5),
    ({"loss": 0.01, "cc": "bbr"}, bulk(2, 4, 1), DOWNLOAD, None),
    ({"rcvbuf": "100 kB", "sndbuf": "8 kB", "cc": "reno"}, bulk(2, 4, 1), DOWNLOAD, None),
    (
        {"program": "long", "loss": 0.01},
        fetch("down", 10**6, connections=3),
        {"kind": "http", "connections": 3, "size": "1 MB"},
        None,
    ),
    (
        {"program": "short", "rate_up": "1 Mbit/s"},
        fetch("up", 10**6),
        {"kind": "http", "direction": "up", "size": "1 MB"},
        2.0,
    ),
]


@pytest.mark.parametrize(("asked", "work", "of_lab", "duration_s"), QUESTIONS)
def test_the_packets_are_those_of_the_lab_that_says_the_same(
    asked: dict[str, Any], work: Work, of_lab: dict[str, Any], duration_s: float | None
) -> None:
    question = ask(**({"rate": "10 Mbit/s", "rtt": "80 ms"} | asked))
    (found,) = simulate(question, [work], 3, duration_s)
    (expected,) = _of_lab(question, of_lab, 3, duration_s)
    assert found == expected
    assert found["bytes"] == expected["bytes"] > 0


def _of_lab(
    asked: Question, work: dict[str, Any], seed: int, duration_s: float | None
) -> list[dict[str, Any]]:
    data: dict[str, Any] = {"rate": f"{asked.rate_bit_s} bit/s", "loss": asked.loss}
    if asked.queue_bytes is not None:
        data["queue"] = f"{asked.queue_bytes} B"
    acks = {"rate": f"{asked.rate_up_bit_s or asked.rate_bit_s} bit/s"}
    down, up = (acks, data) if data_pipe(asked) == "up" else (data, acks)
    lab: dict[str, Any] = {
        "path": {"rtt": f"{round(asked.rtt_s * 1e9)} ns", "mtu": asked.mtu_bytes, "down": down, "up": up},
        "host": {
            "congestion_control": asked.congestion_control,
            "tcp_rmem": [4096, min(DEFAULT_RMEM[1], asked.rcvbuf_bytes), asked.rcvbuf_bytes],
            "tcp_wmem": [4096, min(DEFAULT_WMEM[1], asked.sndbuf_bytes), asked.sndbuf_bytes],
        },
        "workload": [{"name": "transfer-1", **work}],
    }
    if duration_s is not None:
        lab["duration"] = f"{round(duration_s * 1e9)} ns"
    run = resolve(LabFile.model_validate(lab), Traces(Path()))
    point = Point("calc", "calc", None, "as is", {}, seed, 0, run)
    nothing_of_queues = {"down": None, "up": None, "small_bytes": 0}
    spec = sim_spec(point, EngineOptions())
    outcome, _ = computed("the lab", spec, ["transfer-1"], nothing_of_queues)
    workloads: list[dict[str, Any]] = outcome["workloads"]
    return workloads
