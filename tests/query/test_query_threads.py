"""DuckDB reads one file with several threads: each gets the bytes that it asked for."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import fsspec
import numpy as np
import polars as pl
import pytest

from bentpipe.query.questions import Questions
from bentpipe.query.sandbox import QuerySandbox
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.place import LocalPlace, Place, UrlPlace
from bentpipe.runs.schema import SOCKETS
from bentpipe.runs.store import Results

_CONTENT = b"PAR1" + bytes(range(256)) * 40
_ROWS = 20_000
_SUMMED = [column.name for column in SOCKETS.columns if column.dtype == pl.Int64][::3]
"""Far apart in a file, so that each is read for itself."""


def _local(folder: Path) -> Place:
    (folder / "x").write_bytes(_CONTENT)
    return LocalPlace(folder / "x")


def _in_memory(_folder: Path) -> Place:
    place = Place.of("memory://test-query-threads/x")
    place.write_bytes(_CONTENT)
    return place


def _through_fsspec(folder: Path) -> Place:
    """As at a URL whose files are buffered by fsspec."""
    return UrlPlace(fsspec.filesystem("file"), str(_local(folder)))


def _bytes(_folder: Path) -> bytes:
    return _CONTENT


KINDS = (_local, _in_memory, _through_fsspec, _bytes)
Kind = Callable[[Path], Place | bytes]


def opened(kind: Kind, folder: Path) -> tuple[IO[bytes], IO[bytes]]:
    """The same file, twice."""
    sandbox = QuerySandbox()
    sandbox.put("pings/0", {"1": kind(folder)})
    one, other = (sandbox.open("results://pings/0/1") for _ in range(2))
    return one, other  # type: ignore[return-value]


def in_a_thread(work: Callable[[], object]) -> None:
    """Does `work` in another thread. What it raises comes out here."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        threads.submit(work).result()


@pytest.mark.parametrize("kind", KINDS)
def test_a_thread_reads_where_it_sought_whatever_others_did_in_between(kind: Kind, tmp_path: Path) -> None:
    file, _ = opened(kind, tmp_path)
    file.seek(10)
    in_a_thread(lambda: (file.seek(5000), file.read(7)))
    assert file.read(20) == _CONTENT[10:30]


@pytest.mark.parametrize("kind", KINDS)
def test_two_open_files_of_one_table_do_not_move_each_other(kind: Kind, tmp_path: Path) -> None:
    ours, others = opened(kind, tmp_path)
    ours.seek(10)
    others.seek(5000)
    assert others.read(3) == _CONTENT[5000:5003]
    assert ours.read(20) == _CONTENT[10:30]


@pytest.mark.parametrize("kind", KINDS)
def test_reads_without_a_seek_follow_each_other_to_the_end(kind: Kind, tmp_path: Path) -> None:
    file, _ = opened(kind, tmp_path)
    found = [file.read(4000)]
    in_a_thread(lambda: found.append(file.read(4000)))
    found += [file.read(4000), file.read(4000)]
    assert b"".join(found) == _CONTENT
    assert found[-1] == b""


class _Slow:
    """A file after whose every seek another thread has its turn."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def seek(self, offset: int) -> int:
        found: int = self._file.seek(offset)
        time.sleep(0.001)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.fixture
def slow_seeks(monkeypatch: pytest.MonkeyPatch) -> None:
    really = QuerySandbox.open
    monkeypatch.setattr(QuerySandbox, "open", lambda *given: _Slow(really(*given)))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs whose sockets differ in every row and column."""
    out = tmp_path_factory.mktemp("threads") / "sweep"
    draws = np.random.default_rng(1)
    for name in range(3):
        folder = RunFolder.create(out, str(name))
        drawn = {c.name: pl.Series(draws.integers(0, 10**9, _ROWS)).cast(c.dtype) for c in SOCKETS.columns}
        pl.DataFrame(drawn).write_parquet(folder.path("sockets.parquet"), row_group_size=_ROWS // 4)
        folder.finish({"lab": "x", "seed": 1, "point": {}, "workloads": {}})
    return out


@pytest.mark.usefixtures("slow_seeks")
@pytest.mark.parametrize("where", ["here", "at a URL"])
def test_sums_over_many_rows_are_those_that_polars_takes(where: str, sweep: Path) -> None:
    results = Results.open(sweep)
    right = results.scan("sockets").select(pl.col(_SUMMED).sum()).collect().row(0)
    if where == "at a URL":
        away = Place.of("memory://test-query-threads/sweep")
        for path in sweep.rglob("*.*"):
            if path.is_file():
                (away / path.parent.name / path.name).write_bytes(path.read_bytes())
        results = Results.open(away)
    sql = f"select {', '.join(f'sum({name})' for name in _SUMMED)} from sockets"
    for _ in range(3):
        with Questions.open([results]) as questions:
            assert list(questions.ask(sql).rows()) == [right]
