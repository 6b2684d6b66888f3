"""Rules of the doctor that few paths need: a lab for each that was diagnosed wrongly without it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_findings import BULK, diagnosed

from bentpipe.doctor.arrays import whole_round_trips
from bentpipe.doctor.cures import cures
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.families.losses import _short_queue
from bentpipe.doctor.families.slow_start import slow_start
from bentpipe.doctor.path_seen import path_seen
from bentpipe.words.wording import size

LARGE = {"tcp_rmem": [4096, 131072, 100_000_000], "tcp_wmem": [4096, 16384, 100_000_000]}
HALF_FILLED = {"path": {"rtt": "10 ms", "rate": "60 Mbit/s", "up": {"rate": "300 kbit/s"}}, "duration": "5 s"}
"""The queue of ACKs does not overflow in so short a time."""
NO_SACK = {
    "path": {"rtt": "120 ms", "rate": "16 Mbit/s", "queue": "1 bdp"},
    "host": {**LARGE, "sack": False},
    "duration": "20 s",
}
MARKING = {"limit": "4 bdp", "discipline": "fq_codel", "ecn": True}
MARKS = {"host": {**LARGE, "ecn": True}, "duration": "20 s"}
LOSSY_BBR = {
    "path": {"rtt": "550 ms", "rate": "16 Mbit/s", "queue": "1 bdp", "loss": 0.05},
    "duration": "40 s",
}
RATES = (16, 10, 20, 13, 22, 17, 11, 19, 14, 21, 12, 18, 10, 20, 15)
RULES: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "the last round trip of a short file carries what is left": (
        "slow-start",
        "receiver",
        {
            "path": {"rtt": "627 ms", "rate": "20 Mbit/s"},
            "workload": [{"name": "download", "kind": "http", "size": "68202 B"}],
            "until": "done",
        },
    ),
    "BBR loses often at a low rate, and the few packets that wait are no queue": (
        "policer",
        "sender",
        {
            "path": {
                "rtt": "8 ms",
                "rate": "6 Mbit/s",
                "down": {"policer": {"rate": "1.8 Mbit/s", "burst": "67 kB"}},
            },
            "host": {"congestion_control": "bbr"},
        },
    ),
    "BBR's probes meet the window, not what it sends between them": (
        "receiver-window",
        "sender",
        {
            "path": {"rtt": "160 ms", "rate": "678 Mbit/s"},
            "host": {**LARGE, "congestion_control": "bbr"},
            "client": {"tcp_rmem": [4096, 131072, 8_986_393]},
            "duration": "20 s",
        },
    ),
    "ACKs wait longer than the timer": (
        "ack-path",
        "sender",
        {
            "path": {"rtt": "17 ms", "rate": "10 Mbit/s", "up": {"rate": "32 kbit/s"}},
            "workload": [{**BULK, "streams": 8}],
            "duration": "20 s",
        },
    ),
    "the first segments have an ACK each, and the ACKs' rate stays the same": (
        "ack-path",
        "sender",
        HALF_FILLED,
    ),
    "then the payload's rate varies a little, though no segment comes late": (
        "ack-path",
        "receiver",
        HALF_FILLED,
    ),
    "BBR's probes meet the ACKs' queue": (
        "ack-path",
        "sender",
        {
            "path": {"rtt": "237.103 ms", "rate": "2.004 Mbit/s", "up": {"rate": "8.562 kbit/s"}},
            "host": {"congestion_control": "bbr"},
            "duration": "20 s",
            "seed": 60033,
        },
    ),
    "a whole window and the retransmission after it are no random loss": (
        "outage",
        "sender",
        {
            "path": {
                "rtt": "190.185 ms",
                "rate": "1.848 Mbit/s",
                "queue": "1 bdp",
                "outages": [["2.4 s", "1.46 s"]],
            },
            "duration": "6 s",
        },
    ),
    "a few overflows of the queue of a full path do not hide what an outage cost": (
        "outage",
        "sender",
        {
            "path": {
                "rtt": "5.127 ms",
                "rate": "70.715 Mbit/s",
                "queue": "1 bdp",
                "outages": [["8 s", "6.64 s"]],
            },
            "host": {"tcp_rmem": [4096, 131072, 8388608], "tcp_wmem": [4096, 16384, 8388608]},
            "duration": "20 s",
            "seed": 60073,
        },
    ),
    "a queue that marks keeps the path full, and slow start did not end too early": (
        "capacity",
        "sender",
        {**MARKS, "path": {"rtt": "30 ms", "rate": "5 Mbit/s", "queue": MARKING}},
    ),
    "over a longer path it marks too early": (
        "short-queue",
        "sender",
        {**MARKS, "path": {"rtt": "120 ms", "rate": "16 Mbit/s", "queue": MARKING}},
    ),
    "jitter makes packets wait as long at any rate": (
        "random-loss",
        "sender",
        {
            "path": {
                "rtt": "30 ms",
                "rate": "80 Mbit/s",
                "jitter": {"spread": "3 ms", "distribution": "normal"},
                "down": {"loss": 0.003},
            },
            "host": LARGE,
            "duration": "20 s",
        },
    ),
    "behind a rate that varies packets wait the longer the slower it is": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "40 ms",
                "queue": "100 ms",
                "down": {"rate": {"steps": [[f"{at} s", f"{rate} Mbit/s"] for at, rate in enumerate(RATES)]}},
                "up": {"rate": "10 Mbit/s"},
            },
            "duration": "15 s",
        },
    ),
    "without SACK repairs last long": (
        "tcp-options",
        "sender",
        NO_SACK,
    ),
    "then a receiver waits for holes, not its application": (
        "tcp-options",
        "receiver",
        NO_SACK,
    ),
    "files that are fetched one by one end in slow start": (
        "slow-start",
        "receiver",
        {
            "path": {"rtt": "120 ms", "rate": "16 Mbit/s"},
            "workload": [{"name": "files", "kind": "http", "size": "100 kB", "fetches": 20}],
        },
    ),
    "what waits for a missing segment closes the window too": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "327.867 ms",
                "rate": "73.337 Mbit/s",
                "down": {"jitter": {"spread": "64.141 ms", "distribution": "uniform", "reorder": True}},
            },
            "host": {
                "tcp_rmem": [4096, 131072, 24_044_935],
                "tcp_wmem": [4096, 16384, 24_044_935],
                "congestion_control": "reno",
            },
            "duration": "20 s",
            "seed": 60001,
        },
    ),
    "what is dropped bounds the rate that a queue shows": (
        "line-drops",
        "sender",
        {
            "path": {"rtt": "406 ms", "rate": "184 Mbit/s", "down": {"delay_limit": "690 packets"}},
            "host": LARGE,
            "workload": [{**BULK, "streams": 4}],
            "duration": "24 s",
        },
    ),
    "a send buffer of several BDPs, full beside a queue that stands, limits nothing": (
        "capacity",
        "sender",
        {
            "path": {"rtt": "47.5 ms", "rate": "135 Mbit/s", "queue": "6420 kB", "jitter": "1.43 ms"},
            "host": {"congestion_control": "cubic"},
            "duration": "20 s",
        },
    ),
    "a small send buffer may be several BDPs, too": (
        "capacity",
        "sender",
        {
            "path": {"rtt": "21 ms", "rate": "11.44 Mbit/s", "queue": "240 kB"},
            "host": {"congestion_control": "cubic", "tcp_wmem": [4096, 16384, 175_158]},
            "duration": "20 s",
        },
    ),
    "what jitter moves from one round trip to the next shows no queue of ACKs": (
        "capacity",
        "receiver",
        {
            "path": {"rtt": "194 ms", "rate": "6.86 Mbit/s", "queue": "664 kB", "jitter": "5.82 ms"},
            "host": {"congestion_control": "bbr"},
            "workload": [{**BULK, "direction": "up"}],
            "duration": "20 s",
        },
    ),
    "a window that is full again after two losses limits": (
        "receiver-window",
        "receiver",
        {
            "path": {"rtt": "171.9 ms", "rate": "129 Mbit/s", "queue": "694 kB", "loss": 0.0001},
            "host": {"congestion_control": "cubic", "tcp_rmem": [4096, 131072, 524_288]},
            "duration": "20 s",
            "seed": 20,
        },
    ),
    "a window that is full beside a full path limits nothing": (
        "capacity",
        "sender",
        {
            "path": {"rtt": "411 ms", "rate": "20 Mbit/s"},
            "host": {"tcp_rmem": [4096, 131072, 2_055_000], "tcp_wmem": [4096, 16384, 2_055_000]},
            "duration": "40 s",
        },
    ),
    "a page waits for its requests": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "550 ms", "rate": "16 Mbit/s"},
            "workload": [{"name": "page", "kind": "http", "objects": ["15 kB"] * 48}],
            "until": "done",
        },
    ),
    "losses break BBR's start, and it repairs all the time": (
        "random-loss",
        "sender",
        {**LOSSY_BBR, "host": {**LARGE, "congestion_control": "bbr"}},
    ),
    "what comes late behind BBR's repairs is not reordered": (
        "random-loss",
        "receiver",
        {**LOSSY_BBR, "host": {**LARGE, "congestion_control": "bbr"}},
    ),
    "BBR begins more slowly where its ACKs wait": (
        "ack-path",
        "receiver",
        {
            "path": {"rtt": "273.2 ms", "rate": "13.07 Mbit/s", "down": {"rate": "82943 bit/s"}},
            "host": {**LARGE, "congestion_control": "bbr"},
            "workload": [{**BULK, "direction": "up"}],
            "duration": "20 s",
        },
    ),
    "a loss takes nothing from a sender that paces itself": (
        "pacing",
        "sender",
        {
            "path": {"rtt": "24.158 ms", "rate": "1.025 Mbit/s"},
            "host": {**LARGE, "congestion_control": {"name": "fixed-rate", "rate": "0.115 Mbit/s"}},
            "duration": "6 s",
            "seed": 80033,
        },
    ),
    "what waited behind a hole did not come at once": (
        "ack-path",
        "receiver",
        {
            "path": {"rtt": "35.245 ms", "rate": "1.140 Mbit/s", "up": {"rate": "0.004632 Mbit/s"}},
            "host": LARGE,
            "duration": "6 s",
            "seed": 80041,
        },
    ),
    "what reorders packets makes them wait, too, and is no queue": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "179.058 ms",
                "rate": "95.905 Mbit/s",
                "down": {"jitter": {"spread": "33.479 ms", "distribution": "uniform", "reorder": True}},
            },
            "host": LARGE,
            "duration": "6 s",
            "seed": 80025,
        },
    ),
    "what was lost before the first sample limits, too": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "7.232 ms",
                "rate": "921.669 Mbit/s",
                "down": {"jitter": {"spread": "1.065 ms", "distribution": "uniform", "reorder": True}},
            },
            "host": LARGE,
            "duration": "4 s",
            "seed": 60049,
        },
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_finds_the_planted_limit(rule: str) -> None:
    kind, seen_from, lab = RULES[rule]
    assert diagnosed(lab, seen_from).findings[0].kind == kind


def test_sack_is_what_would_help_where_it_is_off() -> None:
    found = diagnosed(NO_SACK)
    path = path_seen([found])
    assert path is not None
    best = cures(found, path)[0]
    assert set(best.change) <= {"client.sack", "server.sack"}
    assert best.goodput_bit_s > 1.5 * (found.evidence.goodput_bit_s or 0.0)


def test_slow_start_names_what_was_in_flight_in_slow_start_itself() -> None:
    found = diagnosed(
        {"path": {"rtt": "300 ms", "rate": "16 Mbit/s", "queue": "60 kB"}, "host": LARGE, "duration": "30 s"}
    )
    (claim,) = slow_start(found.view)
    most = size(float(found.view.flight[claim.holds].max()))
    assert f"{most} in flight at most" in claim.because
    assert most != size(float(found.view.flight.max()))


def test_a_long_queue_is_not_said_to_leave_cwnd_below_the_bdp_by_itself() -> None:
    found = diagnosed({"path": {"rtt": "100 ms", "rate": "50 Mbit/s", "queue": "30 kB"}})
    seen = episodes(found.view)
    for wait_s, ends in (
        (0.01, "below the BDP afterwards"),
        (0.1, "a queue so long leaves it above after one overflow"),
    ):
        of = replace(seen, wait_s=np.full(seen.count, wait_s))
        claim = _short_queue(found.view, found.view.time_s > 0, of, 1.0)
        assert claim.because.endswith(ends)


@given(
    base_s=st.floats(1e-5, 3.0),
    spacing_s=st.sampled_from((0.01, 0.02, 0.1, 1.0)),
    least_s=st.floats(0.01, 4.0),
)
def test_a_window_is_of_whole_round_trips_and_not_much_longer_than_asked(
    base_s: float, spacing_s: float, least_s: float
) -> None:
    found = whole_round_trips(base_s, spacing_s, least_s)
    assert found / base_s == pytest.approx(round(found / base_s))
    assert found >= least_s - spacing_s / 2 - base_s / 2 - 1e-9
    assert found <= 2 * least_s + 5 * spacing_s + base_s


@pytest.mark.parametrize(("base_s", "window_s"), [(0.05, 0.2), (0.12, 0.36), (0.15, 0.3), (0.6, 0.6)])
def test_a_window_is_nearly_of_whole_samples(base_s: float, window_s: float) -> None:
    assert whole_round_trips(base_s, 0.1, max(base_s, 0.2)) == pytest.approx(window_s)


def test_flights_of_single_moments_are_no_queue_without_a_round_trip_that_grows() -> None:
    path = {"rtt": "5.6 ms", "rate": "580 Mbit/s", "queue": "40 kB"}
    first = diagnosed({"path": path, "host": LARGE}).findings[0]
    assert first.kind in ("short-queue", "line-drops")
