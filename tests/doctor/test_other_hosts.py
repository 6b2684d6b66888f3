"""Labs with hosts, programs and paths as others have them: each was diagnosed wrongly once."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_findings import BULK, diagnosed

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose, diagnose_all
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.doctor.from_capture import read
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

LARGE = {"tcp_rmem": [4096, 131072, 100_000_000], "tcp_wmem": [4096, 16384, 100_000_000]}
HTTP = {"name": "answers", "kind": "http", "direction": "down", "keep_alive": True}
BEHIND_AN_UPLOAD = {
    "path": {
        "rtt": "7 ms",
        "rate": "60 Mbit/s",
        "up": {"rate": "1.724 Mbit/s", "queue": "131667 B"},
    },
    "workload": [BULK, {"name": "upload", "kind": "bulk", "direction": "up"}],
    "duration": "6 s",
}
LABS: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "no round trips without time stamps, so no ACKs that wait": (
        "random-loss",
        "receiver",
        {
            "path": {"rtt": "28.7 ms", "rate": "494.603 Mbit/s", "down": {"loss": 0.02}},
            "host": {**LARGE, "timestamps": False},
            "duration": "7.39 s",
        },
    ),
    "no window of a receiver without time stamps is a round trip": (
        "tcp-options",
        "receiver",
        {
            "path": {"rtt": "669.8 ms", "rate": "3.531 Mbit/s", "queue": "158 packets"},
            "host": {"timestamps": False},
            "server": {"window_scaling": False},
            "duration": "15 s",
        },
    ),
    "what the program thinks is in a receiver's round trips": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "51.7 ms", "rate": "4.330 Mbit/s", "queue": "0.824 bdp"},
            "workload": [{**HTTP, "size": "23316 B", "fetches": 26, "think": "219 ms"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "a few long pauses are a program's": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "229.5 ms", "rate": "5.681 Mbit/s"},
            "workload": [{**HTTP, "size": "26881 B", "fetches": 4, "think": "1432 ms"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "small answers, one after another, faster than samples": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "21.9 ms", "rate": "211 Mbit/s"},
            "host": LARGE,
            "workload": [{**HTTP, "size": "2497 B", "fetches": 300}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "no queue stands while nothing is in flight": (
        "sender-application",
        "sender",
        {
            "path": {"rtt": "22.2 ms", "rate": "15.434 Mbit/s", "queue": "1.309 bdp"},
            "workload": [{**HTTP, "size": "54876 B", "fetches": 25, "think": "182 ms"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "a file that is over before there are samples": (
        "slow-start",
        "sender",
        {
            "path": {"rtt": "24.2 ms", "rate": "342 Mbit/s"},
            "host": LARGE,
            "workload": [{**BULK, "direction": "up", "size": "640634 B"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "files that are over before the first sample": (
        "slow-start",
        "receiver",
        {
            "path": {"rtt": "11.3 ms", "rate": "194.724 Mbit/s"},
            "workload": [{"name": "files", "kind": "http", "size": "76922 B", "fetches": 2}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "two files, each over within slow start": (
        "slow-start",
        "receiver",
        {
            "path": {"rtt": "145 ms", "rate": "74.308 Mbit/s"},
            "host": LARGE,
            "workload": [{"name": "files", "kind": "http", "size": "350641 B", "fetches": 2}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "slow start is how a transfer over a long path begins": (
        "capacity",
        "sender",
        {
            "path": {"rtt": "276.8 ms", "rate": "45.333 Mbit/s", "queue": "4.743 bdp"},
            "host": LARGE,
            "workload": [{**BULK, "size": "43302196 B"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "after outages windows grow anew": (
        "outage",
        "receiver",
        {
            "path": {
                "rtt": "177.4 ms",
                "rate": "133.18 Mbit/s",
                "outages": [["1.72 s", "1.50 s"], ["5.51 s", "1.50 s"]],
            },
            "host": LARGE,
            "workload": [{**BULK, "streams": 3}],
            "duration": "8.72 s",
            "seed": 6318,
        },
    ),
    "three outages of less than a second": (
        "outage",
        "receiver",
        {
            "path": {
                "rtt": "54.3 ms",
                "rate": "5.181 Mbit/s",
                "queue": "40905 B",
                "down": {"outages": [["0.96 s", "0.90 s"], ["2.89 s", "0.90 s"], ["5.28 s", "0.90 s"]]},
            },
            "duration": "7.47 s",
        },
    ),
    "a program that bounds BBR's pacing": (
        "pacing",
        "sender",
        {
            "path": {"rtt": "16.3 ms", "rate": "304.8 Mbit/s", "queue": "17.8 ms"},
            "host": {"congestion_control": "bbr"},
            "workload": [{**BULK, "max_pacing_rate": "197.856 Mbit/s"}],
            "duration": "7 s",
        },
    ),
    "a long wait at one rate and many flights is a queue": (
        "capacity",
        "sender",
        {
            "path": {
                "rtt": "263.3 ms",
                "rate": "138.136 Mbit/s",
                "queue": "0.755 bdp",
                "jitter": {"spread": "3.8 ms", "distribution": "normal"},
            },
            "host": LARGE,
            "workload": [{**BULK, "size": "119827789 B"}],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "a sender learns from nothing but reordering how late packets come": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "110.1 ms",
                "rate": "252.837 Mbit/s",
                "down": {"jitter": {"spread": "21.7 ms", "distribution": "normal", "reorder": True}},
            },
            "host": LARGE,
            "duration": "5.61 s",
        },
    ),
    "a receiver's clock ticks every millisecond": (
        "receiver-window",
        "receiver",
        {
            "path": {"rtt": "5.4 ms", "rate": "549.837 Mbit/s", "queue": "1.379 bdp"},
            "client": {"tcp_rmem": [4096, 131072, 350374]},
            "workload": [{**BULK, "size": "100 MB"}],
            "duration": "20 s",
            "until": "done",
        },
    ),
    "an outage among losses lasts no longer than TCP's window takes to grow": (
        "random-loss",
        "sender",
        {
            "path": {"rtt": "100 ms", "rate": "50 Mbit/s", "loss": 0.003, "outages": [["15 s", "1.5 s"]]},
            "duration": "39 s",
        },
    ),
    "losses beside a little reordering are losses": (
        "random-loss",
        "sender",
        {
            "path": {
                "rtt": "60 ms",
                "rate": "20 Mbit/s",
                "loss": 0.01,
                "down": {"jitter": {"spread": "1.5 ms", "distribution": "uniform", "reorder": True}},
            },
            "duration": "20 s",
        },
    ),
    "a send buffer is full because ACKs wait": (
        "ack-path",
        "sender",
        {
            "path": {
                "rtt": "180.5 ms",
                "rate": "24.316 Mbit/s",
                "queue": "391 packets",
                "up": {"rate": "404 kbit/s", "queue": "64 kB"},
            },
            "host": {"congestion_control": "reno"},
            "duration": "5.76 s",
        },
    ),
    "a program bounds BBR, which takes a second to come to that rate": (
        "pacing",
        "sender",
        {
            "path": {"rtt": "103.3 ms", "rate": "927.55 Mbit/s", "queue": "8143 packets"},
            "host": {**LARGE, "congestion_control": "bbr"},
            "workload": [{**BULK, "max_pacing_rate": "440.306 Mbit/s"}],
            "duration": "6.63 s",
        },
    ),
    "a client that thinks for less than the time between samples": (
        "sender-application",
        "receiver",
        {
            "path": {"rtt": "6.1 ms", "rate": "96.521 Mbit/s", "queue": "0.933 bdp"},
            "host": {"congestion_control": "reno"},
            "workload": [
                {
                    "name": "download",
                    "kind": "http",
                    "size": "100609 B",
                    "fetches": 60,
                    "keep_alive": True,
                    "think": "55.1 ms",
                }
            ],
            "duration": "90 s",
            "until": "done",
        },
    ),
    "what a path carries is not known well enough to put a slow start first": (
        "send-buffer",
        "receiver",
        {
            "path": {"rtt": "95.9 ms", "rate": "73.047 Mbit/s", "queue": "545 packets"},
            "host": {"tcp_rmem": [4096, 131072, 67_108_864]},
            "server": {"tcp_wmem": [4096, 16384, 723_068]},
            "duration": "7.22 s",
            "seed": 4,
        },
    ),
}


def test_a_receivers_silence_that_losses_may_explain_is_no_pause_of_a_program() -> None:
    lab = {
        "path": {"rtt": "206 ms", "rate": "161.863 Mbit/s", "outages": [["1.09 s", "3.63 s"]]},
        "host": LARGE,
        "duration": "6.29 s",
    }
    shares = {each.kind: each.share for each in diagnosed(lab, "receiver").findings}
    assert shares.get("sender-application", 0.0) < 0.1
    assert shares.get("timeouts", 0.0) + shares.get("outage", 0.0) > 0.8


@pytest.mark.parametrize("what", LABS)
def test_the_planted_limit_is_found(what: str) -> None:
    kind, seen_from, lab = LABS[what]
    assert diagnosed(lab, seen_from).findings[0].kind == kind


def test_what_began_too_late_to_carry_anything_is_no_transfer() -> None:
    run = bentpipe.simulate(
        bentpipe.Lab(duration="2 s", path={"rtt": "50 ms"}, workload=[{**BULK, "start": "1.99 s"}])
    )
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    assert not list(from_run.transfers(run.record, tables, "sender"))


def beside(seen_from: SeenFrom) -> list[Evidence]:
    """A download and an upload that fills the way of its ACKs."""
    run = bentpipe.simulate(bentpipe.Lab(**BEHIND_AN_UPLOAD))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    return list(from_run.transfers(run.record, tables, seen_from))


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
def test_acknowledgements_wait_behind_an_upload(seen_from: SeenFrom) -> None:
    download, upload = diagnose_all(beside(seen_from))
    first = download.findings[0]
    assert (first.kind, first.certainty) == ("ack-path", 0.9)
    assert "upload fills that way" in first.because
    assert upload.findings[0].kind == "capacity"


def test_without_the_upload_in_view_a_queue_that_does_not_follow_the_window_is_anothers() -> None:
    first = diagnose(beside("sender")[0]).findings[0]
    assert first.kind == "ack-path"
    assert first.certainty == 0.5


def test_nothing_comes_while_a_receivers_window_is_closed() -> None:
    found = diagnosed(LABS["three outages of less than a second"][2], "receiver")
    assert found.findings[0].kind == "outage"
    nothing_came = pl.col("segments_sent").diff() == 0
    closed = found.evidence.samples.with_columns(
        rwnd_bytes=pl.when(nothing_came).then(0).otherwise("rwnd_bytes").cast(pl.Int64)
    )
    kinds = {each.kind for each in diagnose(replace(found.evidence, samples=closed)).findings}
    assert "outage" not in kinds


def test_a_receivers_capture_tells_outages_from_pauses(tmp_path: Path) -> None:
    """What was in flight never came there, so nothing seems to be outstanding."""
    lab = {**LABS["three outages of less than a second"][2], "workload": [BULK]}
    execute(bentpipe.Lab(**lab), engine="sim", out=tmp_path / "out", options=EngineOptions(pcap=("client",)))
    (file,) = (tmp_path / "out").glob("*/client.pcapng")
    first = diagnose(read(file).transfers[0]).findings[0]
    assert (first.kind, first.evidence["outages"]) == ("outage", 3)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_losses_of_a_paced_sender_show_no_full_path_in_a_capture(seed: int, tmp_path: Path) -> None:
    lab = {
        "duration": "15 s",
        "seed": seed,
        "path": {"rate": "37 Mbit/s", "rtt": "18 ms", "down": {"loss": 0.0003}},
        "workload": [{**BULK, "max_pacing_rate": "12.6 Mbit/s"}],
    }
    ends = ("client", "server")
    execute(bentpipe.Lab(**lab), engine="sim", out=tmp_path / "out", options=EngineOptions(pcap=ends))
    for end in ends:
        (file,) = (tmp_path / "out").glob(f"*/{end}.pcapng")
        found = diagnose(read(file).transfers[0])
        assert found.findings[0].kind == "pacing"
        assert found.view.capacity_bit_s is None
