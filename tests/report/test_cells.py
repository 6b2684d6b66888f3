"""Repeats are put together, compared with what was published, and what is unreliable stays out."""

from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import records
import synthetic

from bentpipe.analysis.cells import Cell, cells
from bentpipe.analysis.comparisons import compare_all
from bentpipe.analysis.published import experiment, figures, figures_for
from bentpipe.analysis.speed_up import speed_up
from bentpipe.report import columns
from bentpipe.runs.store import Results


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
    run = Results.open(synthetic.run(tmp_path, rtt_ms=rtt_ms, direction=direction)).records[0]
    (found,) = figures_for(run, "bulk", "transfer")
    assert (found.direction, found.median) == (direction, published)


def test_a_round_trip_that_nobody_published_is_compared_with_nothing(tmp_path: Path) -> None:
    cell = only(cells(Results.open(synthetic.run(tmp_path, rtt_ms=300)).records))
    assert cell.published is None
    assert cell.ratio is None


def test_a_key_that_is_not_known_has_no_figures(tmp_path: Path) -> None:
    assert experiment("never-published") is None
    assert experiment(None) is None
    assert not figures("never-published")
    run = Results.open(synthetic.run(tmp_path, changes={"published": None})).records[0]
    assert figures_for(run, "bulk", "transfer") == []


