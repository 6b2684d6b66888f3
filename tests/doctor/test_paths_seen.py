"""Several paths in what one end saw: each transfer has its own, and what is said of it is of that path."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_findings import BULK, diagnosed

from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import path_seen, paths_seen
from bentpipe.doctor.prometheus import metrics
from bentpipe.doctor.simulating import Outcome
from bentpipe.doctor.words import as_json, lines
from bentpipe.tune.path import from_report

FAR: Mapping[str, Any] = {
    "path": {"rtt": "300 ms", "rate": "20 Mbit/s", "queue": "1 bdp"},
    "duration": "20 s",
}
NEAR: Mapping[str, Any] = {
    "path": {"rtt": "30 ms", "rate": "80 Mbit/s"},
    "client": {"tcp_rmem": [4096, 65536, 65536]},
    "duration": "5 s",
}


def to(lab: Mapping[str, Any], server: str) -> Diagnosis:
    found = diagnosed(lab)
    evidence = replace(found.evidence, name=f"from {server}", ends=frozenset({server}))
    return replace(found, evidence=evidence)


@pytest.fixture(scope="module")
def two() -> list[Diagnosis]:
    return [to(FAR, "192.0.2.1"), to(NEAR, "192.0.2.2")]


def test_each_server_has_its_own_path(two: list[Diagnosis]) -> None:
    far, near = paths_seen(two)
    assert far.rtt_s == pytest.approx(0.3, rel=0.02)
    assert near.rtt_s == pytest.approx(0.03, rel=0.02)
    assert paths_seen(two[:1])[0] == path_seen(two[:1])


def test_transfers_of_one_server_or_of_one_queue_share_a_path(two: list[Diagnosis]) -> None:
    far, near = two
    again = replace(near, evidence=replace(near.evidence, ends=far.evidence.ends))
    assert len({id(path) for path in paths_seen([far, again])}) == 1
    beside = [replace(far, neighbours=1), replace(to(FAR, "192.0.2.3"), neighbours=1)]
    assert len({id(path) for path in paths_seen(beside)}) == 1
    assert len({id(path) for path in paths_seen([replace(each, neighbours=1) for each in two])}) == 2


def test_each_direction_has_its_own_path(two: list[Diagnosis]) -> None:
    near = two[0]
    back = replace(near, evidence=replace(near.evidence, direction="up"))
    one, other = paths_seen([near, back])
    assert one is not other


def test_words_json_metrics_and_a_plan_have_the_path_of_each_transfer(
    two: list[Diagnosis], tmp_path: Path
) -> None:
    paths = paths_seen(two)
    said = "\n".join(lines(two, paths, [[], []], [None, None])).replace("\N{NO-BREAK SPACE}", " ")
    assert "Path as seen (from 192.0.2.1): base RTT 300 ms" in said
    assert "Path as seen (from 192.0.2.2): base RTT 30" in said
    entry = {"watch": "all", **as_json("watch", two, paths, [[], []], [None, None])}
    assert entry["path"] == entry["transfers"][0]["path"] != entry["transfers"][1]["path"]
    rtts = [line for line in metrics([entry], 0.0) if line.startswith("bentpipe_doctor_path_rtt")]
    assert [f'transfer="from 192.0.2.{number}"' in line for number, line in enumerate(rtts, 1)] == [True] * 2
    report = tmp_path / "report.json"
    report.write_text(json.dumps(entry))
    planned = from_report(report, "from 192.0.2.2", None)
    assert planned.rtt_s == pytest.approx(paths[1].rtt_s, rel=1e-4)


def test_the_cure_of_a_transfer_is_simulated_on_its_own_path(two: list[Diagnosis]) -> None:
    paths = paths_seen(two)
    (cure, *_) = cures(two[1], paths[1])
    goodput_bit_s = two[1].evidence.goodput_bit_s
    assert goodput_bit_s and cure.seen_simulated_bit_s == pytest.approx(goodput_bit_s, rel=0.1)


def test_a_change_that_gives_no_more_is_not_offered_and_no_interval_is_below_zero(
    two: list[Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, (_, path) = two[1], paths_seen(two)
    seen_bit_s = near.evidence.goodput_bit_s
    assert seen_bit_s

    def varying(times: float) -> Any:
        return lambda _lab, change, _seeds: [
            Outcome(seen_bit_s * (times * many if change else 1.0), None, 0.0)
            for many in (0.1, 0.1, 0.1, 0.1, 6.0)
        ]

    monkeypatch.setattr("bentpipe.doctor.cures.outcomes", varying(1.0))
    assert [cure.low_bit_s for cure in cures(near, path)] == [0.0]
    monkeypatch.setattr("bentpipe.doctor.cures.outcomes", varying(0.5))
    assert cures(near, path) == []


def test_what_the_path_carried_at_least_is_not_above_its_rate(two: list[Diagnosis]) -> None:
    path = paths_seen(two)[0]
    assert path.rate_from == "queue" and path.rate_bit_s
    found = replace(path, least_rate_bit_s=1.2 * path.rate_bit_s).as_json()
    assert found["least_rate_mbit_s"] == found["rate_mbit_s"]


def test_a_short_queue_that_was_found_is_the_paths_queue() -> None:
    found = diagnosed({"path": {"rtt": "100 ms", "rate": "50 Mbit/s", "queue": "30 kB"}})
    assert found.findings[0].kind == "short-queue"
    (path,) = paths_seen([found])
    assert path.queue_bytes is not None
    assert path.queue_bytes >= found.findings[0].evidence["queue_bytes"]


def test_each_finding_has_its_certainty_and_the_order_is_explained_where_it_needs_it() -> None:
    found = diagnosed({"path": {"rtt": "20 ms", "rate": "20 Mbit/s", "queue": "5 bdp"}, "workload": [BULK]})
    said = list(lines([found], paths_seen([found]), [[]], [None]))
    assert [line.count("(certainty ") for line in said[1:4]] == [1, 0, 1]
    assert "It would not be so with" in said[2]
    assert any("Shares are of the time" in line and "bufferbloat" in line for line in said)
    plain = replace(found, findings=found.findings[:1])
    assert not any("Shares" in line for line in lines([plain], paths_seen([plain]), [[]], [None]))
