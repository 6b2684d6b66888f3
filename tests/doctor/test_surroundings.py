"""What is around a transfer does not hide its limit: a lab for each rule, diagnosed wrongly without it."""

from collections.abc import Mapping
from typing import Any

import pytest
from test_findings import BULK, diagnosed

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose_all
from bentpipe.doctor.evidence import SeenFrom

LARGE = {"tcp_rmem": [4096, 131072, 67_108_864], "tcp_wmem": [4096, 65536, 67_108_864]}
UPLOAD = {**BULK, "direction": "up"}
IN_STEPS = {
    "path": {
        "rtt": "15 ms",
        "rate": "28 Mbit/s",
        "down": {
            "queue": "50 kB",
            "rate": {"steps": [["0 s", "20 Mbit/s"], ["1.7 s", "29 Mbit/s"], ["3.3 s", "36 Mbit/s"]]},
        },
    },
    "host": {**LARGE, "congestion_control": "bbr"},
    "duration": "5 s",
}
LABS: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "a bucket lets the first bytes pass faster": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "27.6 ms",
                "rate": "29.25 Mbit/s",
                "down": {
                    "rate": {"rate": "29.25 Mbit/s", "burst": "960 kB", "peak": "100 Mbit/s"},
                    "queue": "245 ms",
                },
            },
            "host": {"congestion_control": "bbr3"},
            "duration": "23.7 s",
        },
    ),
    "a receiver sees the path's rate change in steps": (
        "capacity",
        "receiver",
        {
            "path": {
                "rtt": "41.5 ms",
                "rate": "261 Mbit/s",
                "down": {
                    "rate": {
                        "steps": [["0 s", "239 Mbit/s"], ["2.9 s", "261 Mbit/s"], ["5.9 s", "202 Mbit/s"]]
                    },
                    "queue": "382 ms",
                },
            },
            "host": LARGE,
            "duration": "8.8 s",
        },
    ),
    "BBR has probed for more in each step": ("capacity", "sender", IN_STEPS),
    "a receiver sees the steps of a path that BBR fills": ("capacity", "receiver", IN_STEPS),
    "waits are as long at any of the path's rates": (
        "capacity",
        "sender",
        {
            "path": {
                "rtt": "5.541 ms",
                "rate": "126.477 Mbit/s",
                "queue": "102271 B",
                "mtu": 1400,
                "down": {
                    "rate": {
                        "steps": [
                            ["0 s", "140.4308 Mbit/s"],
                            ["1.25 s", "98.4163 Mbit/s"],
                            ["2.5 s", "118.1531 Mbit/s"],
                            ["3.75 s", "148.9078 Mbit/s"],
                        ]
                    }
                },
            },
            "host": {"congestion_control": {"name": "cubic", "slow_start": "standard"}},
            "duration": "5 s",
        },
    ),
    "without time stamps a steady rate is rather a full path's": (
        "capacity",
        "receiver",
        {
            "path": {"rtt": "74.268 ms", "rate": "13.596 Mbit/s", "queue": "792970 B"},
            "host": {**LARGE, "timestamps": False},
            "duration": "5 s",
        },
    ),
    "what comes first after a silence is late": (
        "outage",
        "receiver",
        {
            "path": {
                "rtt": "34.4 ms",
                "rate": "46.1 Mbit/s",
                "queue": "111 ms",
                "handover": {"every": "6.2 s", "step": "607 us", "outage": "1892 ms"},
            },
            "host": LARGE,
            "duration": "43.6 s",
        },
    ),
    "all that is lost is lost in the outage": (
        "outage",
        "sender",
        {
            "path": {
                "rtt": "243.841 ms",
                "rate": "22.477 Mbit/s",
                "queue": "1 bdp",
                "outages": [["2.93 s", "1.59 s"]],
            },
            "host": {"tcp_rmem": [4096, 131072, 8_388_608], "tcp_wmem": [4096, 16384, 8_388_608]},
            "duration": "7.3 s",
            "seed": 80105,
        },
    ),
    "a sender without time stamps and D-SACK learns how late segments are": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "39.3 ms",
                "rate": "400 Mbit/s",
                "queue": "1 bdp",
                "down": {
                    "jitter": {
                        "spread": "7 ms",
                        "distribution": "normal",
                        "correlation": 0.25,
                        "reorder": True,
                    }
                },
            },
            "host": {**LARGE, "timestamps": False, "dsack": False},
            "duration": "5.8 s",
        },
    ),
    "jitter of a third of the round trip is no queue": (
        "reordering",
        "sender",
        {
            "path": {
                "rtt": "60.4 ms",
                "rate": "113 Mbit/s",
                "jitter": {"spread": "17.65 ms", "distribution": "normal", "reorder": True},
            },
            "host": LARGE,
            "duration": "5 s",
        },
    ),
}
OTHERWISE: Mapping[str, tuple[str, SeenFrom, Mapping[str, Any]]] = {
    "losses beside segments that are late": (
        "random-loss",
        "sender",
        {
            "path": {
                "rtt": "40 ms",
                "rate": "50 Mbit/s",
                "loss": 0.01,
                "down": {"jitter": {"spread": "3 ms", "distribution": "normal", "reorder": True}},
            },
            "host": LARGE,
            "duration": "15 s",
        },
    ),
    "ACKs that release payload rather evenly": (
        "ack-path",
        "receiver",
        {
            "path": {"rtt": "15 ms", "rate": "300 Mbit/s", "up": {"rate": "1.5 Mbit/s"}},
            "host": {**LARGE, "congestion_control": "bbr3"},
            "duration": "15 s",
        },
    ),
    "a buffer has one rate": (
        "send-buffer",
        "receiver",
        {
            "path": {"rtt": "120 ms", "rate": "100 Mbit/s"},
            "server": {"tcp_wmem": [4096, 16384, 400_000]},
            "duration": "15 s",
        },
    ),
}
"""What the rules above must not take for something else."""
BEHIND: Mapping[str, tuple[SeenFrom, Mapping[str, Any]]] = {
    "BBR fills the way back, at its own rate": (
        "sender",
        {
            "path": {
                "rtt": "38.7 ms",
                "rate": "60.6 Mbit/s",
                "up": {"rate": "3.21 Mbit/s", "queue": "118 kB"},
            },
            "host": {**LARGE, "congestion_control": "bbr"},
        },
    ),
    "the upload's rate is much the steadier one": (
        "receiver",
        {
            "path": {
                "rtt": "37.2 ms",
                "rate": "96.9 Mbit/s",
                "mtu": 1420,
                "up": {"rate": "3.13 Mbit/s", "queue": "338 kB"},
            },
            "host": {
                "tcp_rmem": [4096, 131072, 8_388_608],
                "tcp_wmem": [4096, 16384, 8_388_608],
                "congestion_control": "reno",
                "dsack": False,
            },
        },
    ),
}


