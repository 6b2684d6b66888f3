"""Repeats are put together, compared with what was published, and what is unreliable stays out."""

from pathlib import Path

import pytest
import synthetic

from bentpipe.results import Results
from bentpipe.results.cells import Cell, cells
from bentpipe.results.published import experiment, figure_for, figures


def only(found: list[Cell]) -> Cell:
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("rtt_ms", "direction", "published"),
    [(0.6, "up", 2460), (11, "down", 239), (30, "up", 323), (150, "down", 32.2), (550, "up", 34.7)],
)
def test_forward_is_up_and_reverse_is_down(
    tmp_path: Path, rtt_ms: float, direction: str, published: float
) -> None:
    run = Results.open(synthetic.run(tmp_path, rtt_ms=rtt_ms, direction=direction)).runs[0]
    found = figure_for(run, "transfer")
    assert found is not None
    assert (found.direction, found.goodput_mbit_s) == (direction, published)


def test_a_round_trip_that_nobody_published_is_compared_with_nothing(tmp_path: Path) -> None:
    cell = only(cells(Results.open(synthetic.run(tmp_path, rtt_ms=300)).runs))
    assert cell.published is None
    assert cell.ratio is None


def test_a_key_that_is_not_known_has_no_figures(tmp_path: Path) -> None:
    assert experiment("never-published") is None
    assert experiment(None) is None
    assert figures("never-published") == []
    run = Results.open(synthetic.run(tmp_path, changes={"published": None})).runs[0]
    assert figure_for(run, "transfer") is None


def test_repeats_are_one_cell_with_their_median(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        synthetic.run(tmp_path, f"{seed}", seed=seed)
    results = Results.open(tmp_path)
    cell = only(cells(results.runs))
    each = sorted(run["workloads"]["transfer"]["goodput_mbit_s"] for run in results.runs)
    assert cell.goodput_mbit_s is not None
    assert cell.goodput_mbit_s.median == each[1]
    assert (cell.goodput_mbit_s.low, cell.goodput_mbit_s.high) == (each[0], each[2])
    assert cell.ratio == pytest.approx(each[1] / 32.2)


def test_an_unreliable_or_failed_run_is_in_no_median_unless_asked(tmp_path: Path) -> None:
    synthetic.run(tmp_path, "1", seed=1)
    synthetic.run(tmp_path, "2", seed=2, changes={"reliable": False})
    synthetic.run(tmp_path, "3", seed=3, changes={"status": "failed"})
    runs = Results.open(tmp_path).runs
    cell = only(cells(runs))
    assert cell.goodput_mbit_s is not None
    assert cell.goodput_mbit_s.count == 1
    assert len(cell.left_out) == 2
    asked = only(cells(runs, include_unreliable=True))
    assert asked.goodput_mbit_s is not None
    assert asked.goodput_mbit_s.count == 3


def test_a_cell_of_unreliable_runs_shows_its_figure_but_no_ratio(tmp_path: Path) -> None:
    cell = only(cells(Results.open(synthetic.run(tmp_path, changes={"reliable": False})).runs))
    assert cell.goodput_mbit_s is None
    assert cell.doubtful_mbit_s is not None
    assert cell.ratio is None
