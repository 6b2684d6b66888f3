"""A run's folder: whole or not there, and one schema for all."""

import json
import math
import os
from pathlib import Path

import polars as pl
import pytest

from bentpipe.errors import StoreError
from bentpipe.runs.folder import RunFolder, discard_abandoned, write_file
from bentpipe.runs.place import Place
from bentpipe.runs.reference import as_markdown
from bentpipe.runs.schema import LINK, PINGS, TABLES
from bentpipe.runs.store import Results

PING = pl.DataFrame(
    {"time_s": [-3.0, -2.8], "workload": ["rtt", "rtt"], "sequence": [1, 2], "rtt_s": [0.011, None]},
    schema=PINGS.schema,
)


def finished(out: Path, name: str) -> Path:
    folder = RunFolder.create(out, name)
    folder.write_table("pings", PING)
    return folder.finish({"lab": "x", "seed": 1})


def test_a_run_appears_only_when_whole(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "a")
    folder.write_table("pings", PING)
    with pytest.raises(StoreError, match="only unfinished runs"):
        Results.open(tmp_path)
    place = folder.finish({"lab": "x"})
    assert place == tmp_path / "a"
    assert json.loads((place / "run.json").read_text())["lab"] == "x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


def test_a_finished_run_has_every_table_in_the_schema(tmp_path: Path) -> None:
    place = finished(tmp_path, "a")
    for name, table in TABLES.items():
        assert pl.read_parquet_schema(place / f"{name}.parquet") == dict(table.schema)


def test_an_abandoned_run_is_gone_at_the_next_of_its_name_or_when_discarded(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "a").path("raw", "link.csv").write_text("half")
    again = RunFolder.create(tmp_path, "a")
    assert not (again.path() / "raw").exists()
    finished(tmp_path, "b")
    discard_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]


def test_a_finished_run_is_never_written_over(tmp_path: Path) -> None:
    finished(tmp_path, "a")
    with pytest.raises(StoreError, match="is there already"):
        RunFolder.create(tmp_path, "a")


@pytest.mark.parametrize("name", [".a", "a/b", "../a", ""])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError):
        RunFolder.create(tmp_path / "out", name)


def test_an_empty_cell_of_a_csv_file_is_null(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "a")
    csv = folder.path("raw", "pings.csv")
    csv.write_text("time_s,workload,sequence,rtt_s\n-3.0,rtt,1,0.011\n-2.8,rtt,2,\n")
    folder.csv_to_table("pings", csv)
    assert pl.read_parquet(folder.path("pings.parquet")).equals(PING)
    assert not csv.exists()


def test_a_csv_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "a")
    csv = folder.path("pings.csv")
    csv.write_text("time_s,workload,sequence,rtt_s\n-3.0,rtt,1,0.011\n-2.8,rtt,2,0.0")
    folder.csv_to_table("pings", csv)
    assert pl.read_parquet(folder.path("pings.parquet")).height == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,workload,sequence\n", "columns missing: rtt_s"),
        ("time_s,workload,sequence,rtt_s,more\n", "columns not known: more"),
        ("workload,time_s,sequence,rtt_s\n", "not in the schema's order"),
        ("time_s,workload,sequence,rtt_s\n1,rtt,one,0.1\n", "could not parse `one`"),
    ],
)
def test_a_csv_file_of_another_shape_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    folder = RunFolder.create(tmp_path, "a")
    csv = folder.path("pings.csv")
    csv.write_text(text)
    with pytest.raises(StoreError, match=message):
        folder.csv_to_table("pings", csv)


def test_a_table_of_another_type_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "a")
    with pytest.raises(StoreError, match="column sequence is Float64"):
        folder.write_table("pings", PING.with_columns(pl.col("sequence").cast(pl.Float64)))


def test_a_sweep_reads_as_one_table_with_the_run_first(tmp_path: Path) -> None:
    for name in ("10-b", "2-a"):
        finished(tmp_path, name)
    results = Results.open(tmp_path)
    assert [run["run"] for run in results.records] == ["2-a", "10-b"]
    assert results.pings.columns == ["run", *PINGS.names]
    assert results.pings["run"].to_list() == ["2-a", "2-a", "10-b", "10-b"]
    assert results.link.is_empty()
    assert results.link.columns == ["run", *LINK.names]
    assert results.of_run("2-a", "pings").equals(PING)