@pytest.mark.parametrize("what", LABS)
def test_the_planted_limit_is_found(what: str) -> None:
    kind, seen_from, lab = LABS[what]
    assert diagnosed(lab, seen_from).findings[0].kind == kind


@pytest.mark.parametrize("what", OTHERWISE)
def test_it_is_not_found_elsewhere(what: str) -> None:
    kind, seen_from, lab = OTHERWISE[what]
    assert diagnosed(lab, seen_from).findings[0].kind == kind


@pytest.mark.parametrize("rtt_ms", [130, 150])
def test_samples_that_are_no_part_of_a_round_trip_do_not_hide_a_full_window(rtt_ms: int) -> None:
    lab = {
        "path": {"rtt": f"{rtt_ms} ms", "rate": "50 Mbit/s"},
        "client": {"tcp_rmem": [4096, 131072, 200_000]},
    }
    first = diagnosed(lab, "receiver", sample_s=0.1).findings[0]
    assert (first.kind, first.share > 0.9, first.certainty > 0.9) == ("receiver-window", True, True)


LOST_IN_A_ROW = {
    "path": {
        "rtt": "70 ms",
        "rate": "7 Mbit/s",
        "queue": "2 bdp",
        "down": {"loss": {"model": "gilbert-elliott", "p": 0.003, "r": 0.03, "bad": 0.9}},
    },
    "duration": "25 s",
}


@pytest.mark.parametrize(
    ("seen_from", "seed"), [("sender", 3), ("sender", 8), ("receiver", 3), ("receiver", 7)]
)
def test_losses_in_a_row_that_silence_a_transfer_are_no_outage(seen_from: SeenFrom, seed: int) -> None:
    assert diagnosed({**LOST_IN_A_ROW, "seed": seed}, seen_from).findings[0].kind == "timeouts"


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
def test_an_outage_that_begins_while_tcp_repairs_an_overflow_is_one(seen_from: SeenFrom) -> None:
    outages = [["2.61 s", "0.9 s"], ["5.64 s", "0.9 s"]]
    path = {"rtt": "189.8 ms", "rate": "4.928 Mbit/s", "queue": "108 packets", "outages": outages}
    assert diagnosed({"path": path, "duration": "8.46 s"}, seen_from).findings[0].kind == "outage"


