"""Runs the points of a lab on an engine, one after another, into a folder of runs.

The folder says which lab it belongs to (lab.json), so that an interrupted sweep goes on where it stopped and
another lab's folder is refused. A run is in it whole or not at all.
"""

import datetime
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from bentpipe import engines, lab
from bentpipe.engines.base import EngineOptions
from bentpipe.results import Results, RunFolder, StoreError
from bentpipe.results.store import LAB, discard_abandoned


class Watcher(Protocol):
    """Told how a sweep goes on."""

    def sweep_begins(self, runs: int, done: int, length_s: float) -> None:
        """`runs` in all, of which `done` are there already; the rest will take about `length_s`."""

    def run_begins(self, name: str, length_s: float) -> None: ...

    def run_is_at(self, seconds: float) -> None: ...

    def run_ends(self, record: Mapping[str, Any]) -> None: ...


class Quiet:
    """A watcher that says nothing."""

    def sweep_begins(self, runs: int, done: int, length_s: float) -> None: ...

    def run_begins(self, name: str, length_s: float) -> None: ...

    def run_is_at(self, seconds: float) -> None: ...

    def run_ends(self, record: Mapping[str, Any]) -> None: ...


class Lab(lab.Lab):
    """A lab that can be run: `Lab.load(path).run()`."""

    def run(self, engine: str = engines.DEFAULT, out: str | Path | None = None) -> Results:
        """Run every point and return the results. `out` defaults to runs/<lab>-<date>."""
        return execute(self, engine=engine, out=Path(out) if out is not None else None)


def execute(
    the_lab: lab.Lab,
    *,
    engine: str = engines.DEFAULT,
    out: Path | None = None,
    options: EngineOptions | None = None,
    watcher: Watcher | None = None,
    on_record: Callable[[Mapping[str, Any]], None] = lambda _record: None,
) -> Results:
    """Run what of the lab is not in `out` yet. `on_record` is given every run's record, of those there
    already first."""
    watcher = watcher or Quiet()
    worker = engines.create(engine, options)
    points = the_lab.points()
    for point in points:
        worker.check(point.spec)
    identity = _identity(the_lab, engine)
    folder = out if out is not None else default_folder(identity, [point.name for point in points])
    with _claimed(folder, identity):
        there = [point.name for point in points if (folder / point.name).exists()]
        missing = [point for point in points if point.name not in there]
        lengths_s = [worker.length_s(point.spec) for point in missing]
        watcher.sweep_begins(len(points), len(there), sum(lengths_s))
        for name in there:
            on_record(Results.open(folder / name).runs[0])
        for point, length_s in zip(missing, lengths_s, strict=True):
            watcher.run_begins(point.name, length_s)
            staging = RunFolder.create(folder, point.name)
            try:
                record = worker.run(point, staging, watcher.run_is_at)
            except BaseException:
                staging.abandon()
                raise
            watcher.run_ends(record)
            on_record(record)
    return Results.open(folder)


def _identity(the_lab: lab.Lab, engine: str) -> dict[str, Any]:
    """What a folder of runs belongs to. Pins of swept keys, the choice of variants, seed and repeat are not
    part of it: a sweep may be done in pieces."""
    return {
        "lab": the_lab.name,
        "title": the_lab.title,
        "published": the_lab.published,
        "engine": engine,
        "digest": the_lab.digest,
        "document": the_lab.document,
        "sets": list(the_lab.sets),
    }


def default_folder(identity: Mapping[str, Any], names: Sequence[str]) -> Path:
    """runs/<lab>-<date>, with a number where a finished or another sweep has that name already."""
    base = Path("runs") / f"{identity['lab']}-{datetime.date.today().isoformat()}"
    number = 1
    while True:
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        if not folder.exists():
            return folder
        unfinished = any(not (folder / run).exists() for run in names)
        if unfinished and _same(folder, identity):
            return folder
        number += 1


def _same(folder: Path, identity: Mapping[str, Any]) -> bool:
    try:
        found = json.loads((folder / LAB).read_text(encoding="utf-8"))
        return all(found[key] == identity[key] for key in ("digest", "engine"))
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _claimed(folder: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """The folder, made or found to be of the same lab, and no other process's as long as this lasts."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; --out wants a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{folder} is being written by another bentpipe") from None
        _match(folder, identity)
        discard_abandoned(folder)
        yield
    finally:
        os.close(descriptor)


def _match(folder: Path, identity: Mapping[str, Any]) -> None:
    place = folder / LAB
    if place.exists():
        if not _same(folder, identity):
            raise StoreError(
                f"{folder} holds runs of another lab, or of this one with other settings; "
                "name another folder with --out"
            )
        return
    if any(folder.iterdir()):
        raise StoreError(
            f"{folder} is not empty and holds no runs of this lab; name another folder with --out"
        )
    part = place.with_suffix(".part")
    part.write_text(json.dumps(identity, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.rename(place)
