"""bentpipe's gateways beside others on this machine's kernel: the tables of docs/labs/gateway-peers.md.

    make bench-gateway-peers ARGS="--beside 6"                   all paths and all work: about an hour
    make bench-gateway-peers ARGS='--what channels --path "GEO, 1 %"'
    make bench-gateway-peers ARGS="--show"                       the tables of what was run so far
    make bench-gateway-peers ARGS="--show --page"                and writes them into docs/labs

Runs are kept in runs/gateway-peers, and what was run is not run again. With --beside N so many runs of
16 Mbit/s go on at once, fewer of faster paths, and one of 500 Mbit/s alone. All paths of a work come before
the next work. A run that this machine was too busy for has an asterisk; --again runs those once more.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from peer_tables import TABLES, PathKeys, Table, rate_mbit_s

from bentpipe import Results, StoreError

LAB = "gateway-peers"
KEPT = Path("runs") / LAB
AS_IS = "as is"
_UNITS = 3
LATE = ("users",)
"""Work that the issue of the lab does not need: it is run only where it is asked for."""

PAGES = Path("docs") / "labs"
BEGIN, END = "<!-- benches/gateway/peers.py: begin -->", "<!-- benches/gateway/peers.py: end -->"
SUMMARIES = (
    # The work, its table, the column's head, what it says.
    ("page and file", 1, "of the ceiling", "A file: its rate, of the ceiling"),
    ("page and file", 2, "p50, p99 ms", "Keystrokes beside the file: p50, p99 in ms"),
    ("page and file", 0, "all objects, s", "A page of 60 objects: seconds"),
    ("page and file", 3, "MOS down", "A call beside the file: its opinion score down, of 4.5"),
    ("page and file", 1, "queue ms", "The mean queue on the path beside the file, in ms"),
    (
        "neighbour",
        0,
        "of an equal share",
        "What a CUBIC download beside the gateways keeps, of an equal share",
    ),
    ("channels", 0, "a flow of 100: p50, p95 s", "100 clients: a flow's p50, p95 in s"),
    ("channels", 0, "100: Mbit/s, of the ceiling", "100 clients: Mbit/s, of the ceiling"),
    ("page and file", 1, "processor s per Gbit", "Processor seconds per Gbit, near and far together"),
)
"""One figure of each run."""


@dataclass(frozen=True)
class Cell:
    """A gateway on a path with some work: the runs of one folder."""

    path: str
    what: str
    variant: str

    def __str__(self) -> str:
        return f"{self.what}, {self.path}, {self.variant}"

    @property
    def folder(self) -> Path:
        name = f"{self.what} {self.path} {self.variant}"
        return KEPT / "".join(each if each.isalnum() else "-" for each in name)


def main() -> None:
    lab = tomllib.loads((files("bentpipe.labs") / f"{LAB}.toml").read_text(encoding="utf-8"))
    paths, whats = lab["sweep"]["path_kind"], lab["sweep"]["what"]
    variants = [AS_IS, *(each["name"] for each in lab["variant"])]
    parser = argparse.ArgumentParser(
        prog="python benches/gateway/peers.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--path", action="append", choices=list(paths), metavar="NAME")
    parser.add_argument("--what", action="append", choices=list(whats))
    parser.add_argument("--variant", action="append", choices=variants, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--beside", type=int, default=1, metavar="N")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--again", action="store_true", help="run again what was not reliable")
    parser.add_argument("--whole", action="store_true", help="wait up to 56 s for the whole file, not 32 s")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/labs")
    asked = parser.parse_args()
    if asked.page and (asked.path or asked.what or asked.variant):
        parser.error("--page writes all tables: leave out --path, --what and --variant")
    slowest_first = sorted(asked.path or paths, key=lambda path: rate_mbit_s(paths[path]))
    cells = [
        Cell(path, what, variant)
        for what in asked.what or (each for each in whats if each not in LATE)
        for path in slowest_first
        for variant in asked.variant or variants
    ]
    if not asked.show:
        _run_all(cells, paths, asked.seeds, asked.beside, again=asked.again, whole=asked.whole)
    of_all = [
        f"Linux {platform.release()}, {os.cpu_count()} processors. A run with an asterisk is not reliable.",
        *_summaries(asked.path or list(paths), asked.what or whats, asked.variant or variants, paths),
    ]
    whole = [
        line
        for path in asked.path or paths
        for what in asked.what or whats
        for line in _tables(path, what, asked.variant or variants, paths[path])
    ]
    print("\n".join(of_all + whole))
    if asked.page:
        _write("\n".join(of_all), "\n".join(whole))


def _run_all(
    cells: Sequence[Cell], paths: dict[str, PathKeys], seeds: int, beside: int, *, again: bool, whole: bool
) -> None:
    """In their order, as many at once as `beside` allows."""
    begun_s = time.monotonic()
    free = beside * _UNITS
    running: dict[Future[None], int] = {}
    with ThreadPoolExecutor(beside) as pool:
        try:
            for place, cell in enumerate(cells):
                weight = _weight(rate_mbit_s(paths[cell.path]), beside)
                while free < weight:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for each in done:
                        free += running.pop(each)
                        each.result()
                free -= weight
                minutes = (time.monotonic() - begun_s) / 60
                said = f"{minutes:5.1f} min, {place + 1} of {len(cells)}: {cell}"
                print(said, file=sys.stderr, flush=True)
                running[pool.submit(_run, cell, paths[cell.path], seeds, again=again, whole=whole)] = weight
            for each in running:
                each.result()
        except BaseException:  # interrupted, or a run failed: those that go on end by themselves
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _weight(rate: float, beside: int) -> int:
    """What a run at this rate costs this machine: one of 16 Mbit/s costs `_UNITS`."""
    for most, weight in ((16, _UNITS), (50, 6), (100, 9)):
        if rate <= most:
            return min(weight, beside * _UNITS)
    return beside * _UNITS


def _duration(path: PathKeys, what: str, *, whole: bool) -> str | None:
    """Where the figures need another than the lab's own: keystrokes end at 33 s, with an outage at 48 s."""
    lasts_seconds = any(not length.endswith("ms") for _, length in path.get("path.outages", ()))
    if what == "channels" and lasts_seconds:
        return "49 s"  # some seconds of the second load are after the outage
    if what == "page and file" and not whole:
        return "63 s" if lasts_seconds else "45 s" if rate_mbit_s(path) <= 16 else "34 s"
    return None


