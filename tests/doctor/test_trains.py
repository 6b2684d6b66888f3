"""The rate of a path that was never full, by the distances of segments in a capture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bentpipe
from bentpipe.doctor import from_capture
from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.path_seen import PathSeen, path_seen
from bentpipe.doctor.trains import path_rate
from bentpipe.doctor.words import path_words
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

RATE_MBIT_S = 30.0
ENDS = {"server": "sender", "client": "receiver"}


def captured(tmp_path: Path, **lab: Any) -> Iterator[tuple[str, Diagnosis, PathSeen]]:
    """A download over a path of that rate, by the captures of both ends."""
    base: dict[str, Any] = {
        "duration": "10 s",
        "path": {"rtt": "100 ms", "rate": f"{RATE_MBIT_S} Mbit/s"},
        "host": {"tcp_rmem": [4096, 131072, 8_388_608], "tcp_wmem": [4096, 16384, 8_388_608]},
        "workload": [{"name": "download", "kind": "bulk", "direction": "down"}],
    }
    out = tmp_path / "out"
    options = EngineOptions(pcap=tuple(ENDS))
    execute(bentpipe.Lab(**base | lab), engine="sim", out=out, options=options)
    (run,) = out.glob("[!.]*/")
    for host, end in ENDS.items():
        found = diagnose(from_capture.read(run / f"{host}.pcapng").transfers[0])
        seen = path_seen([found])
        assert seen is not None
        yield end, found, seen


def test_a_small_window_leaves_trains_that_show_the_paths_rate(tmp_path: Path) -> None:
    ends = []
    for end, found, seen in captured(tmp_path, client={"window_scaling": False}):
        assert found.findings[0].kind == "tcp-options"
        assert found.view.capacity_bit_s is None
        assert seen.rate_bit_s == pytest.approx(RATE_MBIT_S * 1e6, rel=0.1), end
        low, high = seen.rate_interval_bit_s
        assert low is not None and high is not None and low < RATE_MBIT_S * 1e6 < high
        assert "by packet trains" in path_words(seen)
        assert seen.as_json()["rate_from"] == "trains"
        ends.append(end)
    assert ends == list(ENDS.values())


def test_a_cure_after_which_the_path_is_full_gives_what_the_path_carries(tmp_path: Path) -> None:
    """Sockets do not tell the path's rate here, and the figure of a missing window scale was twice too
    high."""
    carries = RATE_MBIT_S * 1448 / 1500
    for end, found, seen in captured(tmp_path, client={"window_scaling": False}):
        best = cures(found, seen)[0]
        assert dict(best.change) == {"client.window_scaling": True}
        assert 0.6 * carries < best.goodput_bit_s / 1e6 < 1.02 * carries, end
        assert best.high_bit_s is not None, "the path's rate is known"
        assert best.goodput_bit_s == best.simulated_bit_s


def test_of_several_transfers_none_has_the_path_alone(tmp_path: Path) -> None:
    both = [
        {"name": "down", "kind": "bulk", "direction": "down"},
        {"name": "up", "kind": "bulk", "direction": "up"},
    ]
    for end, found, _ in captured(tmp_path, client={"window_scaling": False}, workload=both):
        seen = path_seen([found, found])
        assert seen is not None and seen.rate_from != "trains" and not seen.rate_bounds, end
        assert all(
            each.high_bit_s is None or each.high_bit_s >= each.goodput_bit_s for each in cures(found, seen)
        )


def test_a_sender_that_paces_itself_tells_nothing_of_the_path(tmp_path: Path) -> None:
    paced = {"congestion_control": {"name": "fixed-rate", "rate": "5 Mbit/s"}}
    for end, found, seen in captured(tmp_path, host=paced):
        assert len(found.evidence.train_rates) > 0, end
        assert seen.rate_from != "trains", end


def test_trains_of_one_rate_tell_it_if_it_is_a_third_above_what_was_carried() -> None:
    trains = [(1e6, 50), (30e6, 20)]
    found = path_rate(trains, 10e6)
    assert found is not None and found.usual == 30e6
    assert path_rate(trains, 25e6) is None


def test_an_interval_holds_the_fast_trains() -> None:
    found = path_rate([(20e6, 30), (30e6, 40)], 5e6)
    assert found is not None and (found.low, found.usual) == (20e6, 30e6)
    assert found.high > 30e6


@pytest.mark.parametrize(
    "trains",
    [
        [],
        [(30e6, 9)],
        [(10e6 * 1.1**step, 2) for step in range(30)],
        [(10e6, 500), (90e6, 12)],
        [(97e6, 100), (1e11, 5)],
    ],
    ids=("none", "few", "of any rate", "a few of many", "within a tick of the clock"),
)
def test_trains_that_tell_nothing(trains: list[tuple[float, int]]) -> None:
    assert path_rate(trains, 1e6) is None


@given(st.lists(st.tuples(st.floats(1e4, 1e11), st.integers(1, 1000)), max_size=60), st.floats(0, 1e11))
def test_a_rate_is_one_of_those_that_were_seen(trains: list[tuple[float, int]], carried: float) -> None:
    found = path_rate(trains, carried)
    if found is not None:
        assert found.usual in {rate for rate, _ in trains} and found.usual > carried
        assert 0 < found.low < found.usual < found.high
