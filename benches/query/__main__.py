"""Whether `bentpipe query` answers right, every time, over 20 million rows: `make check-query`.

    python benches/query                            100 asks of 300 runs
    python benches/query --asks 1000 --load 2       beside two processes that keep a core busy each
    python benches/query --in-memory                the same runs behind a URL (fsspec's memory://)

The runs are simulated. The questions take turns, each asked over a new connection; the right answers are
taken by Polars. Exit status 1 where one answer was wrong or an error.
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import Lab
from bentpipe.query.questions import Questions
from bentpipe.runs.place import Place
from bentpipe.runs.schema import SOCKETS
from bentpipe.runs.store import Results

_FAR_APART = [column.name for column in SOCKETS.columns if column.dtype == pl.Int64][::5]
_TWO = ["cwnd_segments", "in_flight_bytes"]
Rows = list[tuple[Any, ...]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make check-query", description=__doc__.splitlines()[0])
    parser.add_argument("--asks", type=int, default=100)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--load", type=int, default=0, help="processes beside it that keep a core busy each")
    parser.add_argument("--in-memory", action="store_true", help="the runs are at a memory:// URL")
    parser.add_argument("--folder", type=Path, help="where the runs are, or are to be kept")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "runs"
        if not folder.exists():
            lab = Lab.load(Path(__file__).with_name("many.toml"), set=[f"repeat={asked.runs}"])
            lab.run(engine="sim", out=folder, jobs=multiprocessing.cpu_count())
        results = Results.open(_in_memory(folder) if asked.in_memory else folder)
        right = _right(Results.open(folder))
        rows = results.scan("sockets").select(pl.len()).collect().item()
        print(f"{len(results.names)} runs, {rows} rows of sockets", flush=True)
        stack.enter_context(_busy(asked.load))
        return _asked(results, right, asked.asks)


def _right(results: Results) -> Mapping[str, Rows]:
    """Questions and their answers."""
    sockets = results.scan("sockets")
    by_run = sockets.group_by("run").agg(pl.len(), pl.col(_TWO).sum()).sort("run")
    twenty = sockets.filter(host="server", cwnd_segments=20).select(pl.len(), pl.col("bytes_acked").sum())
    return {
        f"select {_sums(_TWO)} from sockets": sockets.select(pl.col(_TWO).sum()).collect().rows(),
        f"select {_sums(_FAR_APART)} from sockets": sockets.select(pl.col(_FAR_APART).sum()).collect().rows(),
        f"select run, count(*), {_sums(_TWO)} from sockets group by run order by run": (
            by_run.collect().rows()
        ),
        "select count(*), sum(bytes_acked) from sockets where host = 'server' and cwnd_segments = 20": (
            twenty.collect().rows()
        ),
    }


def _sums(columns: list[str]) -> str:
    """SQL's sum of no rows is null, that of Polars is 0."""
    return ", ".join(f"coalesce(sum({name}), 0)" for name in columns)


def _asked(results: Results, right: Mapping[str, Rows], asks: int) -> int:
    found: Counter[str] = Counter()
    times_s = []
    questions = list(right)
    for number in range(asks):
        sql = questions[number % len(questions)]
        begun_s = time.monotonic()
        outcome = _outcome(results, sql, right[sql])
        times_s.append(time.monotonic() - begun_s)
        found[outcome.partition(":")[0]] += 1
        if outcome != "right":
            print(f"ask {number + 1}, {sql[:60]}: {outcome}", flush=True)
        if (number + 1) % 100 == 0:
            print(f"{number + 1} asks: {_told(found)}", flush=True)
    median_s, longest_s = statistics.median(times_s), max(times_s)
    print(f"{asks} asks: {_told(found)}; {median_s:.2f} s each in the median, {longest_s:.2f} s at most")
    return 0 if found["right"] == asks else 1


def _outcome(results: Results, sql: str, right: Rows) -> str:
    try:
        with Questions.open([results]) as questions:
            return "right" if list(questions.ask(sql).rows()) == right else "wrong"
    except Exception as error:
        return f"error: {str(error).splitlines()[0]}"


def _told(found: Counter[str]) -> str:
    return ", ".join(f"{found[outcome]} {outcome}" for outcome in ("right", "wrong", "error"))


def _in_memory(folder: Path) -> Place:
    away = Place.of("memory://check-query")
    for path in folder.glob("*/*"):
        if path.name in {"run.json", "sockets.parquet"}:
            (away / path.parent.name / path.name).write_bytes(path.read_bytes())
    return away


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    every = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for process in every:
        process.start()
    try:
        yield
    finally:
        for process in every:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    sys.exit(main())
