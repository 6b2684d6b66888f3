"""The rate of a path that was never full, by bursts in fine samples."""

from typing import Any

import pytest
from test_findings import BULK, diagnosed

from bentpipe.doctor.burst_rate import burst_rate
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.path_seen import path_seen
from bentpipe.doctor.words import path_words

LARGE = {"tcp_rmem": [4096, 131072, 8_388_608], "tcp_wmem": [4096, 16384, 8_388_608]}
SMALL = {"tcp_rmem": [4096, 131072, 500_000]}


def seen(seen_from: SeenFrom, **lab: Any) -> Diagnosis:
    base = {
        "duration": "10 s",
        "path": {"rtt": "400 ms", "rate": "20 Mbit/s"},
        "host": LARGE,
        "client": SMALL,
    }
    return diagnosed(base | lab, seen_from, sample_s=0.02)


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
def test_a_small_window_comes_in_bursts_at_the_paths_rate(seen_from: SeenFrom) -> None:
    found = seen(seen_from)
    assert found.findings[0].kind == "receiver-window"
    path = path_seen([found])
    assert path is not None and path.rate_from == "bursts" and path.rate_bounds
    assert path.rate_bit_s == pytest.approx(20e6, rel=0.05)
    low, high = path.rate_interval_bit_s
    assert low is not None and high is not None and 0.9 * 20e6 < low <= high < 1.1 * 20e6
    assert "by bursts" in path_words(path)


@pytest.mark.parametrize("seen_from", ["sender", "receiver"])
@pytest.mark.parametrize("rate", ["1 Gbit/s", "20 Mbit/s"])
def test_bursts_that_the_sender_paced_are_not_the_paths(seen_from: SeenFrom, rate: str) -> None:
    paced = {**BULK, "max_pacing_rate": "1 Gbit/s"}
    host = {**LARGE, "congestion_control": "reno"}
    found = seen(seen_from, path={"rtt": "400 ms", "rate": rate}, host=host, workload=[paced])
    assert found.findings[0].kind == "receiver-window"
    path = path_seen([found])
    assert path is not None and path.rate_from != "bursts"


def test_a_steady_flow_has_no_bursts() -> None:
    found = seen("sender", client={}, path={"rtt": "400 ms", "rate": "20 Mbit/s", "queue": "1 bdp"})
    assert burst_rate(found.view, 19e6) is None
    assert burst_rate(found.view, 1e5) is None, "one burst of a whole transfer"


def test_coarse_samples_and_other_transfers_beside_tell_none() -> None:
    found = seen("sender")
    assert burst_rate(found.view, 4e6) is not None
    path = path_seen([found, found])
    assert path is not None and path.rate_from != "bursts" and path.is_shared
    path = path_seen([found, found], alone=True)
    assert path is not None and path.rate_from == "bursts"
