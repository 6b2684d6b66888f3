"""The rate of a path that was never full, by the round trips of slow start in the samples of sockets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from test_findings import BULK, diagnosed

from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.lab_seen import lab_seen
from bentpipe.doctor.matching import matched
from bentpipe.doctor.path_seen import path_seen
from bentpipe.doctor.simulating import goodputs
from bentpipe.doctor.start_rate import start_rate
from bentpipe.doctor.words import path_words

LARGE = {"tcp_rmem": [4096, 131072, 8_388_608], "tcp_wmem": [4096, 16384, 8_388_608]}
SMALL_WINDOW = {"host": LARGE, "client": {"tcp_rmem": [4096, 131072, 200_000]}}
LIMITS: Mapping[str, tuple[SeenFrom, Mapping[str, Any]]] = {
    "a small window, at the sender": ("sender", SMALL_WINDOW),
    "a small window, at the receiver": ("receiver", SMALL_WINDOW),
    "no window scaling": ("sender", {"host": LARGE, "client": {"window_scaling": False}}),
    # With 150 kB it is wrong (13 of 20, 52 of 60 Mbit/s): bursts beyond the buffer are taken for a queue.
    "a small send buffer": ("sender", {"host": {**LARGE, "tcp_wmem": [4096, 16384, 180_000]}}),
    "an upload": (
        "sender",
        {**SMALL_WINDOW, "server": SMALL_WINDOW["client"], "workload": [{**BULK, "direction": "up"}]},
    ),
    "Reno": ("sender", {**SMALL_WINDOW, "host": {**LARGE, "congestion_control": "reno"}}),
}


@pytest.mark.parametrize("rate_mbit_s", [8, 20, 60])
@pytest.mark.parametrize("limit", LIMITS)
def test_slow_start_shows_the_rate_that_the_transfer_never_reached(limit: str, rate_mbit_s: int) -> None:
    seen_from, lab = LIMITS[limit]
    found = diagnosed({**lab, "path": {"rtt": "240 ms", "rate": f"{rate_mbit_s} Mbit/s"}}, seen_from)
    path = path_seen([found])
    assert path is not None
    if seen_from == "receiver" and rate_mbit_s == 60:
        assert path.rate_bit_s is None, "a receiver knows its round trip to a millisecond"
        return
    assert path.rate_from == "start"
    assert path.rate_bit_s == pytest.approx(rate_mbit_s * 1e6, rel=0.1)
    low, high = path.rate_interval_bit_s
    assert low is not None and high is not None and low < rate_mbit_s * 1e6 < high
    assert path.rate_bounds and "by the round trips of slow start" in path_words(path)
    assert path.as_json()["rate_from"] == "start"


def test_a_cure_is_predicted_for_the_path_that_slow_start_showed() -> None:
    path = {"rtt": "240 ms", "rate": "10 Mbit/s"}
    found = diagnosed({"host": LARGE, "client": {"window_scaling": False}, "path": path})
    seen = path_seen([found])
    assert seen is not None
    (best, *_) = cures(found, seen)
    real = diagnosed({"host": LARGE, "path": path}).evidence.goodput_bit_s
    assert best.goodput_bit_s == pytest.approx(real, rel=0.1)
    assert best.high_bit_s is not None, "the path's rate is known"


NOT_TOLD: Mapping[str, Mapping[str, Any]] = {
    "the path adds no wait that is seen": {**SMALL_WINDOW, "path": {"rtt": "240 ms", "rate": "10 Gbit/s"}},
    "several connections share it": {
        **SMALL_WINDOW,
        "path": {"rtt": "240 ms", "rate": "60 Mbit/s"},
        "workload": [{**BULK, "streams": 4}],
    },
    "its pacing limits the sender": {
        "host": {"congestion_control": {"name": "fixed-rate", "rate": "5 Mbit/s"}}
    },
    "jitter is larger than the waits": {
        **SMALL_WINDOW,
        "path": {
            "rtt": "240 ms",
            "rate": "60 Mbit/s",
            "down": {"jitter": {"spread": "10 ms", "distribution": "normal"}},
        },
    },
}


@pytest.mark.parametrize("why", NOT_TOLD)
def test_no_rate_is_told_where(why: str) -> None:
    found = diagnosed(NOT_TOLD[why])
    path = path_seen([found])
    assert path is not None and path.rate_from != "start"
    assert found.findings[0].kind == ("pacing" if "pacing" in why else "receiver-window"), "and not for that"


def test_a_transfer_whose_beginning_was_not_seen_tells_none() -> None:
    whole = diagnosed({**SMALL_WINDOW, "path": {"rtt": "240 ms", "rate": "20 Mbit/s"}})
    assert start_rate(whole, 1e6) is not None
    later = whole.evidence.samples.filter(pl.col("time_s") > 5)
    counters = pl.col("sent_bytes", "delivered_bytes", "arrived_bytes", "retransmitted_bytes", "retransmits")
    watched = replace(
        whole.evidence, samples=later.with_columns(counters - counters.first()), start_s=5.0, begun=False
    )
    assert start_rate(diagnose(watched), 1e6) is None


def test_a_short_start_that_was_hardly_seen_is_no_error() -> None:
    whole = diagnosed({**SMALL_WINDOW, "path": {"rtt": "700 ms", "rate": "500 kbit/s"}})
    first_s = float(whole.evidence.samples.filter(pl.col("delivered_bytes") > 0)["time_s"].min())  # type: ignore[arg-type]
    few = whole.evidence.samples.filter(pl.col("time_s") < first_s + 0.25)
    for handshake_s in (None, whole.evidence.handshake_rtt_s):
        short = replace(whole.evidence, samples=few, start_s=first_s - 0.05, handshake_rtt_s=handshake_s)
        assert start_rate(diagnose(short), 1e5) is None


def test_what_takes_too_many_packets_to_simulate_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = diagnosed({**SMALL_WINDOW, "path": {"rtt": "240 ms", "rate": "20 Mbit/s"}})
    assert start_rate(found, 1e6) is not None
    monkeypatch.setattr("bentpipe.doctor.start_rate._MOST_SEGMENTS", 10)
    assert start_rate(found, 1e6) is None


def test_a_delay_line_holds_as_much_as_makes_the_lab_carry_what_was_seen() -> None:
    found = diagnosed(
        {
            "host": LARGE,
            "path": {"rtt": "355 ms", "rate": "22 Mbit/s", "down": {"delay_limit": "138 packets"}},
            "duration": "20 s",
        }
    )
    path, seen = path_seen([found]), found.evidence.goodput_bit_s
    assert path is not None and path.rate_from == "start" and found.findings[0].kind == "line-drops" and seen
    lab = lab_seen(path, [found])
    (scaled,) = goodputs(matched(lab, found, path), {}, (1,))
    assert scaled == pytest.approx(seen, rel=0.1)
    (unscaled,) = goodputs(lab, {}, (1,))
    assert abs(unscaled / seen - 1) > abs(scaled / seen - 1)
