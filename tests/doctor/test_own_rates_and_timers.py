"""Senders with a rate of their own, programs that ask, and timers that run out: a lab for each rule that was
diagnosed wrongly without it."""

from collections.abc import Mapping
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose_all
from bentpipe.doctor.evidence import SeenFrom

BULK = {"name": "main", "kind": "bulk", "direction": "down"}
BURSTS = {"model": "gilbert-elliott", "p": 0.0065553, "r": 0.024503}
"""Some forty packets in a row are lost each time."""

LABS: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "several paced connections that lose at their own rate": (
        "pacing",
        "sender",
        {
            "path": {
                "rtt": "24.9 ms",
                "mtu": 4000,
                "rate": "52.582 Mbit/s",
                "down": {
                    "queue": "650 ms",
                    "ingress_loss": 0.0002346186,
                    "jitter": {"spread": "241 us", "distribution": "pareto"},
                },
                "up": {"jitter": {"spread": "1.772 ms", "distribution": "normal"}},
            },
            "host": {"ip": 6, "initcwnd": 2, "congestion_control": "reno"},
            "workload": [{**BULK, "streams": 4, "max_pacing_rate": "5692380 bit/s"}],
            "duration": "24 s",
            "seed": 356623,
        },
    ),
    "the same, seen from the receiver, whose round trips hold the time to the next segment": (
        "pacing",
        "receiver",
        {
            "path": {
                "rtt": "16.34 ms",
                "down": {"rate": "28.223 Mbit/s", "queue": "41 ms"},
                "up": {"rate": "9.635 Mbit/s"},
            },
            "host": {
                "initcwnd": 4,
                "congestion_control": {"name": "cubic", "slow_start": "hystart++", "beta": 0.5},
            },
            "workload": [
                {**BULK, "streams": 8, "max_pacing_rate": "462.546 kbit/s"},
                {"name": "call", "kind": "call"},
            ],
            "duration": "10 s",
            "seed": 885657,
        },
    ),
    "several paced connections with losses at one rate, seen from the receiver": (
        "pacing",
        "receiver",
        {
            "path": {
                "rtt": "5.799 ms",
                "jitter": {"spread": "0.637 ms", "distribution": "normal", "correlation": 0.5},
                "down": {"rate": "100.452 Mbit/s", "queue": "81952 B"},
                "up": {"rate": "795 kbit/s", "queue": "30 kB"},
            },
            "workload": [{**BULK, "streams": 8, "max_pacing_rate": "2.98 Mbit/s"}],
            "duration": "11 s",
            "seed": 256993,
        },
    ),
    "a paced sender that repairs often": (
        "pacing",
        "sender",
        {
            "path": {
                "rtt": "42.847 ms",
                "down": {"rate": "74.902 Mbit/s", "queue": "269617 B"},
                "up": {"rate": "3.397 Mbit/s", "queue": "45 kB"},
            },
            "host": {"congestion_control": "reno"},
            "workload": [{**BULK, "direction": "up", "streams": 4, "max_pacing_rate": "178 kbit/s"}],
            "duration": "29 s",
            "seed": 7,
        },
    ),
    "a server that thinks, for a receiver without time stamps": (
        "sender-application",
        "receiver",
        {
            "path": {
                "rtt": "32.46 ms",
                "down": {
                    "rate": {"rate": "19.192 Mbit/s", "burst": "83506 B"},
                    "queue": "202427 B",
                },
                "up": {"rate": "6.184 Mbit/s"},
            },
            "host": {"timestamps": False, "congestion_control": "bbr"},
            "workload": [
                {
                    "name": "main",
                    "kind": "http",
                    "size": "200974 B",
                    "keep_alive": True,
                    "think": "72090 us",
                    "fetches": 54,
                }
            ],
            "duration": "10 s",
        },
    ),
    # Of whole windows that are lost a receiver sees nothing: most seeds look like pauses, losses or outages.
    "losses in runs that timers repair, seen from the receiver": (
        "timeouts",
        "receiver",
        {
            "path": {
                "rtt": "60 ms",
                "down": {"rate": "10 Mbit/s", "queue": "45 kB", "loss": BURSTS},
                "up": {"rate": "5.499 Mbit/s", "queue": "257205 B"},
            },
            "host": {"congestion_control": "reno"},
            "workload": [
                {"name": "rtt", "kind": "ping", "start": "-3 s", "interval": "1 s", "count": 20},
                {"name": "call", "kind": "call", "time": "28 s"},
                {**BULK, "start": "2 s"},
            ],
            "duration": "31.8 s",
            "seed": 1,
        },
    ),
    "losses in runs, which silence a sender more often than outages do": (
        "timeouts",
        "sender",
        {
            "path": {
                "rtt": "15.472 ms",
                "mtu": 1492,
                "down": {
                    "rate": "12.585 Mbit/s",
                    "queue": "47446 B",
                    "loss": {"model": "gilbert-elliott", "p": 0.0079887, "r": 0.048446},
                },
                "up": {"rate": "2.897 Mbit/s", "queue": "30 kB"},
            },
            "workload": [
                {"name": "call", "kind": "call", "time": "17 s"},
                {"name": "main", "kind": "http", "size": "4804472 B", "start": "2 s"},
            ],
            "duration": "20.2 s",
            "seed": 223563,
        },
    ),
    "as many outages, in a longer time": (
        "outage",
        "sender",
        {
            "path": {
                "rtt": "60 ms",
                "rate": "20 Mbit/s",
                "outages": [[f"{start} s", "800 ms"] for start in range(8, 88, 10)],
            },
            "duration": "90 s",
        },
    ),
    # About half of the seeds are told; the others are called full paths.
    "repairs without SACK of more than one segment in a round trip, seen from the receiver": (
        "tcp-options",
        "receiver",
        {
            "path": {
                "rtt": "23.862 ms",
                "mtu": 1492,
                "rate": "160.79 Mbit/s",
                "down": {"queue": "1086230 B"},
                "up": {"queue": "667812 B"},
            },
            "host": {"sack": False},
            "workload": [{"name": "main", "kind": "http", "size": "84323819 B"}],
            "duration": "6.8 s",
            "seed": 3,
        },
    ),
    "a small send buffer that is written in large blocks": (
        "send-buffer",
        "sender",
        {
            "path": {
                "rtt": "9.685 ms",
                "mtu": 1420,
                "jitter": {"spread": "0.466 ms", "distribution": "normal", "correlation": 0.5},
                "down": {"rate": "120.472 Mbit/s", "queue": "1577643 B"},
                "up": {"rate": "146.536 Mbit/s", "queue": "506846 B"},
            },
            "client": {"tcp_wmem": [4096, 16384, 24708]},
            "workload": [{**BULK, "direction": "up"}],
            "duration": "7.5 s",
        },
    ),
    "BBR over a path that reorders": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "168.669 ms",
                "mtu": 1400,
                "rate": "96.016 Mbit/s",
                "jitter": {"spread": "33.228 ms", "distribution": "normal", "reorder": True},
                "down": {"queue": "528346 B"},
                "up": {"queue": "4167298 B"},
            },
            "host": {"congestion_control": "bbr"},
            "workload": [
                {"name": "call", "kind": "call", "time": "10 s"},
                {**BULK, "direction": "up", "start": "1 s"},
            ],
            "duration": "12.5 s",
            "seed": 478530,
        },
    ),
    "a full path whose sender could buffer no more": (
        "capacity",
        "sender",
        {
            "path": {
                "rtt": "51.5 ms",
                "rate": "299.97 Mbit/s",
                "queue": "3859 kB",
                "jitter": "1.54 ms",
                "up": {"rate": "149.986 Mbit/s"},
            },
            "host": {"congestion_control": "reno"},
            "workload": [{"name": "main", "kind": "http", "size": "449959 kB"}],
            "duration": "20 s",
            "seed": 416,
        },
    ),
}


def diagnosed(lab: Mapping[str, Any], end: SeenFrom) -> Diagnosis:
    made = {"workload": [BULK], **lab}
    run = bentpipe.simulate(bentpipe.Lab(**made))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    return next(
        each
        for each in diagnose_all(from_run.transfers(run.record, tables, end))
        if each.evidence.name == "main"
    )


@pytest.mark.parametrize("lab", LABS)
def test_first_finding(lab: str) -> None:
    kind, end, document = LABS[lab]
    found = diagnosed(document, end)
    assert found.findings[0].kind == kind, [(each.kind, each.share) for each in found.findings]
