"""Questions in SQL: every table answers with its runs, and a question changes and reaches nothing else."""

import json
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import wait
from datetime import UTC
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bentpipe.errors import QueryError, StoreError
from bentpipe.query import questions as query
from bentpipe.query.questions import Questions
from bentpipe.runs import index
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.place import Place
from bentpipe.runs.schema import PINGS, TABLES
from bentpipe.runs.store import Results

NAMES = ("1-a", "2 [*] 'quoted' é%2F?", "10-c")


def write_run(out: Path, name: str, **changes: Any) -> Path:
    folder = RunFolder.create(out, name)
    rows = {"time_s": [-3.0, -2.8], "workload": ["rtt", "rtt"], "sequence": [1, 2], "rtt_s": [0.011, None]}
    folder.write_table("pings", pl.DataFrame(rows, schema=PINGS.schema))
    record = {"lab": "x", "seed": 1, "point": {"path.rtt": "30 ms"}, "started": "2026-01-31T12:00:00+00:00"}
    figures = {"download": {"kind": "bulk", "goodput_mbit_s": 2.5}}
    return folder.finish(record | {"workloads": figures} | changes)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    out = tmp_path / "sweep's"
    for seed, name in enumerate(NAMES):
        write_run(out, name, seed=seed)
    return out


@pytest.fixture
def questions(sweep: Path) -> Iterator[Questions]:
    with Questions.open([Results.open(sweep)]) as found:
        yield found


def answer(questions: Questions, sql: str) -> list[tuple[Any, ...]]:
    return list(questions.ask(sql).rows())


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_swept_key_and_a_figure_are_asked_for_by_their_dotted_names(questions: Questions) -> None:
    found = answer(questions, "select seed, point.path.rtt, workload.download.goodput_mbit_s from runs")
    assert found == [(0, "30 ms", 2.5), (1, "30 ms", 2.5), (2, "30 ms", 2.5)]


def test_each_row_says_of_which_run_it_is_whatever_the_run_is_called(questions: Questions) -> None:
    assert answer(questions, "select run, count(*) from pings group by run order by min(run)") == sorted(
        (name, 2) for name in NAMES
    )
    name = NAMES[1].replace("'", "''")
    assert answer(questions, f"select count(*) from pings where run = '{name}'") == [(2,)]


def test_every_table_is_there_with_the_columns_of_the_schema(questions: Questions) -> None:
    assert sorted(row[0] for row in answer(questions, "show tables")) == sorted(["runs", *TABLES])
    for name, table in TABLES.items():
        assert [row[0] for row in answer(questions, f"describe {name}")] == ["run", *table.names]


@pytest.mark.parametrize("older", [(0,), (2,), (0, 1, 2)], ids=str)
def test_a_column_that_an_older_bentpipe_did_not_write_is_null(sweep: Path, older: tuple[int, ...]) -> None:
    places = [sweep / name / "pings.parquet" for name in NAMES]
    for number, place in enumerate(places):
        frame = pl.read_parquet(place, glob=False)
        (frame.drop("workload") if number in older else frame).write_parquet(place)
        os.utime(place, (1000 + number,) * 2)
    with Questions.open([Results.open(sweep)]) as questions:
        found = answer(questions, "select run, workload, sequence, rtt_s from pings order by sequence, run")
        columns = [name for name, *_ in answer(questions, "describe pings")]
    assert columns == ["run", *PINGS.names]
    workload = {NAMES[number]: None if number in older else "rtt" for number in range(3)}
    first, second = ((1, 0.011), (2, None))
    assert found == [(run, workload[run], *rest) for rest in (first, second) for run in sorted(NAMES)]
    with Questions.open([Results.open(sweep), Results.open(sweep / NAMES[0])]) as questions:
        ((known, rows),) = answer(questions, "select count(workload), count(*) from pings")
    assert (known, rows) == (2 * (3 - len(older)) + 2 * (0 not in older), 8)


def test_tables_join_on_the_run(questions: Questions) -> None:
    sql = "select runs.seed, max(rtt_s) from pings join runs using (run) group by all order by all"
    with pytest.raises(QueryError, match="Ambiguous"):
        answer(questions, sql)
    found = answer(questions, sql.replace("max(rtt_s)", "max(pings.rtt_s)"))
    assert found == [(0, 0.011), (1, 0.011), (2, 0.011)]