def _run(cell: Cell, path: PathKeys, seeds: int, *, again: bool, whole: bool) -> None:
    """A folder that has the runs goes on where it stopped."""
    if (
        again
        and cell.folder.is_dir()
        and any(not each["reliable"] for each in Results.open(cell.folder).records)
    ):
        shutil.rmtree(cell.folder)
    settings = [f'path_kind="{cell.path}"', f'what="{cell.what}"']
    if duration := _duration(path, cell.what, whole=whole):
        settings.append(f'duration="{duration}"')
    command = [sys.executable, "-m", "bentpipe", "run", LAB, "--engine", "live", "--quiet"]
    command += ["--variant", cell.variant, "--repeat", str(seeds), "--out", str(cell.folder)]
    for setting in settings:
        command += ["--set", setting]
    # It ends with 1 where a run was not reliable, which the tables say.
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{cell}: {done.stderr}")


def _tables(path: str, what: str, variants: Sequence[str], keys: PathKeys) -> Iterator[str]:
    """Of each work of these runs, a row for each gateway that was run."""
    opened = {variant: _opened(Cell(path, what, variant)) for variant in variants}
    for table in TABLES[what] if any(opened.values()) else ():
        yield f"\n{path}: {table.name}\n"
        yield f"| | {table.head} |"
        yield "|---" * (table.head.count("|") + 2) + "|"
        for variant, runs in opened.items():
            if runs is not None:
                row = runs.row(table, keys)
                yield f"| {variant}{runs.stars} | {' | '.join(row or ['failed'])} |"


def _summaries(
    of: Sequence[str], whats: Sequence[str], variants: Sequence[str], paths: dict[str, PathKeys]
) -> Iterator[str]:
    """One figure of each run: a row for each path, a column for each gateway."""
    for what, place, head, says in SUMMARIES:
        if what not in whats:
            continue
        table = TABLES[what][place]
        column = table.head.split(" | ").index(head)
        yield f"\n**{says}**\n"
        yield f"| | {' | '.join(variants)} |"
        yield "|---" * (len(variants) + 1) + "|"
        for path in of:
            cells = []
            for variant in variants:
                runs = _opened(Cell(path, what, variant))
                row = runs.row(table, paths[path]) if runs else []
                cells.append(row[column] + runs.stars if runs and row else "failed" if runs else "")
            yield f"| {path} | {' | '.join(cells)} |"


@dataclass(frozen=True)
class _Runs:
    """The runs of a cell that have ended."""

    results: Results
    worked: Sequence[int]
    reliable: Sequence[int]

    @property
    def stars(self) -> str:
        """One for each run that is not reliable."""
        return "*" * (len(self.results.records) - len(self.reliable))

    def row(self, table: Table, keys: PathKeys) -> list[str]:
        """Of the reliable runs, or of all where none is. Empty where none worked."""
        return list(table.row(self.results, self.reliable or self.worked, keys)) if self.worked else []


@cache
def _opened(cell: Cell) -> _Runs | None:
    if not cell.folder.is_dir():
        return None
    try:
        results = Results.open(cell.folder)
    except StoreError:  # its run goes on
        return None
    worked = [place for place in range(len(results.records)) if _has_worked(results, place)]
    return _Runs(results, worked, [place for place in worked if results.records[place]["reliable"]])


def _write(of_all: str, whole: str) -> None:
    """Into the pages of the lab, between their marks."""
    for page, text in ((PAGES / f"{LAB}.md", of_all), (PAGES / f"{LAB}-tables.md", whole)):
        before, begun, rest = page.read_text(encoding="utf-8").partition(f"{BEGIN}\n")
        _, ended, after = rest.partition(END)
        if not (begun and ended):
            raise SystemExit(f"{page}: the marks {BEGIN} and {END} are missing")
        page.write_text(f"{before}{BEGIN}\n{text.strip()}\n{END}{after}", encoding="utf-8")


def _has_worked(results: Results, place: int) -> bool:
    """Whether its work began: through a gateway without a session nothing does."""
    record: Any = results.records[place]
    return record["status"] == "done" and bool(results.of_run(results.names[place], "flows").height)


if __name__ == "__main__":
    main()