def test_a_sweep_at_a_url_scans_as_one_here(tmp_path: Path) -> None:
    away = Place.of("memory://test-store/sweep")
    for name in ("10-b", "2-a"):
        for file in finished(tmp_path, name).iterdir():
            (away / name / file.name).write_bytes(file.read_bytes())
    here, there = Results.open(tmp_path), Results.open("memory://test-store/sweep")
    assert there.pings.equals(here.pings)
    assert there.of_run("10-b", "pings").equals(PING)
    for asked in (
        lambda table: table.filter(pl.col("rtt_s").is_null()).select("run", "sequence"),
        lambda table: table.head(3),
        lambda table: table.select(pl.len()),
        lambda table: table.filter(pl.col("run") == "10-b").select("time_s"),
    ):
        assert asked(there.scan("pings")).collect().equals(asked(here.scan("pings")).collect())


@pytest.mark.parametrize("url", [False, True])
def test_a_column_that_an_older_bentpipe_did_not_write_is_null(tmp_path: Path, url: bool) -> None:
    file = finished(tmp_path, "a") / "pings.parquet"
    PING.drop("workload").write_parquet(file)
    place = Place.of("memory://test-store/older") if url else Place.of(tmp_path)
    if url:
        for each in file.parent.iterdir():
            (place / "a" / each.name).write_bytes(each.read_bytes())
    results = Results.open(place)
    assert results.pings["workload"].to_list() == [None, None]
    assert results.pings.columns == ["run", *PINGS.names]
    assert results.of_run("a", "pings").columns == PINGS.names


def test_a_table_that_is_missing_is_said_by_its_path(tmp_path: Path) -> None:
    (finished(tmp_path, "a") / "pings.parquet").unlink()
    with pytest.raises(StoreError, match=r"a/pings\.parquet is missing"):
        Results.open(tmp_path).scan("pings")


@pytest.mark.parametrize("damage", ["not Parquet", "cut short", "bits changed"])
def test_a_damaged_table_is_said_by_its_path(tmp_path: Path, damage: str) -> None:
    finished(tmp_path, "b")
    file = finished(tmp_path, "a") / "pings.parquet"
    whole = file.read_bytes()
    middle = bytes(byte ^ 0x5A for byte in whole[8:-8])
    broken = {
        "not Parquet": b"hello",
        "cut short": whole[:-9],
        "bits changed": whole[:8] + middle + whole[-8:],
    }
    file.write_bytes(broken[damage])
    results = Results.open(tmp_path)
    for read in (lambda: results.of_run("a", "pings"), lambda: results.pings):
        with pytest.raises(
            StoreError, match=r"a/pings\.parquet cannot be read: .+; expected the Parquet file"
        ):
            read()


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (pl.col("sequence").cast(pl.String), "column sequence: found String; expected Int64"),
        (pl.col("sequence").cast(pl.Float64), "column sequence: found Float64; expected Int64"),
        (pl.concat_list("rtt_s").alias("rtt_s"), r"column rtt_s: found List\(Float64\); expected Float64"),
        (pl.lit(math.nan).alias("rtt_s"), r"column rtt_s: found nan; .* between 1e-100 and 1e\+19"),
        (pl.lit(-math.inf).alias("time_s"), "column time_s: found -inf"),
        (pl.lit(1e300).alias("time_s"), r"column time_s: found 1e\+300"),
        (pl.lit(5e-324).alias("time_s"), "column time_s: found 4.94066e-324; expected 0, or a number"),
    ],
)
def test_a_table_with_another_type_or_an_impossible_number_is_said_by_its_column(
    tmp_path: Path, changed: pl.Expr, found: str
) -> None:
    finished(tmp_path, "b")
    file = finished(tmp_path, "a") / "pings.parquet"
    pl.read_parquet(file).with_columns(changed).write_parquet(file)
    with pytest.raises(StoreError, match=rf"a/pings\.parquet: {found}"):
        Results.open(tmp_path).of_run("a", "pings")