def test_several_folders_are_told_apart_by_a_column(sweep: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_run(other, "1-a", point={"path.rtt": 5}, workloads={})
    with Questions.open([Results.open(sweep), Results.open(other)]) as questions:
        assert answer(questions, "select folder, count(*) from pings group by all order by all") == [
            ("other", 2),
            ("sweep's", 6),
        ]
        assert answer(questions, "select folder, point.path.rtt from runs where run = '1-a'") == [
            ("sweep's", "30 ms"),
            ("other", "5"),
        ]


def test_folders_of_the_same_name_are_called_by_their_paths(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        write_run(tmp_path / parent / "out", "1")
    sweeps = [Results.open(tmp_path / parent / "out") for parent in ("a", "b")]
    with Questions.open(sweeps) as questions:
        found = answer(questions, "select folder from runs")
    assert found == [(str(tmp_path / "a" / "out"),), (str(tmp_path / "b" / "out"),)]


def test_a_sweep_at_a_url_answers_as_one_here(sweep: Path) -> None:
    away = Place.of("memory://test-query/sweep")
    for path in sweep.rglob("*"):
        if path.is_file():
            (away / path.parent.name / path.name).write_bytes(path.read_bytes())
    with Questions.open([Results.open(away)]) as questions:
        assert answer(questions, "select count(distinct run), count(*) from pings") == [(3, 6)]
        assert answer(questions, "select sum(seed) from runs") == [(3,)]
    with Questions.open([Results.open("memory://test-query/sweep/1-a")]) as questions:
        assert answer(questions, "select distinct run from pings") == [("1-a",)]


def test_a_run_that_came_after_the_index_answers_too(sweep: Path) -> None:
    index.refresh(Place.of(sweep))
    write_run(sweep, "11-d", seed=9)
    with Questions.open([Results.open(sweep)]) as questions:
        assert answer(questions, "select max(seed) from runs") == [(9,)]
        assert answer(questions, "select count(*) from pings") == [(8,)]


WRITES = (
    "copy (select 1) to '{0}/x.csv'",
    "with x as (copy (select 1) to '{0}/x.csv') from x",
    "with x as (copy (select 1) to 'results://x.csv') from x",
    "with x as (copy (select 1) to 'results://pings/0/1-a') from x",
    "with x as (copy (select 1) to 'results://pings/0/1-a' (format parquet, use_tmp_file false)) from x",
    "with x as (copy (select 1) to '{0}/1-a/pings.parquet' (use_tmp_file false)) from x",
    "explain analyze copy (select 1) to '{0}/x.csv'",
    "explain analyze copy (select 1) to '{0}/1-a/pings.parquet' (use_tmp_file false)",
    "explain analyze copy (select 1) to 'results://pings/0/1-a' (use_tmp_file false)",
    "from query('with x as (copy (select 1) to ''{0}/x.csv'') from x')",
    "attach '{0}/x.db'",
    "attach '{0}/1-a/pings.parquet' as x",
    "attach 'results://x.db'",
    "attach 'results://pings/0/1-a' as x (read_only)",
    "import database '{0}'",
    "call enable_logging(storage = 'file', storage_path = '{0}/x')",
    "pragma profiling_output = '{0}/x'",
    "create persistent secret x (type s3, key_id 'x', secret 'x')",
    "export database '{0}/x'",
    "create table x as select 1",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "pragma enable_external_access = true",
)
READS = (
    "from read_text('/etc/hostname')",
    "from read_csv('{0}/1-a/run.json')",
    "from '{0}/1-a/pings.parquet'",
    "from read_blob('{0}/1-a/pings.parquet')",
    "from read_blob('{0}/1-a/../1-a/pings.parquet')",
    "from read_parquet('{0}/*/pings.parquet')",
    "from parquet_metadata('{0}/1-a/pings.parquet')",
    "from sniff_csv('{0}/1-a/run.json')",
    "from read_text('{0}/link/hostname')",
    "from read_text('file:///etc/hostname')",
    "from read_text('/proc/self/environ')",
    "from glob('{0}/*')",
    "from glob('/etc/*')",
    "select getenv('HOME')",
    "from duckdb_extensions()",
    "from read_duckdb('{0}/x.db', table_name = 'x')",
    "from 'https://bentpipe.example/x.csv'",
    "from 's3://bentpipe/x.parquet'",
    "from sweep",
)


@pytest.mark.parametrize("sql", [*WRITES, *READS])
def test_sql_changes_nothing_and_reaches_nothing_but_the_tables(
    sql: str, questions: Questions, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(QueryError):
        answer(questions, sql.format(sweep))
    assert contents(tmp_path) == before


def test_each_guard_is_up_though_another_would_do(questions: Questions) -> None:
    settings = ("enable_external_access", "lock_configuration", "allowed_directories")
    asked = ", ".join(f"current_setting('{name}')" for name in settings)
    assert answer(questions, f"select {asked}") == [(False, True, ["results://"])]


def test_there_is_nothing_in_the_sandbox_but_the_tables(questions: Questions) -> None:
    assert answer(questions, "select count(*) from pings")
    up = ("../../etc/hostname", "pings/0/../../etc/hostname", "pings/0/1-a/../../../../etc/hostname")
    for path in (*up, "pings/0/1-a/../1-a"):
        with pytest.raises(QueryError, match="can read only the tables"):
            answer(questions, f"from read_text('results://{path}')")
    for path in ("/etc/hostname", "pings/0/", "*", "**"):
        assert answer(questions, f"from read_text('results://{path}')") == []


def test_a_time_with_a_zone_is_a_time_with_a_zone(questions: Questions) -> None:
    ((said,),) = answer(questions, "select timestamptz '2026-11-24 12:00:00+02'")
    assert said.astimezone(UTC).isoformat() == "2026-11-24T10:00:00+00:00"


def test_a_table_that_links_to_another_file_does_not_show_it(sweep: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (sweep / "1-a" / "pings.parquet").unlink()
    (sweep / "1-a" / "pings.parquet").symlink_to(secret)
    with Questions.open([Results.open(sweep)]) as questions:
        for sql in ("from pings", "from read_text('results://pings/0/1-a')"):
            with pytest.raises(QueryError, match=r"pings\.parquet is not a Parquet file"):
                answer(questions, sql)
    with Questions.open([Results.open(sweep)]) as questions, pytest.raises(QueryError) as error:
        answer(questions, "select content from read_csv('results://pings/0/1-a')")
    assert "secret" not in str(error.value)


def test_a_table_that_is_a_link_to_a_table_is_read(sweep: Path, tmp_path: Path) -> None:
    table = sweep / "1-a" / "pings.parquet"
    table.rename(tmp_path / "kept")
    table.symlink_to(tmp_path / "kept")
    with Questions.open([Results.open(sweep)]) as questions:
        assert answer(questions, "select count(*) from pings") == [(6,)]


@pytest.mark.parametrize("where", ["pipe", "folder"])
def test_a_table_that_is_no_file_is_said_and_not_waited_for(where: str, sweep: Path) -> None:
    table = sweep / "1-a" / "pings.parquet"
    table.unlink()
    os.mkfifo(table) if where == "pipe" else table.mkdir()
    not_a_file = pytest.raises(StoreError, match=r"pings\.parquet is not a file")
    with Questions.open([Results.open(sweep)]) as questions, not_a_file:
        answer(questions, "select count(rtt_s) from pings")


def test_a_table_that_is_replaced_while_it_is_asked_is_said_to_be_so(sweep: Path) -> None:
    table = sweep / "1-a" / "pings.parquet"
    with Questions.open([Results.open(sweep)]) as questions:
        assert answer(questions, "select count(rtt_s) from pings") == [(3,)]
        pl.DataFrame({"rtt_s": [0.1]}).write_parquet(table)
        with pytest.raises(QueryError, match="was replaced while it was asked; ask again"):
            answer(questions, "select count(rtt_s) from pings")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("selec 1", 'syntax error at or near "selec"'),
        ("select sed from runs", 'Candidate bindings: "seed"'),
        ("from flow", 'Did you mean "flows"'),
        ("select 1; select 2", "found 2 statements; expected one question at a time"),
        ("--", "found 0 statements"),
        ("drop view runs", "found DROP; a query only reads"),
        ("update extensions", "found a statement of another kind; a query only reads"),
        ("select interval '100000000 years'", "Python cannot hold a value of the answer"),
        (
            "from read_text('/etc/hostname')",
            "^a query can read only the tables of DIR, no file by its path\n\nLINE 1: from read_text",
        ),
        ("with x as (copy (select 1) to 'results://x') from x", "^a query only reads$"),
    ],
)
def test_a_question_without_an_answer_is_one_message_with_its_hint(
    sql: str, says: str, questions: Questions
) -> None:
    with pytest.raises(QueryError, match=says.replace("?", r"\?")) as error:
        answer(questions, sql)
    assert "Traceback" not in str(error.value)


def test_a_damaged_table_is_said_to_be_so(sweep: Path) -> None:
    (sweep / "1-a" / "pings.parquet").write_bytes(b"PAR1 nothing")
    said = r"^\S.*1-a/pings\.parquet cannot be read: .+; expected the Parquet file that a run leaves$"
    with Questions.open([Results.open(sweep)]) as questions, pytest.raises(QueryError, match=said):
        answer(questions, "select count(sequence) from pings")


@pytest.mark.parametrize("run", ["1-a", "10-c"])
@pytest.mark.parametrize("kind", [pl.String, pl.Float64])
def test_a_column_of_another_type_is_said_and_not_reckoned_with(
    sweep: Path, run: str, kind: type[pl.DataType]
) -> None:
    table = sweep / run / "pings.parquet"
    pl.read_parquet(table).with_columns(pl.col("sequence").cast(kind)).write_parquet(table)
    with Questions.open([Results.open(sweep)]) as questions:
        if run == "1-a":
            said = rf"1-a/pings\.parquet: column sequence: found {kind.__name__}; expected Int64"
            with pytest.raises(QueryError, match=said):
                answer(questions, "from pings")
        else:  # read as what the first one has
            assert answer(questions, "select sum(sequence) from pings") == [(9,)]


def test_text_where_numbers_belong_is_said_by_the_path_of_its_table(sweep: Path) -> None:
    table = sweep / "10-c" / "pings.parquet"
    pl.read_parquet(table).with_columns(sequence=pl.lit("many")).write_parquet(table)
    said = re.escape(f"{table}: column sequence: found String; expected Int64")
    with Questions.open([Results.open(sweep)]) as questions, pytest.raises(QueryError, match=said):
        answer(questions, "select sum(sequence) from pings")


@pytest.mark.parametrize("written_s", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("without", NAMES[1:], ids=["2", "3"])
def test_a_column_too_many_is_left_out_and_one_too_few_is_null(
    sweep: Path, without: str, written_s: tuple[int, ...]
) -> None:
    more, less = (sweep / name / "pings.parquet" for name in (NAMES[0], without))
    pl.read_parquet(more).with_columns(x=pl.lit(1)).write_parquet(more)
    pl.read_parquet(less, glob=False).drop("workload").write_parquet(less)
    for name, at_s in zip(NAMES, written_s, strict=True):
        os.utime(sweep / name / "pings.parquet", (at_s, at_s))
    with Questions.open([Results.open(sweep)]) as questions:
        assert answer(questions, "select count(*), count(workload) from pings") == [(6, 4)]
        assert len(answer(questions, "from pings")[0]) == 1 + len(PINGS.names)


def test_a_name_of_a_column_that_is_not_text_is_said_by_the_path_of_its_table(sweep: Path) -> None:
    table = sweep / NAMES[1] / "pings.parquet"
    table.write_bytes(table.read_bytes().replace(b"workload", b"workl\xffad"))
    with (
        Questions.open([Results.open(sweep)]) as questions,
        pytest.raises(QueryError, match=re.escape(str(table))),
    ):
        answer(questions, "from pings")


@pytest.mark.parametrize("times", [1, 2])
def test_a_long_answer_ends_at_an_interrupt(
    times: int, questions: Questions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`times`: the second Ctrl-C comes while the first ends the answer, and then closing ends it."""
    looks = 0

    def look_and_press(running: Any, timeout: float) -> Any:
        nonlocal looks
        looks += 1
        if 5 <= looks < 5 + times:  # DuckDB is at work, and the main thread waits for it
            signal.raise_signal(signal.SIGINT)
        return wait(running, timeout)

    monkeypatch.setattr(query, "wait", look_and_press)
    with pytest.raises(KeyboardInterrupt):
        answer(questions, "select count(*) from range(1_000_000_000_000_000) as endless(i) where i % 7 = 5")
    assert looks > 5
    if times == 1:
        assert answer(questions, "select 1") == [(1,)]


def test_a_question_may_be_given_a_time(sweep: Path) -> None:
    with Questions.open([Results.open(sweep)], most_s=0.2) as questions:
        with pytest.raises(QueryError, match=r"longer than 0\.2 s"):
            answer(
                questions, "select count(*) from range(1_000_000_000_000_000) as endless(i) where i % 7 = 5"
            )
        assert answer(questions, "select 1") == [(1,)]


def test_what_pivots_describes_and_explains_reads_too(questions: Questions) -> None:
    assert answer(questions, "pivot (select run, seed from runs) on seed using count(*)")
    assert answer(questions, "summarize pings")
    assert json.loads(answer(questions, "select to_json(point) from runs limit 1")[0][0]) == {
        "path": {"rtt": "30 ms"}
    }
    assert answer(questions, "explain from runs")
