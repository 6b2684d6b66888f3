"""How long flows took, by their size."""

from pathlib import Path

import polars as pl
import pytest

from bentpipe.lab.load import Lab
from bentpipe.runs.figures.flow_times import flow_times, initial_window_bytes
from bentpipe.runs.schema import FLOWS

LAB = """
[path]
rtt = "500 ms"
[[workload]]
kind = "ping"
"""


def flows(*rows: tuple[int, float | None]) -> pl.DataFrame:
    """Flows of a size that began at 10 s and took so long; None: that did not finish."""
    given = [
        {
            "size_bytes": size,
            "start_s": 10.0,
            "end_s": None if took is None else 10.0 + took,
            "outcome": "unfinished" if took is None else "finished",
        }
        for size, took in rows
    ]
    return pl.DataFrame(given, schema=FLOWS.schema)


def test_a_small_flow_is_one_that_fits_in_the_initial_window() -> None:
    found = flow_times(flows((500, 1.0), (14480, 3.0), (14481, 100.0), (900, None)), 14480)["small_flows"]
    assert found == {
        "up_to_bytes": 14480,
        "count": 2,
        "not_finished": 1,
        "p50_s": pytest.approx(2.0),
        "p95_s": None,
        "p99_s": None,
        "max_s": pytest.approx(3.0),
    }


def test_flows_stand_in_decades_of_their_size_and_an_empty_decade_is_left_out() -> None:
    found = flow_times(flows((999, 1.0), (1000, 2.0), (9999, 4.0), (20_000_000, None)), 14480)["fct_by_size"]
    assert [(each["at_least_bytes"], each["below_bytes"]) for each in found] == [
        (0, 1000),
        (1000, 10_000),
        (10_000_000, None),
    ]
    assert [each["p50_s"] for each in found] == [pytest.approx(1.0), pytest.approx(3.0), None]
    assert [each["count"] for each in found] == [1, 2, 0]


def test_without_flows_there_are_no_times() -> None:
    found = flow_times(flows(), 14480)
    assert found["fct_by_size"] == []
    assert (found["small_flows"]["count"], found["small_flows"]["p95_s"]) == (0, None)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", 10 * 1448),
        ("[server]\ninitcwnd = 4", 4 * 1448),
        ("[host]\ntimestamps = false", 10 * 1460),
        ("[host]\nip = 6", 10 * 1428),
    ],
)
def test_the_initial_window_is_the_servers(tmp_path: Path, more: str, expected: int) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB + more)
    (point,) = Lab.load(lab).points()
    assert initial_window_bytes(point.spec) == expected
