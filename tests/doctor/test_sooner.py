"""What the start of a transfer shows, and payload that comes sooner than a queue would let it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import bentpipe
from bentpipe.analysis.send_memory import grown_for_bytes
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.evidence import Evidence, SeenFrom, samples
from bentpipe.doctor.families.sender_from_afar import sender_side
from bentpipe.doctor.return_way import sooner_s
from bentpipe.doctor.viewed import view

_BULK = {"name": "download", "kind": "bulk", "direction": "down"}
_UP = {"name": "upload", "kind": "bulk", "direction": "up"}
_LABS: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "bursts arrive at the path's rate, far above what comes after they overflowed a queue": (
        "short-queue",
        "receiver",
        {
            "duration": "6 s",
            "seed": 80033,
            "path": {"rtt": "135.246 ms", "rate": "26.551 Mbit/s", "queue": "23925 B"},
        },
    ),
    "so do the acknowledgements for them": (
        "short-queue",
        "sender",
        {
            "duration": "24.3 s",
            "seed": 33,
            "path": {"rtt": "404.541 ms", "rate": "118.606 Mbit/s", "queue": "485125 B"},
            "host": {"tcp_rmem": [4096, 131072, 47980911], "tcp_wmem": [4096, 16384, 47980911]},
        },
    ),
    "the first window arrives at the path's rate, and what the ACKs ask for comes slowly": (
        "ack-path",
        "receiver",
        {"path": {"rtt": "44 ms", "rate": "1.5 Mbit/s", "up": {"rate": "6 kbit/s"}}},
    ),
    "a sender that paces itself does not catch up with anything": (
        "pacing",
        "receiver",
        {
            "path": {"rtt": "150 ms", "rate": "11 Mbit/s"},
            "workload": [{**_BULK, "max_pacing_rate": "5.9 Mbit/s"}],
        },
    ),
    "a send buffer that may grow is not what limits": (
        "sender-application",
        "sender",
        {
            "path": {"rtt": "17 ms", "rate": "46 Mbit/s"},
            "split": {},
            "near": {"rtt": "1 ms", "rate": "10.85 Mbit/s"},
            "workload": [_UP],
        },
    ),
}


_MESSAGES = {"kind": "interactive", "time": "6 s", "interval": "20 ms", "size": "4000 B"}


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_messages_are_a_transfer_where_there_is_no_other(end: SeenFrom) -> None:
    lab = {"path": {"rtt": "40 ms", "rate": "20 Mbit/s"}, "workload": [_MESSAGES]}
    found = diagnosed(lab, end)
    assert found.evidence.direction == "up"
    assert found.evidence.bytes == pytest.approx(6 / 0.02 * 4000, rel=0.02)
    assert found.findings[0].kind == "sender-application"
    beside = diagnosed(lab | {"workload": [_MESSAGES, _BULK]}, end)
    assert beside.evidence.direction == "down"


def diagnosed(lab: Mapping[str, Any], end: SeenFrom) -> Diagnosis:
    run = bentpipe.simulate(bentpipe.Lab(**{"duration": "8 s", "workload": [_BULK], **lab}), sample_s=0.02)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (seen,) = from_run.transfers(run.record, tables, end)
    return diagnose(seen)


@pytest.mark.parametrize("rule", _LABS)
def test_the_limit_is_named(rule: str) -> None:
    kind, end, lab = _LABS[rule]
    assert diagnosed(lab, end).findings[0].kind == kind


@pytest.mark.parametrize("seed", [1, 3])
def test_a_few_losses_in_a_full_receive_window_do_not_show_the_rate_of_the_path(seed: int) -> None:
    lab = {
        "path": {"rtt": "15.78 ms", "rate": "45 Mbit/s", "down": {"loss": 0.0002}},
        "client": {"tcp_rmem": [4096, 64802, 64802]},
        "seed": seed,
    }
    found = diagnosed(lab, "sender")
    assert found.view.capacity_from == ""
    assert found.findings[0].kind == "receiver-window"


@pytest.mark.parametrize("rate", ["2 Mbit/s", "50 Mbit/s"])
@pytest.mark.parametrize("queue", ["1 bdp", "4 bdp"])
def test_behind_a_queue_of_its_own_no_payload_comes_sooner(rate: str, queue: str) -> None:
    found = diagnosed({"path": {"rtt": "60 ms", "rate": rate, "queue": queue}}, "receiver")
    assert found.findings[0].kind == "capacity"
    assert found.view.early_s == 0


@pytest.mark.parametrize(("first", "found_s"), [(10, 0.48), (3, 0.0)])
def test_a_first_window_is_sooner_than_a_queue_if_it_is_more_than_a_bunch(first: int, found_s: float) -> None:
    """Segments come 20 per second, after some that come at once."""
    time_s = np.arange(0, 5, 0.02)
    segments = np.where(time_s > 0.01, first + 20 * time_s, 0.0)
    sooner = sooner_s(time_s=time_s, segments=segments, per_s=20, base_s=0.05)
    assert sooner == pytest.approx(found_s, abs=0.03)


def test_a_buffer_that_linux_sizes_is_told_by_its_size() -> None:
    # 46,080 and 87,040 bytes are two windows of ten segments in two kernels; a program asked for 131,072.
    found = grown_for_bytes(np.array([46_080.0, 156_672.0, 87_040.0, 131_072.0]), 1448.0, is_bbr=False)
    assert found[:3].tolist() == [10 * 1448, 34 * 1448, 10 * 1448]
    assert np.isnan(found[3])
    assert grown_for_bytes(np.array([69_120.0]), 1448.0, is_bbr=True).tolist() == [10 * 1448]


@pytest.mark.parametrize(
    ("caught_up", "begun", "kind"),
    [(0, True, "pacing"), (100, True, "sender-application"), (0, False, None), (100, False, None)],
)
def test_the_start_tells_pacing_from_a_program_if_it_was_seen(
    caught_up: int, begun: bool, kind: str | None
) -> None:
    """400 segments a second over 100 ms, half of them in the first second; then the rest of it, or not."""
    time_s = np.arange(0, 8, 0.02)
    rest = caught_up * np.clip((time_s - 1) / 0.3, 0, 1)
    segments = np.where(time_s < 1, 200 * time_s, 400 * time_s - 200) + rest
    seen = view(replace(at_receiver(time_s, segments, rtt_s=0.1), begun=begun))
    even = {"send-buffer": 0.0, "sender-application": 0.5, "pacing": 0.5}
    chances = sender_side(seen, np.ones(seen.size, bool), even).evidence["chances"]
    if kind is None:
        assert chances["pacing"] == chances["sender-application"]
    else:
        assert chances[kind] == pytest.approx(0.9)


@pytest.mark.parametrize(("repays", "kind"), [(False, "pacing"), (True, "sender-application")])
def test_what_a_stopping_host_lacks_is_never_repaid_by_pacing(repays: bool, kind: str) -> None:
    """400 segments a second over 100 ms, half of them in the first second. The host stops for 0.1 s at 2, 4
    and 6 s. A program sends the rest later; a sender that paces itself does not."""
    time_s = np.arange(0, 8, 0.02)
    segments = np.where(time_s < 1, 200 * time_s, 400 * time_s - 200)
    for stop_s in (2, 4, 6):
        segments -= 40 * np.clip((time_s - stop_s) / 0.1, 0, 1)
    if repays:
        for stop_s, owed in ((1, 200), (2.1, 40), (4.1, 40), (6.1, 40)):
            segments += owed * np.clip((time_s - stop_s) / 0.3, 0, 1)
    seen = view(at_receiver(time_s, segments, rtt_s=0.1))
    by_trees = {"send-buffer": 0.0, "sender-application": 0.97, "pacing": 0.03}
    chances = sender_side(seen, np.ones(seen.size, bool), by_trees).evidence["chances"]
    assert chances[kind] >= 0.9


_TIME_S = np.arange(0, 8, 0.02)
_PROGRAMS = {
    "it writes for a second, and pauses for 0.25 s": 860 * np.minimum(_TIME_S % 1.25, 1.0)
    + 860 * np.floor(_TIME_S / 1.25),
    "it ends before the samples do": np.minimum(860 * _TIME_S, 860 * 6.0),
    "it writes more slowly for four seconds": 900 * _TIME_S + 100 * np.maximum(_TIME_S - 4, 0),
    "it writes blocks": 88 * np.floor(4000 * _TIME_S / 88),
    "it begins just after a sample": np.maximum(1000 * (_TIME_S - 0.019), 0),
}


@pytest.mark.parametrize("program", _PROGRAMS)
@pytest.mark.parametrize("rtt_s", [0.02, 0.08, 0.2])
@pytest.mark.parametrize("every", [1, 5])
def test_other_programs_owe_nothing(program: str, rtt_s: float, every: int) -> None:
    seen = view(at_receiver(_TIME_S[::every], _PROGRAMS[program][::every], rtt_s=rtt_s))
    by_trees = {"send-buffer": 0.0, "sender-application": 0.99, "pacing": 0.01}
    chances = sender_side(seen, np.ones(seen.size, bool), by_trees).evidence["chances"]
    assert chances["sender-application"] >= 0.99


def test_what_is_missing_late_in_a_transfer_is_not_missing_since_its_start() -> None:
    """Over half a second of round trip the start is six of eight seconds. A program pauses late in it."""
    segments = 860 * _TIME_S - 860 * np.clip(_TIME_S - 5.6, 0, 0.3)
    seen = view(at_receiver(_TIME_S, segments, rtt_s=0.5))
    by_trees = {"send-buffer": 0.0, "sender-application": 0.99, "pacing": 0.01}
    chances = sender_side(seen, np.ones(seen.size, bool), by_trees).evidence["chances"]
    assert chances["sender-application"] >= 0.99


def test_the_first_ten_segments_of_a_paced_connection_stand_out_where_few_are_in_flight() -> None:
    time_s = np.arange(0, 8, 0.02)
    even = {"send-buffer": 0.0, "sender-application": 0.5, "pacing": 0.5}
    for at_once, pacing in ((10, 0.9), (2, 0.5)):
        segments = np.where(time_s > 0, at_once + 30 * time_s, 0.0)
        seen = view(at_receiver(time_s, segments, rtt_s=0.1))
        chances = sender_side(seen, np.ones(seen.size, bool), even).evidence["chances"]
        assert chances["pacing"] == pytest.approx(pacing)


def received(burst: int, every_s: float, *, rtt_s: float = 0.06, per_s: float = 1650.0) -> Evidence:
    """What a receiver's socket shows of bursts of so many segments, which come at the path's rate."""
    time_s = np.arange(0, 8, 0.02)
    whole, since_s = np.divmod(time_s, every_s)
    segments = np.floor(whole * burst + np.minimum(since_s * per_s, burst))
    return at_receiver(time_s, segments, rtt_s)


@pytest.mark.parametrize(("waits_s", "every"), [(0.1, 1), (0.2, 1), (0.28, 1), (0.25, 5), (0.28, 5)])
def test_a_wait_of_a_moment_is_no_queue_on_the_way_back(waits_s: float, every: int) -> None:
    """A program writes 860 segments per second. Its host stops at 1.3 s: few segments come meanwhile, and a
    round trip lasts 44 ms."""
    stopped = np.abs(_TIME_S - 1.29 - waits_s / 2) < waits_s / 2
    segments = np.cumsum(np.where(stopped, 200.0, 860.0) * 0.02)
    of = at_receiver(_TIME_S[::every], segments[::every], np.where(stopped, 0.044, 0.011)[::every])
    seen = view(of)
    assert seen.early_s == 0
    assert not seen.returning.any()
    assert diagnose(of).findings[0].kind in ("sender-application", "pacing")


def test_a_queue_of_acks_may_stand_for_less_than_two_long_round_trips() -> None:
    """It does not stand before 6.7 s, and the transfer ends after 8 s."""
    path = {"rtt": "600 ms", "rate": "2 Mbit/s", "up": {"rate": "6 kbit/s"}}
    assert diagnosed({"path": path}, "receiver").view.returning.any()


def at_receiver(time_s: np.ndarray, segments: np.ndarray, rtt_s: float | np.ndarray) -> Evidence:
    frame = pl.DataFrame(
        {
            "time_s": time_s,
            "connection": np.zeros(time_s.size, np.int64),
            "delivered_bytes": (segments * 1448).astype(np.int64),
            "segments_sent": segments.astype(np.int64),
            "acks": (segments // 2).astype(np.int64),
            "out_of_order": np.zeros(time_s.size, np.int64),
            "rwnd_bytes": np.full(time_s.size, 3_000_000),
            "srtt_s": np.broadcast_to(rtt_s, time_s.size).copy(),
            "min_rtt_s": np.full(time_s.size, np.min(rtt_s)),
        }
    )
    return Evidence("made up", "down", "receiver", 0.0, 8.0, int(segments[-1] * 1448), 1448, samples(frame))


@pytest.mark.parametrize(
    ("burst", "every_s", "is_programs"),
    [(90, 0.25, True), (90, 0.21, True), (45, 0.06, False), (20, 0.06, False)],
)
def test_bursts_that_are_farther_apart_than_a_round_trip_are_a_programs(
    burst: int, every_s: float, is_programs: bool
) -> None:
    first = diagnose(received(burst, every_s)).findings[0]
    # Pauses tell it for sure. Without them it is what the trees say.
    assert ((first.kind, first.certainty) == ("sender-application", 1.0)) is is_programs
    assert first.kind in ("sender-application", "send-buffer", "pacing")
