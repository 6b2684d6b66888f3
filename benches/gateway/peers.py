"""bentpipe's gateways beside others on this machine's kernel: the tables of docs/labs/gateway-peers.md.

    make bench-gateway-peers ARGS="--beside 6"                   all paths and all work: about an hour
    make bench-gateway-peers ARGS='--what channels --path "GEO, 1 %"'
    make bench-gateway-peers ARGS="--show"                       the tables of what was run so far

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
from importlib.resources import files
from pathlib import Path
from typing import Any

from peer_tables import TABLES, PathKeys, rate_mbit_s

from bentpipe import Results

LAB = "gateway-peers"
KEPT = Path("runs") / LAB
AS_IS = "as is"
_UNITS = 3
LATE = ("users",)
"""Work that the issue of the lab does not need: it is run only where it is asked for."""


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
    asked = parser.parse_args()
    slowest_first = sorted(asked.path or paths, key=lambda path: rate_mbit_s(paths[path]))
    cells = [
        Cell(path, what, variant)
        for what in asked.what or (each for each in whats if each not in LATE)
        for path in slowest_first
        for variant in asked.variant or variants
    ]
    if not asked.show:
        _run_all(cells, paths, asked.seeds, asked.beside, again=asked.again, whole=asked.whole)
    print(f"Linux {platform.release()}, {os.cpu_count()} processors. A run with an asterisk is not reliable.")
    for what in asked.what or whats:
        for path in asked.path or paths:
            print("\n".join(_tables(path, what, asked.variant or variants, paths[path])))


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
    folders = {variant: Cell(path, what, variant).folder for variant in variants}
    opened = {variant: Results.open(folder) for variant, folder in folders.items() if folder.is_dir()}
    for table in TABLES[what] if opened else ():
        yield f"\n{path}: {table.name}\n"
        yield f"| | {table.head} |"
        yield "|---" * (table.head.count("|") + 2) + "|"
        for variant, results in opened.items():
            places = range(len(results.records))
            done = [place for place in places if _has_worked(results, place)]
            reliable = [place for place in done if results.records[place]["reliable"]]
            stars = "*" * (len(places) - len(reliable))
            cells = table.row(results, reliable or done, keys) if done else ["failed"]
            yield f"| {variant}{stars} | {' | '.join(cells)} |"


def _has_worked(results: Results, place: int) -> bool:
    """Whether its work began: through a gateway without a session nothing does."""
    record: Any = results.records[place]
    return record["status"] == "done" and bool(results.of_run(results.names[place], "flows").height)


if __name__ == "__main__":
    main()
