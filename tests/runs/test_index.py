"""The index of a sweep's runs says what the records say, whatever became of either."""

import functools
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from bentpipe.errors import StoreError
from bentpipe.runs import index, store
from bentpipe.runs.place import Place
from bentpipe.runs.runs_table import runs_table
from bentpipe.runs.store import Results

NAMES = ("1-a", "2-b", "10-c", "x")


def record(**changes: Any) -> dict[str, Any]:
    return {
        "lab": "x",
        "title": None,
        "engine": "sim",
        "seed": 1,
        "variant": "as is",
        "point": {"path.rtt": "30 ms"},
        "status": "done",
        "reliable": True,
        "why": [],
        "workloads": {"download": {"kind": "bulk", "goodput_mbit_s": 1.5}},
        "pipes": {"down": {"drops": {"tail": 3}}},
        "spec": {"path": {"base_rtt_ns": 30_000_000}},
        "machine": {"cores": 2},
        "started": "2026-01-31T12:00:00+01:00",
        "wall_s": 2,
    } | changes


_clock_ns = 1_700_000_000 * 10**9


def write(out: Path, name: str, content: dict[str, Any]) -> None:
    """Each at a later time than all before it, so that two never have the same stamp."""
    global _clock_ns  # noqa: PLW0603 - a clock
    _clock_ns += 1
    (out / name).mkdir(exist_ok=True, parents=True)
    file = out / name / "run.json"
    file.write_text(json.dumps(content))
    os.utime(file, ns=(_clock_ns, _clock_ns))


def read_anew(out: Path) -> Results:
    """Without the index."""
    with TemporaryDirectory() as elsewhere:
        aside = Path(elsewhere) / "runs.parquet"
        there = (out / "runs.parquet").exists()
        if there:
            shutil.move(out / "runs.parquet", aside)
        found = Results.open(out)
        assert found.records
        found.scan("runs")
        if there:
            shutil.move(aside, out / "runs.parquet")
    return found


def assert_reads_the_same(out: Path) -> None:
    truth, found = read_anew(out), Results.open(out)
    assert found.names == truth.names
    assert found.records == truth.records
    assert_frame_equal(found.scan("runs").collect(), truth.scan("runs").collect())


def no_record_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Place) -> dict[str, Any]:
        raise AssertionError(f"{folder} was read")

    monkeypatch.setattr(index, "read_record", refuse)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab1", max_size=3)
)
keys = st.sampled_from(("path.rtt", "path.rate", "path.rate.burst", "streams", "Streams"))
figures = st.recursive(
    scalars | st.lists(scalars, max_size=2),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=6,
)
workloads = st.dictionaries(
    st.sampled_from(("download", "rtt")), st.dictionaries(st.text("abc", min_size=1, max_size=2), figures)
)
records = st.builds(
    lambda point, found, seed, spec: record(point=point, workloads=found, seed=seed, spec=spec),
    st.dictionaries(keys, scalars | st.lists(scalars, max_size=2), max_size=3),
    workloads,
    st.integers(0, 3),
    st.sampled_from(({}, {"path": {"base_rtt_ns": 5}}, {"path": {}})),
)
steps = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), records),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("refresh")),
)


@pytest.mark.long("30 histories of folders on the disk, 3.2 s")
@settings(max_examples=30)
@given(st.lists(steps, min_size=1, max_size=12))
def test_the_index_with_what_it_lacks_is_what_all_records_say(history: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder)
        write(out, "0", record())
        for what, *of in history:
            if what == "write":
                write(out, *of)
            elif what == "remove":
                shutil.rmtree(out / of[0], ignore_errors=True)
            elif what == "rename" and (out / of[0]).exists() and not (out / of[1]).exists():
                (out / of[0]).rename(out / of[1])
            elif what == "refresh":
                index.refresh(Place.of(out))
        assert_reads_the_same(out)
        index.refresh(Place.of(out))
        assert_reads_the_same(out)


@settings(max_examples=30)
@given(st.lists(records, min_size=2, max_size=5), st.randoms())
def test_columns_and_types_do_not_depend_on_the_order_of_the_runs(
    found: list[dict[str, Any]], random: Any
) -> None:
    named = [each | {"run": str(number)} for number, each in enumerate(found)]
    shuffled = random.sample(named, len(named))
    assert_frame_equal(runs_table(named), runs_table(shuffled).sort("run"))


def test_a_sweep_opens_without_reading_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        write(tmp_path, name, record(seed=len(name)))
    index.refresh(Place.of(tmp_path))
    truth = read_anew(tmp_path)
    no_record_is_read(monkeypatch)
    results = Results.open(tmp_path)
    assert results.names == ["1-a", "2-b", "10-c", "x"]
    assert results.records == truth.records
    assert results.scan("runs").select("run").collect()["run"].to_list() == results.names


