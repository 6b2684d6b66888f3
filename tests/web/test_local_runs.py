"""The list of runs of `bentpipe web`: pages, words that are looked for, hostile names, new folders."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from bentpipe.errors import StoreError
from bentpipe.web.bins import BIN_S, COLUMNS, MOST_BINS, Series, Tail
from bentpipe.web.runs_list import RunsList
from invocation import PLAIN, called

HOSTILE = "<img src=x onerror=alert(1)>\"'&\u202e\x1b[31m"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two runs."""
    folder = tmp_path_factory.mktemp("one")
    (folder / "plain.toml").write_text(PLAIN)
    assert (
        called(["run", "plain.toml", "--repeat", "2", "--out", "runs/plain", "--quiet"], folder).status == 0
    )
    return folder / "runs"


@pytest.fixture
def runs(one: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(one, tmp_path / "runs"))


def test_runs_are_listed_in_pages_and_by_words(runs: Path) -> None:
    listed = RunsList(runs)
    assert listed.page(0, 10)["reading"]
    listed.refresh()
    every = listed.page(0, 10, sort="run", down=False)
    assert (every["total"], every["all"], every["reading"]) == (2, 2, False)
    assert [row["seed"] for row in every["rows"]] == sorted(row["seed"] for row in every["rows"])
    assert {row["folder"] for row in every["rows"]} == {"plain"}
    assert all(row["id"] == f"plain/{row['run']}" and row["status"] == "done" for row in every["rows"])
    assert all(row["wall_s"] > 0 and row["goodput_mbit_s"] is None for row in every["rows"])
    first, second = (listed.page(at, 1, sort="run", down=False)["rows"] for at in (0, 1))
    assert [*first, *second] == every["rows"]
    assert listed.page(0, 10, text="PLAIN sim")["total"] == 2
    assert listed.page(0, 10, text="plain live")["total"] == 0
    assert listed.page(0, 10, text="plain.*")["total"] == 0  # a text, not a pattern
    assert listed.page(-5, 10**9)["total"] == 2


def test_new_runs_come_and_old_ones_go(runs: Path) -> None:
    listed = RunsList(runs)
    listed.refresh()
    before = listed.version
    listed.refresh()
    assert listed.version == before
    shutil.copytree(runs / "plain", runs / "demo" / "sim")
    listed.refresh()
    assert (listed.page(0, 9)["total"], listed.version) == (4, before + 1)
    assert {each["id"] for each in listed.folders()} == {"plain", "demo/sim"}
    shutil.rmtree(runs / "plain")
    listed.refresh()
    assert listed.page(0, 9)["total"] == 2


def test_a_folder_that_cannot_be_read_is_named_and_the_others_are_shown(runs: Path) -> None:
    shutil.copytree(runs / "plain", runs / "broken")
    for record in (runs / "broken").glob("*/run.json"):
        record.write_text("{")
    (runs / "broken" / "runs.parquet").unlink()
    listed = RunsList(runs)
    listed.refresh()
    page = listed.page(0, 9)
    assert page["total"] == 2
    assert len(page["faults"]) == 1
    assert "broken" in page["faults"][0]


def test_hostile_names_are_text_and_lead_nowhere(runs: Path) -> None:
    folder = runs / HOSTILE.replace("\x1b", "")
    shutil.move(runs / "plain", folder)
    for record in folder.glob("*/run.json"):
        found = json.loads(record.read_text())
        record.write_text(json.dumps(found | {"title": HOSTILE, "lab": HOSTILE}))
    listed = RunsList(runs)
    listed.refresh()
    row = listed.page(0, 1)["rows"][0]
    assert row["title"] == "<img src=x onerror=alert(1)>\"'&\\u202e\\x1b[31m"
    assert listed.path(row["id"]) == runs / row["id"]
    secret = pl.lit("../secret")
    listed._table = pl.concat([listed._table, listed._table.head(1).with_columns(id=secret, folder=secret)])
    for name in ("../secret", "..", "/etc/passwd", f"{row['folder']}/..", "", "a\x00b"):
        with pytest.raises(StoreError):
            listed.path(name)


def test_there_may_be_no_folder_yet(tmp_path: Path) -> None:
    listed = RunsList(tmp_path / "runs")
    listed.refresh()
    assert listed.page(0, 9) | {"version": 0} == {
        "version": 0,
        "reading": False,
        "total": 0,
        "all": 0,
        "first": 0,
        "rows": [],
        "faults": [],
    }


def test_bins_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "link.csv"
    tail = Tail(file)
    assert tail.more() == []
    drops = "drops_tail,drops_aqm,drops_policer,drops_ingress,drops_line,drops_channel,drops_outage"
    names = (
        "time_s,pipe,throughput_bytes,goodput_bytes,queue_bytes_mean,queue_bytes_max,queue_delay_s_mean,"
        f"{drops}"
    )
    file.write_text(f"{names}\n-0.1,down,1500,0,10.5,20,,1,2,0,0,0,3,4\n0,up,15")
    assert tail.more() == [("down", -0.1, [0.12, 0.0, 0.0105, 0.02, 0.0, 3.0, 7.0])]
    with file.open("a") as more:
        more.write("00,0,0,0,0.5,0,0,0,0,0,0,0\n")
    assert tail.more() == [("up", 0.0, [0.12, 0.0, 0.0, 0.0, 500.0, 0.0, 0.0])]
    assert tail.more() == []


def test_a_long_run_has_bounded_bins_that_keep_means_the_most_and_sums() -> None:
    series = Series()
    count = 4 * MOST_BINS
    figures = dict.fromkeys(COLUMNS, 1.0)
    for at in range(count):
        most = 9.0 if at == 17 else 1.0
        series.add([("down", at * BIN_S, list((figures | {"queue_most_kb": most}).values()))])
    (lengths,) = [series.lengths()["down"]]
    assert MOST_BINS / 2 <= lengths <= MOST_BINS
    columns = dict(zip(COLUMNS, series.since({})["down"]["columns"], strict=True))
    assert set(columns["goodput_mbit_s"]) == {1.0}
    assert max(columns["queue_most_kb"]) == 9.0
    assert sum(columns["dropped"]) == count
    assert series.since({"down": lengths})["down"]["from"] == lengths - 1