def test_after_an_outage_a_buffer_may_hold_more() -> None:
    lab = {
        "path": {"rtt": "9.675 ms", "rate": "259.558 Mbit/s", "outages": [["8 s", "6.68 s"]]},
        "server": {"tcp_wmem": [4096, 16384, 52750]},
        "duration": "20 s",
        "seed": 60049,
    }
    assert {"outage", "send-buffer"} <= {each.kind for each in diagnosed(lab, "receiver").findings}


def test_jitter_does_not_fill_a_path_for_bbr() -> None:
    lab = {
        "path": {
            "rtt": "15 ms",
            "rate": "50 Mbit/s",
            "queue": "2 bdp",
            "jitter": {"spread": "30 ms", "distribution": "normal"},
        },
        "host": {**LARGE, "congestion_control": "bbr"},
        "duration": "15 s",
    }
    assert all(each.share < 0.5 for each in diagnosed(lab).findings if each.kind == "capacity")


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
def test_a_steady_upload_does_not_fill_the_way_back_by_itself(seen_from: SeenFrom) -> None:
    rates = (10, 14, 8, 20, 12, 30, 9, 16, 25, 11, 18, 7, 22, 13, 10)
    steps = {"steps": [[f"{second} s", f"{rate} Mbit/s"] for second, rate in enumerate(rates)]}
    run = bentpipe.simulate(
        bentpipe.Lab(
            path={"rtt": "20 ms", "rate": "25 Mbit/s", "down": {"rate": steps, "queue": "150 kB"}},
            host={**LARGE, "congestion_control": "bbr"},
            duration="15 s",
            workload=[BULK, {**UPLOAD, "name": "upload", "max_pacing_rate": "3 Mbit/s"}],
        ),
        sample_s=0.1,
    )
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    download, _upload = diagnose_all(from_run.transfers(run.record, tables, seen_from))
    assert all("fills that way" not in each.because for each in download.findings)


@pytest.mark.parametrize("what", BEHIND)
def test_acknowledgements_wait_behind_an_upload(what: str) -> None:
    seen_from, lab = BEHIND[what]
    run = bentpipe.simulate(
        bentpipe.Lab(**{**lab, "duration": "5 s", "workload": [BULK, {**UPLOAD, "name": "upload"}]}),
        sample_s=0.1,
    )
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    download, _upload = diagnose_all(from_run.transfers(run.record, tables, seen_from))
    first = download.findings[0]
    assert first.kind == "ack-path"
    assert "upload fills that way" in first.because


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
def test_samples_that_are_all_of_one_time_tell_nothing(seen_from: SeenFrom) -> None:
    lab = bentpipe.Lab(
        path={"rtt": "20 ms", "rate": "10 Mbit/s"},
        duration="1.5 s",
        workload=[{**BULK, "streams": 4}],
    )
    run = bentpipe.simulate(lab, sample_s=1.0)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    found = diagnose_all(from_run.transfers(run.record, tables, seen_from))
    assert {each.findings[0].kind for each in found} == {"unknown"}


def test_an_outage_is_one_although_its_timer_runs_out_within_a_sample() -> None:
    outages = [["8.5 s", "4 s"], ["20.7 s", "4 s"]]
    lab = {"path": {"rtt": "40 ms", "rate": "20 Mbit/s", "outages": outages}, "duration": "30 s"}
    kinds = {each.kind for each in diagnosed(lab, sample_s=0.5).findings if each.share > 0.2}
    assert "outage" in kinds
    assert "timeouts" not in kinds


def test_an_overflow_is_no_run_of_losses_that_explains_lost_windows() -> None:
    path = {
        "rtt": "300 ms",
        "rate": "5 Mbit/s",
        "queue": "2 bdp",
        "loss": 0.003,
        "outages": [["3.34 s", "2.28 s"], ["6.55 s", "1.79 s"]],
    }
    assert diagnosed({"path": path, "duration": "9 s", "seed": 101}).findings[0].kind == "outage"