def test_only_what_the_index_has_not_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        write(tmp_path, name, record())
    index.refresh(Place.of(tmp_path))
    write(tmp_path, "new", record())
    write(tmp_path, "x", record(seed=7))
    read: list[str] = []

    def noting(folder: Place) -> dict[str, Any]:
        read.append(folder.name)
        return store.read_object(folder / "run.json") | {"run": folder.name, "folder": str(folder)}

    monkeypatch.setattr(index, "read_record", noting)
    results = Results.open(tmp_path)
    assert sorted(read) == ["new", "x"]
    assert {run["run"]: run["seed"] for run in results.records}["x"] == 7


def test_two_folders_that_change_names_are_noticed(tmp_path: Path) -> None:
    write(tmp_path, "a", record(seed=1))
    write(tmp_path, "b", record(seed=2))
    index.refresh(Place.of(tmp_path))
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").rename(tmp_path / "a")
    (tmp_path / "c").rename(tmp_path / "b")
    assert [run["seed"] for run in Results.open(tmp_path).records] == [2, 1]


def test_a_sweep_that_was_moved_needs_no_new_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "here", "a", record())
    index.refresh(Place.of(tmp_path / "here"))
    (tmp_path / "here").rename(tmp_path / "there")
    no_record_is_read(monkeypatch)
    (found,) = Results.open(tmp_path / "there").records
    assert found["folder"] == str(tmp_path / "there" / "a")


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _scratched(content: bytes) -> bytes:
    """Within its pages: what stands at its end is sound."""
    middle = len(content) // 3
    return (
        content[:middle]
        + bytes(byte ^ 0xFF for byte in content[middle : middle + 200])
        + content[middle + 200 :]
    )


def _others(_content: bytes) -> bytes:
    file = Path(os.devnull)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.parquet"
        pl.DataFrame({"run": ["a"], "seed": [5]}).write_parquet(file)
        return file.read_bytes()


def _of_another_format(content: bytes) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.parquet"
        file.write_bytes(content)
        pl.read_parquet(file).with_columns(seed=pl.lit(99)).write_parquet(
            file, metadata={"bentpipe.runs": "0"}
        )
        return file.read_bytes()


