"""The lab that the doctor writes of a path as it was seen."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.lab_seen import lab_seen, toml
from bentpipe.doctor.path_seen import path_seen
from bentpipe.doctor.rate_steps import rate_steps
from bentpipe.doctor.simulating import Outcome, goodputs

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


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_lab_of_a_full_path_that_changed_its_rate_has_the_steps(end: SeenFrom) -> None:
    steps = [["0 s", "20 Mbit/s"], ["4 s", "12 Mbit/s"], ["9 s", "16 Mbit/s"]]
    path = {"rtt": "80 ms", "rate": "20 Mbit/s", "down": {"rate": {"steps": steps}}}
    run = bentpipe.simulate(bentpipe.Lab(duration="14 s", path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, end)]
    seen = path_seen(found)
    assert seen is not None
    written = tomllib.loads(toml(lab_seen(seen, found)))
    told = [[float(each.split()[0]) for each in step] for step in written["path"]["down"]["rate"]["steps"]]
    assert [rate / 1e6 for _, rate in told] == pytest.approx([20, 12, 16], rel=0.02)
    # The rates of a receiver are uneven while it waits for what slow start lost.
    assert [at_s for at_s, _ in told] == pytest.approx([0, 4, 9], abs=0.3 if end == "sender" else 0.8)
    again = bentpipe.simulate(bentpipe.Lab(**{**written, "duration": "14 s"}))
    assert goodput(again) == pytest.approx(goodput(run), rel=0.05)


def test_a_lab_of_a_path_of_one_rate_has_no_steps() -> None:
    path = {"rtt": "80 ms", "rate": "20 Mbit/s"}
    run = bentpipe.simulate(bentpipe.Lab(duration="14 s", path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    assert found[0].findings[0].kind == "capacity"
    assert rate_steps(found[0]) == []


def test_a_lab_has_segments_as_late_as_they_were_and_the_usual_round_trip() -> None:
    # Goodput is not compared: with such jitter it differs by twice between seeds. With some, few are late.
    jitter = {"spread": "8 ms", "distribution": "uniform", "reorder": True}
    path = {"rtt": "110 ms", "rate": "80 Mbit/s", "down": {"jitter": jitter}}
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", seed=2, path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    seen = path_seen(found)
    assert seen is not None
    written = tomllib.loads(toml(lab_seen(seen, found)))["path"]
    assert float(written["rtt"].split()[0]) == pytest.approx(110, rel=0.03)
    assert float(written["down"]["jitter"]["spread"].split()[0]) == pytest.approx(8, rel=0.25)
    assert written["down"]["jitter"]["reorder"] is True


@pytest.mark.parametrize(("begins", "segments"), [(0.003, 6.0), (0.006, 4.0)])
def test_a_lab_of_bursty_losses_has_the_bursts_and_is_nearer_than_one_of_single_losses(
    begins: float, segments: float
) -> None:
    bursty = {"loss": {"model": "gilbert-elliott", "p": begins, "r": 1 / segments}}
    true = {"rtt": "60 ms", "rate": "30 Mbit/s", "down": bursty}
    off: dict[str, list[float]] = {"bursts": [], "single": []}
    for seed in (1, 2, 3):
        lab = bentpipe.Lab(duration="25 s", seed=seed, path=true, workload=[BULK])
        run = bentpipe.simulate(lab)
        tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
        found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
        path = path_seen(found)
        assert path is not None and path.loses_in_bursts
        written = tomllib.loads(toml(lab_seen(path, found)))
        loss = written["path"]["down"]["loss"]
        assert loss["model"] == "gilbert-elliott"
        assert loss["p"] == pytest.approx(begins, rel=0.5)
        assert 1 / loss["r"] == pytest.approx(segments, rel=0.5)
        single = lab_seen(replace(path, loss_burst_interval=(1.0, None)), found)
        assert single["path"]["down"]["loss"] == pytest.approx(path.loss, rel=0.01)
        seen_bit_s = found[0].evidence.goodput_bit_s
        assert seen_bit_s
        for name, document in (("bursts", written), ("single", single)):
            simulated = goodputs(document, {}, (11, 12, 13, 14))
            off[name].append(abs(math.log(sum(simulated) / len(simulated) / seen_bit_s)))
    assert sum(off["bursts"]) < sum(off["single"])


def test_a_lab_of_single_losses_has_them_as_a_number() -> None:
    path = {"rtt": "100 ms", "rate": "20 Mbit/s", "loss": 0.01}
    run = bentpipe.simulate(bentpipe.Lab(duration="25 s", path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    seen = path_seen(found)
    assert seen is not None and seen.loss_burst_segments is not None
    assert lab_seen(seen, found)["path"]["down"]["loss"] == pytest.approx(seen.loss, rel=0.01)


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


def test_a_transfer_against_the_way_that_the_path_was_seen_on_has_its_own_buffers_and_cures() -> None:
    small = {"tcp_rmem": [4096, 131072, 131072]}
    lab = bentpipe.Lab(
        duration="8 s", path={"rtt": "100 ms", "rate": "20 Mbit/s"}, client=small, workload=[BULK]
    )
    run = bentpipe.simulate(lab)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (found,) = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    path = path_seen([found])
    assert path is not None
    against = replace(path, direction="up", loss=0.01)
    written = lab_seen(against, [found])
    assert written["workload"][0]["direction"] == "down"
    assert written["client"]["tcp_rmem"][2] == pytest.approx(131072, rel=0.1)
    assert written["path"]["up"]["loss"] == 0.01
    assert [change for cure in cures(found, against) for change in cure.change] == ["client.tcp_rmem"]


def test_a_slow_way_up_does_not_limit_what_a_larger_window_gives_a_download() -> None:
    lab = bentpipe.Lab(
        duration="8 s",
        path={"rtt": "50 ms", "down": {"rate": "50 Mbit/s"}, "up": {"rate": "3 Mbit/s"}},
        client={"tcp_rmem": [4096, 87380, 87380]},
        workload=[BULK, {**BULK, "name": "upload", "direction": "up"}],
    )
    run = bentpipe.simulate(lab)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    path = path_seen(found)
    assert path is not None and path.direction == "up" and path.is_shared
    (download,) = [each for each in found if each.evidence.direction == "down"]
    assert download.evidence.goodput_bit_s is not None
    assert cures(download, path)[0].goodput_bit_s > 2 * download.evidence.goodput_bit_s


def test_bbr_fills_a_path_whose_lab_has_too_few_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    path = {"rtt": "100 ms", "rate": "20 Mbit/s", "loss": 0.01}
    run = bentpipe.simulate(bentpipe.Lab(duration="8 s", path=path, workload=[BULK]))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (found,) = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    seen_bit_s, path_of_it = found.evidence.goodput_bit_s, path_seen([found])
    assert found.findings[0].kind == "random-loss" and seen_bit_s and path_of_it is not None
    rate_bit_s = path_of_it.rate_bit_s or path_of_it.least_rate_bit_s
    assert rate_bit_s

    def simulated(_document: Any, change: Any, _seeds: Any) -> list[Outcome]:
        return [Outcome(0.9 * rate_bit_s if change else 3 * seen_bit_s, None, 0.0)] * 5

    monkeypatch.setattr("bentpipe.doctor.cures.outcomes", simulated)
    assert cures(found, path_of_it)[0].goodput_bit_s == pytest.approx(0.9 * rate_bit_s)


def test_a_lab_keeps_both_a_small_window_and_a_missing_option() -> None:
    host = {"client": {"tcp_rmem": [4096, 131072, 131072], "window_scaling": False}}
    lab = bentpipe.Lab(duration="8 s", path={"rtt": "100 ms", "rate": "20 Mbit/s"}, workload=[BULK], **host)
    run = bentpipe.simulate(lab)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (found,) = [diagnose(each) for each in from_run.transfers(run.record, tables, "sender")]
    both = tuple(replace(found.findings[0], kind=kind) for kind in ("receiver-window", "tcp-options"))
    path = path_seen([found])
    assert path is not None
    assert lab_seen(path, [replace(found, findings=both)])["client"].keys() == {"tcp_rmem", "window_scaling"}
