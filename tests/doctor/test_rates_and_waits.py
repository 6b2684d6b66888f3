"""Rates that change, waits that stay the same, and segments that overtake others: a lab for each rule that
was diagnosed wrongly without it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose_all
from bentpipe.doctor.drop_causes import drop_causes
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.doctor.saturation import even_stretches
from bentpipe.doctor.viewed import view, views

BULK = {"name": "main", "kind": "bulk", "direction": "down"}
LARGE = {"tcp_rmem": [4096, 131072, 67_108_864], "tcp_wmem": [4096, 16384, 67_108_864]}
PINGS = {"name": "rtt", "kind": "ping", "start": "-3 s", "count": 10}


def thinks(think: str, *sizes: int) -> dict[str, Any]:
    """Files of so many bytes one after another, for each of which the server thinks."""
    fetches = {"name": "main", "kind": "http", "connections": 1, "think": think}
    objects = [f"{each} B" for each in sizes]
    return {"workload": [{**fetches, "objects": objects}], "duration": "30 s", "until": "done"}


LABS: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "what a sender repeats while segments overtake others shows no rate of the path": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "12.9 ms",
                "rate": "249 Mbit/s",
                "down": {"jitter": {"spread": "1.126 ms", "distribution": "normal", "reorder": True}},
            },
            "host": {"dsack": False},
            "duration": "4.5 s",
        },
    ),
    "a sender that learnt a degree of reordering once, and then saw none": (
        "ack-path",
        "sender",
        {
            "path": {
                "rtt": "60.324 ms",
                "jitter": {"spread": "1.824 ms", "distribution": "uniform", "correlation": 0.07},
                "down": {"rate": "160.466 Mbit/s", "queue": "1230571 B"},
                "up": {"rate": "865 kbit/s", "queue": "283 packets"},
            },
            "host": {**LARGE, "congestion_control": {"name": "cubic", "slow_start": "standard"}},
            "workload": [{**BULK, "start": "2.98 s", "time": "7.5 s"}],
            "duration": "11 s",
            "seed": 934829,
        },
    ),
    "a transfer that began while another filled its way back takes the path's base RTT from that": (
        "ack-path",
        "receiver",
        {
            "path": {
                "rtt": "241.505 ms",
                "down": {"rate": "159.659 Mbit/s", "queue": "6038599 B"},
                "up": {"rate": "2.661 Mbit/s", "queue": "628 ms"},
            },
            "host": {**LARGE, "congestion_control": "hybla"},
            "workload": [
                {**BULK, "start": "2.2 s", "time": "7.5 s"},
                {"name": "upload", "kind": "bulk", "direction": "up", "time": "10.7 s"},
            ],
            "duration": "30 s",
            "until": "done",
            "seed": 986391,
        },
    ),
    "a slow path's rate changes every two seconds, and a receiver counts few segments": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "9.756 ms",
                "rate": "3.6 Mbit/s",
                "down": {
                    "rate": {
                        "steps": [
                            *(["0 s", "3.6 Mbit/s"], ["2.5 s", "2.27 Mbit/s"], ["4 s", "1.54 Mbit/s"]),
                            *(["6 s", "2.33 Mbit/s"], ["8.2 s", "2.41 Mbit/s"], ["10.7 s", "1.47 Mbit/s"]),
                        ]
                    },
                    "queue": "60 kB",
                },
            },
            "host": {**LARGE, "congestion_control": "bbr"},
            "workload": [{**BULK, "start": "1.98 s", "time": "9.2 s", "streams": 2}],
            "duration": "12 s",
        },
    ),
    "its queue overflows now and then, and no round trips are known": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "9.43 ms",
                "rate": "74 Mbit/s",
                "down": {
                    "rate": {
                        "steps": [
                            *(["0 s", "74 Mbit/s"], ["2 s", "45.3 Mbit/s"], ["4.4 s", "51.9 Mbit/s"]),
                            *(["5.9 s", "34.7 Mbit/s"], ["8 s", "26.7 Mbit/s"], ["9.6 s", "22.6 Mbit/s"]),
                            *(["11 s", "23.7 Mbit/s"], ["13 s", "22.2 Mbit/s"]),
                        ]
                    },
                    "queue": "174470 B",
                },
            },
            "host": {**LARGE, "timestamps": False},
            "workload": [{**BULK, "start": "1.2 s", "time": "12.2 s", "streams": 2}],
            "duration": "14 s",
        },
    ),
    "bursts of a program that asks for one file after another wait for each other": (
        "sender-application",
        "sender",
        {
            "path": {
                "rtt": "33.171 ms",
                "mtu": 1400,
                "rate": "2.684 Mbit/s",
                "up": {"rate": "5.369 Mbit/s", "queue": "35 kB"},
            },
            "workload": [
                PINGS,
                {
                    **{"name": "main", "kind": "http", "direction": "up", "size": "30596 B"},
                    **{"fetches": 103, "keep_alive": True, "think": "20.874 ms"},
                },
            ],
            "duration": "30 s",
            "until": "done",
        },
    ),
    "acknowledgements come at one rate while the payload's grows": (
        "ack-path",
        "sender",
        {
            "path": {
                "rtt": "267.373 ms",
                "mtu": 1280,
                "rate": "69.848 Mbit/s",
                "down": {"queue": "2613327 B"},
                "up": {"rate": "519 kbit/s", "queue": "160 packets"},
            },
            "host": LARGE,
            "workload": [
                PINGS,
                {"name": "main", "kind": "http", "size": "35147875 B", "connections": 2},
            ],
            "duration": "30 s",
            "until": "done",
        },
    ),
    "as many segments come in each window as in the one before, also where some were lost": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "30.285 ms",
                "mtu": 1400,
                "rate": "8.435 Mbit/s",
                "down": {
                    "rate": {
                        "steps": [
                            *(["0 s", "8.435 Mbit/s"], ["3.321 s", "7.148 Mbit/s"]),
                            *(["6.024 s", "4.369 Mbit/s"], ["9.552 s", "2.726 Mbit/s"]),
                            *(["13.384 s", "2.53 Mbit/s"],),
                        ]
                    },
                    "queue": "316300 B",
                },
            },
            "host": {**LARGE, "congestion_control": {"name": "cubic", "slow_start": "hystart++"}},
            "workload": [{**BULK, "start": "2.27 s", "time": "15.3 s"}],
            "duration": "18 s",
        },
    ),
    "the same, and no round trips are known": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "7.194 ms",
                "rate": "2.348 Mbit/s",
                "down": {
                    "rate": {
                        "steps": [
                            *(["0 s", "2.348 Mbit/s"], ["4.191 s", "2.98 Mbit/s"]),
                            *(["7.677 s", "2.682 Mbit/s"], ["10.792 s", "4.269 Mbit/s"]),
                            *(["15.721 s", "4.282 Mbit/s"],),
                        ]
                    },
                    "queue": "60 kB",
                },
            },
            "host": {**LARGE, "congestion_control": "reno", "timestamps": False},
            "workload": [{**BULK, "start": "0.12 s", "time": "17 s"}],
            "duration": "18 s",
        },
    ),
    "BBR paces 1 % below what its program allows, and sometimes as much": (
        "pacing",
        "sender",
        {
            "path": {
                "rtt": "246.193 ms",
                "jitter": {"spread": "5.986 ms", "distribution": "normal", "correlation": 0.01},
                "rate": "84.919 Mbit/s",
                "queue": "3056664 B",
            },
            "host": {**LARGE, "congestion_control": "bbr3"},
            "workload": [{**BULK, "start": "0.37 s", "time": "14.1 s", "max_pacing_rate": "35.397 Mbit/s"}],
            "duration": "15 s",
            "seed": 663465,
        },
    ),
    "a program asks for one file after another, each of several round trips": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "97.4 ms", "rate": "196.637 Mbit/s", "queue": "4283801 B"},
            "host": {**LARGE, "congestion_control": {"name": "cubic", "slow_start": "standard"}},
            "workload": [
                {"name": "main", "kind": "http", "size": "700 kB", "fetches": 48, "keep_alive": True}
            ],
            "duration": "30 s",
            "until": "done",
        },
    ),
    "what keeps a sender from filling its windows keeps it from filling the path, though jitter makes "
    "packets wait": (
        "pacing",
        "sender",
        {
            "path": {
                "rtt": "9.1 ms",
                "jitter": {"spread": "1.94 ms", "distribution": "normal", "correlation": 0.3},
                "rate": "99.032 Mbit/s",
                "queue": "30 ms",
            },
            "workload": [{**BULK, "time": "10.1 s", "max_pacing_rate": "35.778 Mbit/s"}],
            "duration": "11 s",
            "seed": 826363,
        },
    ),
    "with jitter packets wait from the first one on": (
        "receiver-window",
        "sender",
        {
            "path": {
                "rtt": "38 ms",
                "jitter": {"spread": "5.291 ms", "distribution": "normal", "correlation": 0.5},
                "rate": "91.008 Mbit/s",
                "queue": "1 bdp",
                "up": {"rate": "11.376 Mbit/s", "queue": "1 bdp"},
            },
            "client": {"tcp_rmem": [4096, 131072, 361326]},
            "workload": [{**BULK, "time": "9.8 s"}, {**PINGS, "interval": "200 ms", "start": "-2 s"}],
            "duration": "11 s",
            "seed": 527053,
        },
    ),
    "a server thinks before each answer, for longer than samples are apart": (
        "sender-application",
        "receiver",
        {
            "path": {
                "rtt": "31 ms",
                "jitter": {"spread": "1.184 ms", "distribution": "normal", "correlation": 0.3},
                "rate": "85.449 Mbit/s",
                "queue": "1 bdp",
                "up": {"rate": "42.725 Mbit/s"},
            },
            "host": {"congestion_control": "reno"},
            **thinks(
                "913 ms",
                7_344_496,
                5_600_720,
                3_819_462,
                8_158_032,
                3_852_074,
                6_739_404,
                7_767_758,
                4_320_856,
            ),
            "seed": 503499,
        },
    ),
    "and loses packets of the first one only": (
        "sender-application",
        "receiver",
        {
            "path": {
                "rtt": "26.7 ms",
                "rate": "76.572 Mbit/s",
                "queue": "30 ms",
                "up": {"rate": "6.381 Mbit/s"},
            },
            "host": {"congestion_control": "bbr"},
            **thinks(
                "688 ms",
                5_332_680,
                7_747_552,
                4_510_016,
                4_938_638,
                3_496_433,
                7_686_672,
                4_671_718,
                4_706_516,
                7_026_075,
                5_433_753,
            ),
            "seed": 598785,
        },
    ),
    "without round trips a paced sender may be told from a full path by the other signs": (
        "pacing",
        "receiver",
        {
            "path": {"rtt": "5.067 ms", "mtu": 1400, "rate": "22.727 Mbit/s", "queue": "35 kB"},
            "host": {
                **LARGE,
                "congestion_control": {"name": "fixed-rate", "rate": "10.171 Mbit/s"},
                "timestamps": False,
            },
            "workload": [{**BULK, "time": "9.6 s"}],
            "duration": "10 s",
            "seed": 620095,
        },
    ),
}


def found_first(lab: Mapping[str, Any], seen_from: SeenFrom) -> Diagnosis:
    """Of the workload that is called main."""
    path = {"rate": "16 Mbit/s", **lab["path"]}
    run = bentpipe.simulate(bentpipe.Lab(**{"workload": [BULK], **lab, "path": path}), sample_s=0.1)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    every = diagnose_all(from_run.transfers(run.record, tables, seen_from))
    return next(each for each in every if each.evidence.name == "main")


@pytest.mark.parametrize("what", LABS)
def test_the_planted_limit_is_found(what: str) -> None:
    kind, seen_from, lab = LABS[what]
    assert found_first(lab, seen_from).findings[0].kind == kind


def seen_in(lab: Mapping[str, Any], name: str) -> Evidence:
    """From the receiver, as one of several transfers of a host."""
    run = bentpipe.simulate(bentpipe.Lab(**{"duration": "6 s", "workload": [BULK], **lab}), sample_s=0.1)
    tables = {each: run.table(each) for each in ("sockets", "flows", "pings")}
    (found,) = from_run.transfers(run.record, tables, "receiver")
    return replace(found, name=name, ends=frozenset({"198.51.100.7"}))


def test_another_path_behind_the_same_address_leaves_the_base_round_trip() -> None:
    far = seen_in({"path": {"rtt": "80 ms", "rate": "16 Mbit/s"}}, "far")
    near = replace(seen_in({"path": {"rtt": "4 ms", "rate": "16 Mbit/s"}}, "near"), start_s=far.start_s - 1)
    assert [round(each.base_rtt_s or 0, 2) for each in views([far, near])] == [0.08, 0.0]


def test_a_transfer_that_began_in_a_full_queue_takes_the_base_round_trip_of_another() -> None:
    filled = seen_in({"path": {"rtt": "40 ms", "rate": "16 Mbit/s", "queue": "500 ms"}}, "filled")
    late = replace(filled, name="late", start_s=4.0, samples=filled.samples.filter(pl.col("time_s") > 4))
    late = replace(late, samples=late.samples.with_columns(min_rtt_s=pl.lit(None, pl.Float64)))
    late = replace(late, handshake_rtt_s=None)
    assert (view(late).base_rtt_s or 0) > 0.1
    assert views([filled, late])[1].base_rtt_s == pytest.approx(0.04, abs=0.005)


def test_without_sack_a_sender_learns_no_degree_of_reordering() -> None:
    run = bentpipe.simulate(
        bentpipe.Lab(
            duration="6 s", path={"rtt": "40 ms", "rate": "16 Mbit/s", "loss": 0.01}, workload=[BULK]
        )
    )
    tables = {each: run.table(each) for each in ("sockets", "flows", "pings")}
    (whole,) = from_run.transfers(run.record, tables, "sender")
    without = replace(whole, sender_offered=replace(whole.sender_offered, sack=False))
    assert drop_causes(view(whole))["reordering"] == 0
    assert drop_causes(view(without))["reordering"] > 0


def test_the_first_window_of_a_rate_is_even_too() -> None:
    time_s = np.arange(0, 8, 0.1)
    count = np.interp(time_s, (0, 4, 8), (0, 4e6, 10e6))
    rate = (count - np.interp(time_s - 0.2, time_s, count, left=0)) * 8 / 0.2
    slow, fast = even_stretches(time_s, rate, np.zeros(80, dtype=np.int64), 0.2, 1e4)
    assert time_s[fast[[0, -1]]] == pytest.approx([4.2, 7.9])
    assert slow[-1] < fast[0]


def test_long_waits_right_after_an_outage_show_no_full_path() -> None:
    lab = {
        "path": {"rtt": "408 ms", "rate": "39.5 Mbit/s", "outages": [["9.8 s", "6.3 s"]]},
        "host": {**LARGE, "congestion_control": {"name": "fixed-rate", "rate": "10 Mbit/s"}},
        "duration": "24 s",
    }
    found = found_first(lab, "sender").findings
    assert {"pacing", "outage"} <= {each.kind for each in found}
    assert "capacity" not in {each.kind for each in found}
