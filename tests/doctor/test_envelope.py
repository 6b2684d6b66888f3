"""The arrivals' envelope: each limit bounds it at its own time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.envelope_signs import envelope_signs
from bentpipe.doctor.evidence import Evidence, samples
from bentpipe.doctor.several import whole
from bentpipe.doctor.view import View
from bentpipe.doctor.viewed import view

MSS = 1448
EVERY_S = 0.1
RTT_S = 0.2
TIME_S = np.arange(0.0, 30.0, EVERY_S)


def at_receiver(*segments: np.ndarray) -> View:
    """Of connections with so many segments each."""
    frames = [
        pl.DataFrame(
            {
                "time_s": TIME_S,
                "connection": [number] * TIME_S.size,
                "delivered_bytes": (each * MSS).astype(int),
                "segments_sent": each.astype(int),
                "out_of_order": [0] * TIME_S.size,
                "rwnd_bytes": [10_000_000] * TIME_S.size,
                "srtt_s": [RTT_S] * TIME_S.size,
                "min_rtt_s": [RTT_S] * TIME_S.size,
            }
        )
        for number, each in enumerate(segments)
    ]
    return view(
        Evidence(
            name="made up",
            direction="down",
            seen_from="receiver",
            start_s=0.0,
            end_s=float(TIME_S[-1]),
            bytes=int(sum(each[-1] for each in segments)) * MSS,
            mss_bytes=MSS,
            samples=samples(pl.concat(frames)),
        )
    )


EVENLY = 500 * TIME_S
IN_BURSTS = np.cumsum(np.where(np.arange(TIME_S.size) % 2 == 0, 100.0, 0.0))
"""As many in each round trip of two samples, all in the first of them."""


def test_what_comes_evenly_has_one_rate_at_any_time() -> None:
    found = envelope_signs(at_receiver(EVENLY))
    for name in ("most_of_sample", "most_of_1", "most_of_4", "most_of_16"):
        assert found[name] == pytest.approx(0, abs=0.02)
    assert found["first_round"] == pytest.approx(0, abs=0.1)
    assert found["at_most"] == 1


def test_windows_that_come_in_bursts_exceed_their_rate_within_a_round_trip_only() -> None:
    found = envelope_signs(at_receiver(IN_BURSTS))
    assert found["most_of_sample"] == pytest.approx(np.log(2), abs=0.05)
    assert found["most_of_1"] == pytest.approx(0, abs=0.05)


def test_a_bucket_that_fills_in_pauses_is_seen_over_some_round_trips() -> None:
    """200 segments at once every 4 s, beyond an even rate: more than that in one round trip, not in 16."""
    found = envelope_signs(at_receiver(EVENLY + 200 * np.floor(TIME_S / 4)))
    assert found["most_of_1"] > 0.5
    assert found["most_of_16"] == pytest.approx(0, abs=0.1)


def test_a_start_below_the_usual_rate_is_told_from_one_at_that_rate() -> None:
    slow = envelope_signs(at_receiver(np.where(TIME_S < 1, 250 * TIME_S**2, 250 + 500 * (TIME_S - 1))))
    assert slow["first_round"] < -1
    assert slow["rise_round_trips"] > envelope_signs(at_receiver(EVENLY))["rise_round_trips"] + 1


def test_of_several_connections_the_sum_has_the_rate_that_each_alone_does_not_have() -> None:
    wave = 80 * np.sin(TIME_S)
    both = at_receiver(EVENLY / 2 + wave, EVENLY / 2 - wave)
    of_one = envelope_signs(both.of(both.connection == 0))
    of_sum = envelope_signs(whole(both))
    assert of_one["most_of_1"] + of_one["most_of_4"] + of_one["most_of_16"] > 0.15
    assert of_sum["most_of_1"] + of_sum["most_of_4"] + of_sum["most_of_16"] < 0.05
    assert of_sum["flight_segments"] == pytest.approx(np.log(100), abs=0.05)


def test_nothing_is_said_of_a_few_segments() -> None:
    assert envelope_signs(at_receiver(np.minimum(EVENLY, 4))) == {}


@pytest.mark.parametrize(
    ("kind", "lab"),
    [
        ("capacity", {"host": {"congestion_control": "bbr"}}),
        ("capacity", {"path": {"rtt": "80 ms", "rate": "20 Mbit/s", "queue": "1 bdp"}}),
        ("pacing", {"host": {"congestion_control": {"name": "fixed-rate", "rate": "8 Mbit/s"}}}),
    ],
)
def test_a_receiver_tells_a_full_path_from_a_sender_that_paces_itself(
    kind: str, lab: Mapping[str, Any]
) -> None:
    base = {
        "duration": "20 s",
        "path": {"rtt": "80 ms", "rate": "20 Mbit/s"},
        "workload": [{"name": "download", "kind": "bulk", "direction": "down"}],
    }
    run = bentpipe.simulate(bentpipe.Lab(**{**base, **lab}))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (evidence,) = from_run.transfers(run.record, tables, "receiver")
    assert diagnose(evidence).findings[0].kind == kind
