"""What the doctor says of paths whose limit is known, by what one end sees."""

from collections.abc import Mapping
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.evidence import SeenFrom

PATH = {"rtt": "100 ms", "rate": "20 Mbit/s"}
BULK = {"name": "download", "kind": "bulk", "direction": "down"}


def diagnosed(lab: Mapping[str, Any], seen_from: SeenFrom = "sender", *, sample_s: float = 0.1) -> Diagnosis:
    whole = bentpipe.Lab(**{"duration": "15 s", "path": PATH, "workload": [BULK], **lab})
    run = bentpipe.simulate(whole, sample_s=sample_s)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (evidence,) = from_run.transfers(run.record, tables, seen_from)
    return diagnose(evidence)


CASES: Mapping[str, Mapping[str, Any]] = {
    "receiver-window": {"client": {"tcp_rmem": [4096, 131072, 131072]}},
    "send-buffer": {
        "path": {**PATH, "rate": "100 Mbit/s"},
        "server": {"tcp_wmem": [4096, 16384, 400_000]},
    },
    "random-loss": {"path": {**PATH, "loss": 0.004}},
    "capacity": {"path": {**PATH, "queue": "1 bdp"}},
    "tcp-options": {"path": {**PATH, "rate": "100 Mbit/s"}, "client": {"window_scaling": False}},
    "outage": {"path": {**PATH, "outages": [["5 s", "4 s"]]}},
    "policer": {"path": {**PATH, "down": {"policer": {"rate": "8 Mbit/s", "burst": "150 kB"}}}},
    "line-drops": {"path": {**PATH, "rate": "100 Mbit/s", "down": {"delay_limit": "150 packets"}}},
    "short-queue": {"path": {**PATH, "rate": "50 Mbit/s", "queue": "30 kB"}},
    "ack-path": {"path": {**PATH, "up": {"rate": "100 kbit/s"}}},
    "pacing": {"host": {"congestion_control": {"name": "fixed-rate", "rate": "5 Mbit/s"}}},
    "slow-start": {
        "path": {**PATH, "rate": "500 Mbit/s"},
        "workload": [{"name": "download", "kind": "http", "size": "1 MB"}],
        "until": "done",
    },
}


@pytest.mark.parametrize("kind", CASES)
def test_the_sender_sees_the_planted_limit(kind: str) -> None:
    assert diagnosed(CASES[kind]).findings[0].kind == kind


AT_RECEIVER = (
    *("receiver-window", "random-loss", "capacity", "slow-start", "outage"),
    *("pacing", "policer", "short-queue", "ack-path"),
)


@pytest.mark.parametrize("kind", AT_RECEIVER)
def test_the_receiver_sees_the_planted_limit(kind: str) -> None:
    assert diagnosed(CASES[kind], "receiver").findings[0].kind == kind


def test_a_window_is_named_with_the_rate_that_it_allows() -> None:
    found = diagnosed(CASES["receiver-window"]).findings[0]
    window, rtt_s = found.evidence["rwnd_bytes"], found.evidence["rtt_s"]
    assert window * 8 / rtt_s == pytest.approx(6.3e6, rel=0.05)
    assert found.certainty > 0.9
    assert found.lost_share is None


def test_shares_add_up_to_the_whole_time() -> None:
    findings = diagnosed(CASES["random-loss"]).findings
    assert sum(each.share for each in findings if each.kind != "bufferbloat") == pytest.approx(1, abs=0.02)


def test_a_long_queue_is_named_beside_capacity() -> None:
    kinds = [each.kind for each in diagnosed({"path": {**PATH, "queue": "5 bdp"}}).findings]
    assert kinds[:2] == ["capacity", "bufferbloat"]


def test_a_sender_whose_timers_never_ran_out_and_whose_segments_kept_their_order_names_neither() -> None:
    lab = {
        "path": {**PATH, "loss": 0.0003},
        "client": {"tcp_rmem": [4096, 131072, 262144]},
    }
    found = diagnosed(lab)
    assert found.view["timeouts"].max() == 0
    assert not {"timeouts", "reordering"} & {each.kind for each in found.findings}


EITHER_WAY: Mapping[SeenFrom, Mapping[str, Any]] = {
    # Each ACK stands for one segment, so both ways have constant rates.
    "sender": {"path": {"rtt": "9 ms", "rate": "1.1 Mbit/s", "up": {"rate": "8 kbit/s"}}, "duration": "8 s"},
    "receiver": {"path": {"rtt": "60 ms", "rate": "10 Mbit/s", "queue": "unlimited"}, "duration": "8 s"},
}


