"""What the doctor says where BBR sends, or several connections at once."""

from collections.abc import Mapping
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.evidence import SeenFrom

PATH = {"rtt": "80 ms", "rate": "20 Mbit/s"}
BULK = {"name": "download", "kind": "bulk", "direction": "down"}
BBR = {"congestion_control": "bbr"}


def diagnosed(lab: Mapping[str, Any], seen_from: SeenFrom = "sender") -> Diagnosis:
    run = bentpipe.simulate(bentpipe.Lab(**{"duration": "12 s", "path": PATH, "workload": [BULK], **lab}))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (evidence,) = from_run.transfers(run.record, tables, seen_from)
    return diagnose(evidence)


@pytest.mark.parametrize(
    ("kind", "lab"),
    [
        ("receiver-window", {"client": {"tcp_rmem": [4096, 131072, 131072]}}),
        ("tcp-options", {"path": {**PATH, "rate": "100 Mbit/s"}, "client": {"window_scaling": False}}),
        ("capacity", {}),
    ],
)
def test_of_bbr_what_keeps_its_probes_from_the_path_is_not_called_the_path(
    kind: str, lab: Mapping[str, Any]
) -> None:
    assert diagnosed({"host": BBR, **lab}).findings[0].kind == kind


def test_of_bbr_the_path_is_never_certain_since_a_slow_way_back_may_look_alike() -> None:
    first = diagnosed({"host": BBR}).findings[0]
    assert first.kind == "capacity"
    assert first.certainty <= 0.8
    slow_return = diagnosed({"host": BBR, "path": {**PATH, "up": {"rate": "60 kbit/s"}}})
    assert slow_return.findings[0].kind == "ack-path"
    assert slow_return.view.capacity_bit_s is None


def test_of_bbr_a_loss_before_an_outage_is_no_policer() -> None:
    path = {**PATH, "queue": "1 bdp", "outages": [["5 s", "4 s"]]}
    kinds = {each.kind for each in diagnosed({"host": BBR, "path": path}).findings}
    assert "policer" not in kinds


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
@pytest.mark.parametrize(
    ("kind", "path"),
    [("capacity", {"queue": "1 bdp"}), ("random-loss", {"rate": "50 Mbit/s", "loss": 0.004})],
)
def test_four_connections_have_the_limit_that_one_has(
    kind: str, path: Mapping[str, Any], seen_from: SeenFrom
) -> None:
    lab = {"path": {**PATH, **path}, "workload": [{**BULK, "streams": 4}]}
    assert diagnosed(lab, seen_from).findings[0].kind == kind