@pytest.mark.parametrize("table", ["link", "sockets"])
def test_a_sample_without_a_time_is_said(tmp_path: Path, table: str) -> None:
    file = finished(tmp_path, "a") / f"{table}.parquet"
    schema = TABLES[table].schema
    pl.DataFrame({name: [None] for name in schema}, schema=schema).write_parquet(file)
    with pytest.raises(StoreError, match=rf"a/{table}\.parquet: column time_s: found null; expected"):
        Results.open(tmp_path).of_run("a", table)


def test_a_parquet_file_of_something_else_is_no_table(tmp_path: Path) -> None:
    file = finished(tmp_path, "a") / "pings.parquet"
    pl.DataFrame({"x": [1]}).write_parquet(file)
    with pytest.raises(StoreError, match=r"a/pings\.parquet cannot be read"):
        Results.open(tmp_path).of_run("a", "pings")


def test_a_pipe_in_the_place_of_a_table_is_said_and_not_waited_for(tmp_path: Path) -> None:
    file = finished(tmp_path, "a") / "pings.parquet"
    file.unlink()
    os.mkfifo(file)
    results = Results.open(tmp_path)
    for read in (lambda: results.of_run("a", "pings"), lambda: results.pings):
        with pytest.raises(StoreError, match=r"a/pings\.parquet is not a file"):
            read()


def test_a_folder_named_like_a_pattern_is_only_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "tcp_wmem=[4096,*]"
    out.mkdir()
    finished(out, "a")
    assert Results.open(out).pings["sequence"].to_list() == [1, 2]
    assert Results.open(out / "a").pings["sequence"].to_list() == [1, 2]


def test_a_single_run_opens_like_a_sweep_of_one(tmp_path: Path) -> None:
    results = Results.open(finished(tmp_path, "a"))
    assert results.pings["run"].unique().to_list() == ["a"]


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "broken"])
def test_what_is_not_a_run_is_said_to_be_none(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "x"
    message = {
        "missing": "no such folder",
        "file": "found a file",
        "empty": "found no run.json",
        "broken": "found invalid JSON",
    }
    if kind == "file":
        place.write_text("")
    elif kind != "missing":
        place.mkdir()
    if kind == "broken":
        (place / "run.json").write_text("{")
    with pytest.raises(StoreError, match=message[kind]):
        Results.open(place)


def test_the_page_of_tables_is_the_schemas_own(pytestconfig: pytest.Config) -> None:
    page = pytestconfig.rootpath / "docs" / "results.md"
    assert page.read_text(encoding="utf-8") == as_markdown(), "run python -m bentpipe.runs"


def test_a_full_disk_is_told_with_the_file_that_it_had_no_room_for() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_file(Path("/dev/full"), b"x")


def test_a_csv_file_without_a_whole_line_is_an_empty_table(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "001")
    (csv := tmp_path / "link.csv").write_text("time_s,pi")
    folder.csv_to_table("link", csv)
    assert pl.read_parquet(folder.path("link.parquet")).equals(LINK.empty())


@pytest.mark.parametrize(
    ("record", "place"),
    [
        ('{"workloads": 5}', "workloads: found 5; expected an object"),
        ('{"workloads": {"download": 5}}', "workloads.download: found 5; expected an object"),
        ('{"pipes": {"down": []}}', r"pipes.down: found \[\]; expected an object"),
        ('{"spec": 7}', "spec: found 7; expected an object"),
        ('{"spec": {"path": 7}}', "spec.path: found 7; expected an object"),
        ('{"why": "x"}', 'why: found "x"; expected a list'),
        ("[" * 100_000, "found invalid JSON.*remove this run's folder to read the others"),
    ],
)
def test_a_record_of_another_shape_is_named_with_what_is_wrong(
    tmp_path: Path, record: str, place: str
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "run.json").write_text(record)
    with pytest.raises(StoreError, match=place) as refused:
        Results.open(tmp_path)
    assert "run.json" in str(refused.value)