@pytest.mark.parametrize(
    "harm", [_cut, _scratched, _others, _of_another_format, lambda _: b"", lambda _: b"PAR1 nothing PAR1"]
)
def test_an_index_that_is_none_does_no_harm(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    for name in NAMES:
        write(tmp_path, name, record(seed=len(name)))
    index.refresh(Place.of(tmp_path))
    file = tmp_path / "runs.parquet"
    harmed = harm(file.read_bytes())
    file.write_bytes(harmed)
    assert_reads_the_same(tmp_path)
    assert file.read_bytes() == harmed, "reading never writes"
    index.refresh(Place.of(tmp_path))
    assert index.Index(file.read_bytes(), Place.of(file)).stamps.keys() == set(NAMES)


def forge(out: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the index, with marks and stamps that are right."""
    file = out / "runs.parquet"
    file.write_bytes(index._file(change(pl.read_parquet(file))))


def text_of(column: str, old: str, new: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda rows: rows.with_columns(pl.col(column).str.replace(old, new, literal=True))


@pytest.mark.parametrize(
    "change",
    [
        text_of("record_json", '"goodput_mbit_s": 1.5', '"goodput_mbit_s": "much"'),
        text_of("record_json", '"goodput_mbit_s": 1.5', '"goodput_mbit_s": NaN'),
        text_of("record_json", '{"download": {"kind": "bulk", "goodput_mbit_s": 1.5}}', "[]"),
        lambda rows: rows.with_columns(record_json=pl.lit("[]")),
        lambda rows: rows.with_columns(record_json=pl.lit("{")),
        lambda rows: rows.with_columns(record_json=pl.lit(None, pl.String)),
        lambda rows: rows.with_columns(spec_json=pl.lit('{"path": 5}')),
        lambda rows: rows.with_columns(machine_json=pl.lit("7")),
        lambda rows: rows.with_columns(workload=pl.lit(5)),
        lambda rows: rows.with_columns(point=pl.struct(x=pl.lit([1, 2]))),
        lambda rows: rows.with_columns(other=pl.lit("x")),
        lambda rows: rows.with_columns(
            point=functools.reduce(lambda x, _: pl.struct(x=x), range(40), pl.lit(1))
        ),
        lambda rows: rows.with_columns(wall_s=pl.lit(math.nan)),
        lambda rows: rows.with_columns(point=pl.struct(path=pl.struct(rtt=pl.lit(math.inf)))),
        lambda rows: rows.with_columns(point=pl.struct(x=pl.lit(1e300))),
        lambda rows: rows.with_columns(started=pl.lit(2**63 - 1).cast(pl.Datetime("us"))),
        lambda rows: rows.with_columns(started=pl.lit(-(2**63)).cast(pl.Datetime("us"))),
    ],
    ids=lambda change: getattr(change, "__name__", None),
)
def test_what_a_forged_index_says_in_another_shape_is_read_from_the_records(
    tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    for name in NAMES:
        write(tmp_path, name, record(seed=len(name)))
    index.refresh(Place.of(tmp_path))
    before = (tmp_path / "runs.parquet").read_bytes()
    forge(tmp_path, change)
    assert (tmp_path / "runs.parquet").read_bytes() != before
    assert_reads_the_same(tmp_path)


@pytest.mark.parametrize(
    ("sound", "wrong"),
    [
        ('"goodput_mbit_s": 1.5', '"goodput_mbit_s": 1e400'),
        ('"goodput_mbit_s": 1.5', '"goodput_mbit_s": 1e25'),
        ('"goodput_mbit_s": 1.5', '"goodput_mbit_s": 10000000000000000000000'),
        ('"goodput_mbit_s": 1.5', '"goodput_mbit_s": "1.5"'),
        ('"kind": "bulk"', '"kind": 5'),
        ('"kind": "bulk"', '"direct\\u0069on": 5'),
    ],
)
def test_a_record_in_an_index_is_checked_also_after_others_that_look_like_it(
    tmp_path: Path, sound: str, wrong: str
) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path, name, record(seed=ord(name)))
    index.refresh(Place.of(tmp_path))
    only_last = pl.col("run") == "c"
    change = text_of("record_json", sound, wrong)
    forge(tmp_path, lambda rows: pl.concat([rows.filter(~only_last), change(rows.filter(only_last))]))
    assert_reads_the_same(tmp_path)


def test_a_refresh_that_is_broken_off_leaves_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", record())
    index.refresh(Place.of(tmp_path))
    old = (tmp_path / "runs.parquet").read_bytes()
    write(tmp_path, "b", record())

    def die(path: Path, content: bytes) -> int:
        with path.open("wb") as half:
            half.write(content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", die)
    with pytest.raises(KeyboardInterrupt):
        index.refresh(Place.of(tmp_path))
    assert (tmp_path / "runs.parquet").read_bytes() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "runs.parquet"]


def test_an_index_that_is_current_is_not_written_again(tmp_path: Path) -> None:
    write(tmp_path, "a", record())
    index.refresh(Place.of(tmp_path))
    before = (tmp_path / "runs.parquet").stat().st_mtime_ns
    index.refresh(Place.of(tmp_path))
    assert (tmp_path / "runs.parquet").stat().st_mtime_ns == before


def test_a_folder_without_runs_gets_no_index(tmp_path: Path) -> None:
    index.refresh(Place.of(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_goes_while_the_folder_is_read_was_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", record())
    write(tmp_path, "b", record())
    read = index.read_record

    def going(folder: Place) -> dict[str, Any]:
        if folder.name == "a":
            folder.remove()
        return read(folder)

    monkeypatch.setattr(index, "read_record", going)
    assert Results.open(tmp_path).names == ["b"]


def test_a_record_that_cannot_be_read_is_said_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a", record())
    index.refresh(Place.of(tmp_path))
    write(tmp_path, "b", record())
    (tmp_path / "b" / "run.json").write_text("{")
    with pytest.raises(StoreError, match=r"b/run\.json: found invalid JSON"):
        Results.open(tmp_path)


def test_the_index_works_at_a_url_too(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Place.of("memory://test-index/sweep")
    for name in NAMES:
        (out / name / "run.json").write_bytes(json.dumps(record(seed=len(name))).encode())
    index.refresh(out)
    no_record_is_read(monkeypatch)
    results = Results.open("memory://test-index/sweep")
    assert [run["seed"] for run in results.records] == [3, 3, 4, 1]
    assert results.records[3]["folder"] == "memory:///test-index/sweep/x"


def test_what_repeats_costs_the_table_of_runs_once(tmp_path: Path) -> None:
    spec = {"long": "".join(f"{number} " for number in range(5000))}
    for number in range(100):
        write(tmp_path, str(number), record(seed=number, spec=spec))
    index.refresh(Place.of(tmp_path))
    assert (tmp_path / "runs.parquet").stat().st_size < 2 * len(json.dumps(spec))
