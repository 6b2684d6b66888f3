"""Flow completion over a sweep: shares of what was begun, of the runs that count, by size."""

from pathlib import Path

import polars as pl
import pytest
import records

from bentpipe.charts import matplotlib, plotly
from bentpipe.charts.build import completion_shares
from bentpipe.charts.description import Chart, Series
from bentpipe.errors import StoreError
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import FLOWS
from bentpipe.runs.store import Results

SMALL, LARGE = 1000, 50_000


def stored(out: Path, number: int, queue: str, slow: float = 1.0, **more: object) -> None:
    """100 small flows of 0.01 to 1 s, and 50 large ones of 1 to 50 s of which the second half is not done."""
    rows = [{"size_bytes": SMALL, "start_s": 5.0, "end_s": 5 + slow * (n + 1) / 100} for n in range(100)]
    rows += [{"size_bytes": LARGE, "start_s": 5.0, "end_s": 6 + n if n < 25 else None} for n in range(50)]
    blank = dict.fromkeys(FLOWS.names)
    flows = [
        blank | row | {"workload": "clients", "outcome": "finished" if row["end_s"] else "unfinished"}
        for row in rows
    ]
    entry = {"kind": "channels", "goodput_mbit_s": 1.0, "small_flows": {"up_to_bytes": 14_480}}
    record = records.run({"clients": entry}, point={"path.queue": queue}, **more)
    folder = RunFolder.create(out, f"{number:03d}")
    folder.write_table("flows", pl.DataFrame(flows, schema=FLOWS.schema))
    folder.finish(record)


def charts(out: Path) -> list[Chart]:
    """Of all flows, of small ones, of longer ones."""
    found = completion_shares.build(Results.open(out))
    assert [words.split(", ")[1] for words in found] == ["all flows", "small flows", "longer flows"]
    return list(found.values())


def line(chart: Chart, label: str) -> Series:
    return next(series for series in chart.panels[0].series if series.label == label)


@pytest.fixture
def queues(tmp_path: Path) -> Path:
    for seed in (1, 2):
        stored(tmp_path, seed, "30 kB", seed=seed)
        stored(tmp_path, 2 + seed, "1 MB", slow=2.0, seed=seed)
    return tmp_path


def at(series: Series, share: float) -> float:
    """The time after which that share, in percent, was done."""
    return next(x for x, y in zip(series.x, series.y, strict=True) if y is not None and y >= share)


def test_a_line_says_after_what_time_which_share_of_the_flows_was_done(queues: Path) -> None:
    _, small, _ = charts(queues)
    assert at(line(small, "queue 30 kB"), 50) == pytest.approx(0.5, abs=0.011)
    assert at(line(small, "queue 1 MB"), 50) == pytest.approx(1.0, abs=0.021)
    assert "400 flows of all seeds" in small.sentence
    assert "All of them ended." in small.sentence


def test_what_had_not_ended_counts_as_begun_so_that_the_line_ends_below_100_percent(queues: Path) -> None:
    _, _, longer = charts(queues)
    last = line(longer, "queue 30 kB").y[-1]
    assert last is not None
    assert 49 < last <= 50
    assert "100 had not ended" in longer.sentence


def test_runs_that_do_not_count_are_left_out(queues: Path) -> None:
    before = line(charts(queues)[1], "queue 30 kB")
    stored(queues, 9, "30 kB", slow=100.0, reliable=False)
    assert line(charts(queues)[1], "queue 30 kB") == before


def test_a_line_names_the_runs_behind_it(queues: Path) -> None:
    assert line(charts(queues)[0], "queue 1 MB").runs[0] == ("003", "004")


def test_few_flows_are_no_distribution(tmp_path: Path) -> None:
    for number, queue in enumerate(("30 kB", "1 MB")):
        entry = {"kind": "channels", "goodput_mbit_s": 1.0}
        record = records.run({"clients": entry}, point={"path.queue": queue})
        RunFolder.create(tmp_path, f"{number}").finish(record)
    assert completion_shares.build(Results.open(tmp_path)) == {}


@pytest.mark.parametrize("damage", ["cut short", "text for numbers"])
def test_a_damaged_table_is_named_by_its_path(queues: Path, damage: str) -> None:
    file = queues / "002" / "flows.parquet"
    if damage == "cut short":
        file.write_bytes(file.read_bytes()[:-9])
    else:
        pl.read_parquet(file).with_columns(pl.col("end_s").cast(pl.String)).write_parquet(file)
    with pytest.raises(StoreError, match=r"002/flows\.parquet"):
        completion_shares.build(Results.open(queues))


def test_times_that_no_engine_writes_are_not_on_the_logarithmic_axis(queues: Path) -> None:
    file = queues / "001" / "flows.parquet"
    before = pl.col("size_bytes") == SMALL
    pl.read_parquet(file).with_columns(end_s=pl.when(before).then(1.0).otherwise("end_s")).write_parquet(file)
    _, small, _ = charts(queues)
    assert min(line(small, "queue 30 kB").x) > 0
    assert "100 had not ended" in small.sentence


def test_both_renderers_draw_it(queues: Path) -> None:
    for chart in charts(queues):
        matplotlib.save(chart, queues.parent / f"{chart.name}.png")
        (figure,) = plotly.figures(chart)
        assert figure["data"][0]["text"][0].endswith("s")