@pytest.mark.parametrize("end", EITHER_WAY)
def test_a_queue_that_may_be_on_either_way_is_said_to_be(end: SeenFrom) -> None:
    found = diagnosed(EITHER_WAY[end], end).findings[0]
    assert found.kind == "capacity"
    assert "on the way there or back" in found.because
    assert found.certainty <= 0.8


def test_a_queue_that_loses_payload_is_on_the_payloads_way() -> None:
    found = diagnosed(CASES["capacity"]).findings[0]
    assert "back" not in found.because


def test_a_receiver_names_an_outage_that_does_not_end() -> None:
    outage = {"path": {**PATH, "outages": [["5 s", "10 s"]]}}
    found = next(each for each in diagnosed(outage, "receiver").findings if each.kind == "outage")
    assert "to the end" in found.because


def test_what_an_outage_loses_is_no_sign_of_what_limits_the_rest() -> None:
    paced = {
        "duration": "20 s",
        "path": {"rtt": "30 ms", "rate": "300 Mbit/s", "outages": [["8 s", "6.7 s"]]},
        "host": {"congestion_control": {"name": "fixed-rate", "rate": "160 Mbit/s"}},
    }
    kinds = {each.kind for each in diagnosed(paced, "receiver").findings}
    assert {"pacing", "outage"} <= kinds


def test_a_slow_reader_is_what_limits_between_two_full_windows() -> None:
    """The path's own losses make the window rise and fall in between."""
    found = diagnosed(
        {
            "duration": "8 s",
            "path": {"rtt": "18 ms", "rate": "8 Mbit/s"},
            "host": {"tcp_rmem": [4096, 131072, 200_000], "tcp_wmem": [4096, 16384, 200_000]},
            "split": {},
            "near": {"rtt": "1 ms", "rate": "2.5 Mbit/s"},
        }
    ).findings[0]
    assert found.kind == "receiver-application"
    assert found.share > 0.8


LARGE_BUFFERS = {"tcp_rmem": [4096, 131072, 8_388_608], "tcp_wmem": [4096, 16384, 8_388_608]}


@pytest.mark.parametrize(
    ("rtt", "rate", "loss", "seed"),
    [("65.056 ms", "12.553 Mbit/s", 0.192, 1465), ("153.081 ms", "79.409 Mbit/s", 0.199, 865)],
    ids=("more is lost than a receiver sees", "segments come twice in the silence"),
)
def test_a_receiver_takes_repetitions_that_are_lost_for_no_outage(
    rtt: str, rate: str, loss: float, seed: int
) -> None:
    path = {"rtt": rtt, "rate": rate, "loss": loss}
    found = diagnosed({"path": path, "duration": "20 s", "host": LARGE_BUFFERS, "seed": seed}, "receiver")
    assert [each.kind for each in found.findings] == ["timeouts"]


def test_a_window_without_scaling_counts_as_full_though_a_sender_waits_for_room_for_a_burst() -> None:
    lab = {
        "path": {"rtt": "10.526 ms", "rate": "309.783 Mbit/s"},
        "duration": "20 s",
        "host": LARGE_BUFFERS,
        "client": {"window_scaling": False},
        "seed": 729,
    }
    assert diagnosed(lab, "receiver").findings[0].kind == "tcp-options"


def test_what_an_outage_loses_does_not_explain_it() -> None:
    """Slow start overflowed the queue before it, and it lost a whole window."""
    path = {"rtt": "38.882 ms", "rate": "4.887 Mbit/s", "queue": "1 bdp", "outages": [["2.4 s", "1.58 s"]]}
    found = diagnosed({"path": path, "duration": "6 s", "host": LARGE_BUFFERS, "seed": 80217})
    assert found.findings[0].kind == "outage"


def test_at_a_receiver_an_outage_costs_more_than_a_full_path() -> None:
    path = {"rtt": "80.265 ms", "rate": "2.578 Mbit/s", "queue": "1 bdp", "outages": [["2.4 s", "1.96 s"]]}
    lab = {"path": path, "duration": "10 s", "host": LARGE_BUFFERS, "seed": 80249}
    first, *others = diagnosed(lab, "receiver").findings
    assert first.kind == "outage"
    full = next(each for each in others if each.kind == "capacity")
    assert first.share < full.share
    assert first.lost_share is not None and full.lost_share is not None


def test_a_receiver_of_several_connections_tells_timeouts_from_an_outage() -> None:
    streams = {**BULK, "streams": 4}
    lossy = {"path": {**PATH, "loss": 0.2}, "workload": [streams], "duration": "20 s", "host": LARGE_BUFFERS}
    assert diagnosed(lossy, "receiver").findings[0].kind == "timeouts"
    outage = {"path": {**PATH, "outages": [["5 s", "4 s"]]}, "workload": [streams]}
    assert "outage" in {each.kind for each in diagnosed(outage, "receiver").findings}