def test_repeats_are_one_cell_with_their_median(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        synthetic.run(tmp_path, f"{seed}", seed=seed)
    results = Results.open(tmp_path)
    cell = only(cells(results.records))
    each = sorted(run["workloads"]["transfer"]["goodput_mbit_s"] for run in results.records)
    assert cell.ours is not None
    assert cell.ours.median == each[1]
    assert (cell.ours.low, cell.ours.high) == (each[0], each[2])
    assert cell.ratio == pytest.approx(each[1] / 32.2)


def test_an_unreliable_or_failed_run_is_in_no_median_unless_asked(tmp_path: Path) -> None:
    synthetic.run(tmp_path, "1", seed=1)
    synthetic.run(tmp_path, "2", seed=2, changes={"reliable": False})
    synthetic.run(tmp_path, "3", seed=3, changes={"status": "failed"})
    runs = Results.open(tmp_path).records
    cell = only(cells(runs))
    assert cell.ours is not None
    assert cell.ours.count == 1
    assert len(cell.left_out) == 2
    asked = only(cells(runs, include_unreliable=True))
    assert asked.ours is not None
    assert asked.ours.count == 3


def test_a_cell_of_unreliable_runs_shows_its_figure_but_no_ratio(tmp_path: Path) -> None:
    cell = only(cells(Results.open(synthetic.run(tmp_path, changes={"reliable": False})).records))
    assert cell.ours is None
    assert cell.ours_doubtful is not None
    assert cell.ratio is None


def test_every_kind_of_work_has_a_cell_with_its_own_headline() -> None:
    works = {
        "page": records.http([2.0]),
        "transfer": records.bulk(10.0),
        "clients": {"kind": "channels", "goodput_mbit_s": 3.0, "flows": 900, "failed": 2},
        "rtt": {"kind": "ping", "median_ms": 550.1, "min_ms": 550.0},
        "command": {"kind": "exec", "duration_s": 1.5, "status": 0},
    }
    found = {cell.workload: cell for cell in cells([records.run(works)])}
    assert {name: cell.measure.name for name, cell in found.items()} == {
        "transfer": "goodput",
        "page": "fetch",
        "clients": "goodput",
        "command": "duration",
    }
    assert all(cell.ping_ms and cell.ping_ms.median == 550.1 for cell in found.values())
    assert found["clients"].figures["failed"].median == 2


def test_pings_have_a_cell_where_they_are_all_there_is() -> None:
    cell = only(cells([records.run({"rtt": {"kind": "ping", "median_ms": 550.1, "sent": 10, "lost": 1}})]))
    assert (cell.measure.name, cell.figures["lost"].median) == ("median", 1)


def test_the_fetches_of_all_runs_are_one_sample() -> None:
    runs = [records.run({"f": records.http([1.0, 2.0, 9.0])}, seed=1)]
    runs.append(records.run({"f": records.http([3.0, 4.0])}, seed=2))
    cell = only(cells(runs))
    assert cell.ours is not None
    assert (cell.ours.median, cell.ours.count) == (3.0, 5)


def test_a_cache_counts_its_hits_and_misses() -> None:
    cell = only(cells([records.run({"f": records.http([1.0, 2.0], cache={"hits": 1, "misses": 1})})]))
    assert (cell.figures["hits"].median, cell.figures["misses"].median) == (1, 1)
    assert "hits" not in only(cells([records.run({"f": records.http([1.0], cache=None)})])).figures


def test_rows_of_misses_and_of_hits_say_how_many_they_are() -> None:
    fetches = [
        {"total_s": 1.0, "bytes": 9, "retransmits": 0, "cache": cache} for cache in ("miss", "hit", "hit")
    ]
    work = records.http([1.0], cache={"hits": 2, "misses": 1}) | {"per_fetch": fetches}
    miss, hit = cells([records.run({"f": work})])
    assert miss.figures["misses"].median == 1
    assert hit.figures["hits"].median == 2


def of_variants(first: list[records.Record], second: list[records.Record]) -> tuple[Cell, Cell]:
    plain, other = cells([*first, *second])
    return plain, other


def test_a_transfer_that_was_not_done_is_longer_than_any_that_was() -> None:
    times_s: list[float | None] = [100.0, None, 300.0, None, None]
    runs = [records.satellite(100, 100_000) | {"seed": seed, "run": str(seed)} for seed in range(5)]
    for run, time_s in zip(runs, times_s, strict=True):
        run["workloads"]["download"]["completion_s"] = time_s
    cell = next(cell for cell in cells(runs) if cell.kind.name == "bulk")
    assert cell.ours is not None
    assert (cell.ours.low, cell.ours.median) == (100.0, inf)
    assert cell.ratio is None
    assert (columns.median(cell.ours), columns.interval(cell.ours)) == ("not done", "100–")


def test_a_speed_up_is_of_pairs_of_one_seed() -> None:
    plain = [records.run({"f": records.http([10.0 * seed])}, seed=seed) for seed in (1, 2, 3)]
    tuned = [records.run({"f": records.http([5.0 * seed + 1])}, "tuned", seed) for seed in (1, 2, 3)]
    found = speed_up(*reversed(of_variants(plain, tuned)))
    assert found is not None
    assert found.ratio == pytest.approx((10 / 6 * 20 / 11 * 30 / 16) ** (1 / 3))
    assert found.interval is not None
    assert found.interval.low < 10 / 6 < 30 / 16 < found.interval.high


def test_more_goodput_is_faster_as_less_time_is() -> None:
    plain, tuned = of_variants(
        [records.run({"t": records.bulk(4.0)})], [records.run({"t": records.bulk(8.0)}, "tuned")]
    )
    found = speed_up(tuned, plain)
    assert found is not None
    assert (found.ratio, found.interval, found.pairs) == (pytest.approx(2.0), None, 1)


def test_a_pair_of_which_one_run_does_not_count_is_none() -> None:
    plain = [records.run({"f": records.http([10.0])}, seed=seed, reliable=seed == 1) for seed in (1, 2)]
    tuned = [records.run({"f": records.http([5.0])}, "tuned", seed) for seed in (1, 2)]
    found = speed_up(*reversed(of_variants(plain, tuned)))
    assert found is not None
    assert found.pairs == 1


@pytest.mark.parametrize("kind", ["times", "rates"])
@pytest.mark.parametrize("seeds", [1, 2, 3, 5, 6, 12])
def test_a_ratio_and_its_interval_are_those_of_a_comparison(kind: str, seeds: int, tmp_path: Path) -> None:
    def work(tuned: bool, seed: int) -> dict[str, records.Record]:
        figure = (4.0 if tuned else 9.0) + (7 * seed + 3 * tuned) % 5
        return {"w": records.http([figure, 2 * figure, 3.0]) if kind == "times" else records.bulk(figure)}

    every = range(1, seeds + 1)
    runs = [
        records.run(work(tuned, s), "tuned" if tuned else "as is", s)
        for tuned in (False, True)
        for s in every
    ]
    plain, tuned = cells(runs)
    found = speed_up(tuned, plain)
    results: Any = SimpleNamespace(folder=tmp_path, records=runs)
    compared = compare_all([results])[0]
    assert found is not None
    assert compared.ratio is not None
    turned = (lambda ratio: 1 / ratio) if kind == "times" else float
    assert found.pairs == compared.pairs == seeds
    assert found.ratio == pytest.approx(turned(compared.ratio), rel=1e-12)
    ends = compared.ratio_interval
    assert (found.interval is None) == (ends is None) == (seeds == 1)
    if found.interval and ends:
        assert found.interval.level == ends.level == 0.95
        assert [found.interval.low, found.interval.high] == pytest.approx(
            sorted([turned(ends.low), turned(ends.high)])
        )
