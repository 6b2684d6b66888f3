"""How long a sweep of many runs takes to open, to its tables, and to answers.

    python benches/store                    10,000 runs
    python benches/store --runs 100000

Each row is a process of its own, with a warm cache of files; imports, which a command does besides, are not
in the figures but have a row.
"""

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from many import make

Row = Callable[[Path], object]


def _nothing(_folder: Path) -> object:
    import bentpipe.query.questions  # noqa: PLC0415 - as above
    import bentpipe.report.terminal  # noqa: PLC0415 - it is what is measured

    return bentpipe.report.terminal, bentpipe.query.questions


def _refresh(folder: Path) -> object:
    from bentpipe.runs import index  # noqa: PLC0415 - imported before the clock starts
    from bentpipe.runs.place import Place  # noqa: PLC0415 - as above

    return index.refresh(Place.of(folder))


def _open(folder: Path) -> object:
    from bentpipe.runs.store import Results  # noqa: PLC0415 - as above

    return Results.open(folder)


def _runs(folder: Path) -> object:
    from bentpipe.runs.store import Results  # noqa: PLC0415 - as above

    return Results.open(folder).scan("runs").collect()


def _terminal(folder: Path) -> object:
    from rich.console import Console  # noqa: PLC0415 - as above

    from bentpipe.report.terminal import table  # noqa: PLC0415 - as above
    from bentpipe.runs.store import Results  # noqa: PLC0415 - as above

    results = Results.open(folder)
    results.scan("runs").collect()
    return Console(file=io.StringIO(), width=160).print(table(results))


def _link(folder: Path) -> object:
    import polars as pl  # noqa: PLC0415 - as above

    from bentpipe.runs.store import Results  # noqa: PLC0415 - as above

    return Results.open(folder).scan("link").group_by("run").agg(pl.col("drops_tail").sum()).collect()


def _asked(sql: str) -> Row:
    def ask(folder: Path) -> object:
        from bentpipe.query.questions import Questions  # noqa: PLC0415 - as above
        from bentpipe.runs.store import Results  # noqa: PLC0415 - as above

        with Questions.open([Results.open(folder)]) as questions:
            return list(questions.ask(sql).rows())

    return ask


_ROWS: dict[str, Row] = {
    "imports": _nothing,
    "make the table of runs": _refresh,
    "open": _open,
    "open, table of runs": _runs,
    "open, table of runs, the terminal's table": _terminal,
    "query: figures of runs": _asked(
        "select rtt_s, median(workload.download.goodput_mbit_s) from runs group by all order by all"
    ),
    "query: link of one run": _asked("select count(*) from link where run = '0001_as-is_10-ms_0.0_seed-1'"),
    "query: link of all runs": _asked("select run, sum(drops_tail) from link group by run"),
    "Polars: link of all runs": _link,
    "without the table: open, terminal's table": _terminal,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="store", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--row", help="measure this one alone, in --folder")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.row:
        print(json.dumps(_measured(_ROWS[asked.row], asked.folder, imports=asked.row == "imports")))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), asked.runs)
        many = Path(folder) / "many"
        print(f"{asked.runs} runs\n\n| | wall s | CPU s | peak MB |\n|---|---|---|---|")
        for row in _ROWS:
            if row.startswith("without"):
                (many / "runs.parquet").unlink()
            print(_line(row, many), flush=True)
    return 0


def _line(row: str, folder: Path) -> str:
    command = [sys.executable, __file__, "--row", row, "--folder", str(folder)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return f"| {row} | {found['wall_s']:.2f} | {found['cpu_s']:.2f} | {found['peak_mb']:.0f} |"


def _measured(row: Row, folder: Path, *, imports: bool) -> dict[str, float]:
    if not imports:
        _nothing(folder)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    row(folder)
    return {
        "wall_s": time.perf_counter() - wall_s,
        "cpu_s": time.process_time() - cpu_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    sys.exit(main())
