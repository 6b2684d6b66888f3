"""Transfers that share a queue are judged by what they carry together, and others by themselves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose, diagnose_all
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.doctor.lab_seen import lab_seen
from bentpipe.doctor.path_seen import path_seen

TWO = [{"name": name, "kind": "bulk", "direction": "down"} for name in ("one", "other")]
SHARED: Mapping[str, Mapping[str, Any]] = {
    "a deep queue": {"path": {"rtt": "50 ms", "rate": "5.05 Mbit/s", "queue": "126 kB"}},
    "a short queue": {"path": {"rtt": "12.5 ms", "rate": "2.13 Mbit/s", "queue": "20 kB"}},
    "BBR": {
        "path": {"rtt": "42 ms", "rate": "6.11 Mbit/s", "queue": "256 kB", "jitter": "0.42 ms"},
        "host": {"congestion_control": "bbr"},
    },
    "a file beside a stream": {
        "path": {"rtt": "60 ms", "rate": "12 Mbit/s"},
        "workload": [TWO[0], {"name": "other", "kind": "http", "size": "9 MB"}],
    },
}
ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")


def evidence(lab: Mapping[str, Any], seen_from: SeenFrom) -> list[Evidence]:
    run = bentpipe.simulate(bentpipe.Lab(**{"duration": "20 s", "workload": TWO, **lab}), sample_s=0.02)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    return list(from_run.transfers(run.record, tables, seen_from))


@pytest.mark.parametrize("seen_from", ENDS)
@pytest.mark.parametrize("case", SHARED)
def test_a_path_that_two_fill_is_full_for_either(case: str, seen_from: SeenFrom) -> None:
    found = diagnose_all(evidence(SHARED[case], seen_from))
    assert [each.findings[0].kind for each in found] == ["capacity", "capacity"]
    if case == "BBR":  # One of two may have a constant share.
        assert max(each.neighbours for each in found) == 1
    else:
        assert [each.neighbours for each in found] == [1, 1]
    assert all(each.view.connections.size == 1 for each in found)


@pytest.mark.parametrize("seen_from", ENDS)
def test_transfers_over_paths_of_their_own_are_no_neighbours(seen_from: SeenFrom) -> None:
    one = [TWO[0]]
    lossy = {"path": {"rtt": "80 ms", "rate": "50 Mbit/s", "loss": 0.003}, "workload": one}
    full = {"path": {"rtt": "40 ms", "rate": "8 Mbit/s", "queue": "1 bdp"}, "workload": one}
    apart = [*evidence(lossy, seen_from), *evidence(full, seen_from)]
    together = diagnose_all(apart)
    assert [kinds(each) for each in together] == [kinds(diagnose(each)) for each in apart]
    assert [each.neighbours for each in together] == [0, 0]
    assert [each.findings[0].kind for each in together] == ["random-loss", "capacity"]


def test_what_went_the_other_way_or_at_another_time_is_no_neighbour() -> None:
    first, second = evidence(SHARED["a deep queue"], "sender")
    later = replace(second, start_s=first.end_s, end_s=first.end_s + 20)
    for other in (replace(second, direction="up"), later):
        assert diagnose_all([first, other])[0].neighbours == 0


def test_what_mostly_idles_is_no_neighbour() -> None:
    idle = {"name": "web", "kind": "http", "size": "60 kB", "fetches": 3, "think": "6 s"}
    near = {"path": {"rtt": "30 ms", "rate": "20 Mbit/s"}, "workload": [idle]}
    far = {"path": {"rtt": "200 ms", "rate": "20 Mbit/s"}, "workload": [{**idle, "think": "7 s"}]}
    for seen_from in ENDS:
        apart = [*evidence(near, seen_from), *evidence(far, seen_from)]
        found = diagnose_all(apart)
        assert [each.neighbours for each in found] == [0, 0]
        assert [kinds(each) for each in found] == [kinds(diagnose(each)) for each in apart]


@pytest.mark.parametrize("seen_from", ENDS)
def test_neighbours_at_another_distance_leave_the_base_round_trip(seen_from: SeenFrom) -> None:
    one, other = evidence(SHARED["a deep queue"], seen_from)
    later = pl.col("srtt_s") + 0.2, pl.col("min_rtt_s") + 0.2
    farther = replace(other, samples=other.samples.with_columns(*later), pings=other.pings.clear())
    farther = replace(farther, handshake_rtt_s=(other.handshake_rtt_s or 0.05) + 0.2)
    near, far = diagnose_all([one, farther])
    assert (near.neighbours, far.neighbours) == (1, 1)
    assert near.view.base_rtt_s == pytest.approx(0.05, abs=0.005)
    assert far.view.base_rtt_s == pytest.approx(0.25, abs=0.01)


def test_files_one_after_another_are_neighbours_of_the_stream_beside_them() -> None:
    files = [
        {"name": name, "kind": "http", "size": "1.5 MB", "start": start}
        for name, start in (("first", "1 s"), ("second", "8 s"))
    ]
    lab = {"path": {"rtt": "40 ms", "rate": "8 Mbit/s", "queue": "60 kB"}, "workload": [TWO[0], *files]}
    found = diagnose_all(evidence(lab, "sender"))
    assert found[0].findings[0].kind == "capacity"
    assert found[0].neighbours == 2


def test_a_transfer_without_samples_is_told_so() -> None:
    one, other = evidence(SHARED["a deep queue"], "sender")
    empty = replace(other, samples=other.samples.clear())
    assert [each.neighbours for each in diagnose_all([one, empty])] == [0, 0]
    assert diagnose_all([one, empty])[1].findings[0].kind == "unknown"


def test_a_short_neighbour_counts_for_less_in_the_lab() -> None:
    lab = {"path": SHARED["a deep queue"]["path"], "workload": [TWO[0], {**TWO[1], "start": "14 s"}]}
    found = diagnose_all(evidence(lab, "sender"))
    assert found[0].at_once < 0.5
    path = path_seen(found)
    assert path is not None
    assert len(lab_seen(path, found)["workload"]) == 1


def test_the_lab_has_the_neighbours() -> None:
    found = diagnose_all(evidence(SHARED["a deep queue"], "sender"))
    path = path_seen(found)
    assert path is not None
    run = bentpipe.simulate(bentpipe.Lab(**lab_seen(path, found)))
    carried = sum(work["bytes"] for work in run.record["workloads"].values())
    assert carried == pytest.approx(sum(each.evidence.bytes for each in found), rel=0.05)


def kinds(of: Diagnosis) -> list[str]:
    return [each.kind for each in of.findings]
