"""Runs the points of a lab on an engine, one after another or several at once, into a folder of runs.

The folder says which lab it belongs to (lab.json), so that an interrupted sweep goes on where it stopped and
another lab's folder is refused. A run is in it whole or not at all. Runs know nothing of each other, so how
many go on at once changes nothing in what they find; records come in the points' order either way.
"""

import datetime
import fcntl
import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bentpipe import engines, lab, workers
from bentpipe.engines.base import Engine, EngineError, EngineOptions
from bentpipe.lab import AS_IS, Point
from bentpipe.results import Results, RunFolder, StoreError
from bentpipe.results.layout import LAB
from bentpipe.results.place import Place
from bentpipe.results.run_folder import discard_abandoned, write_file
from bentpipe.results.store import finished_runs

_LONGEST_WORD = 40
_LAB_PART = "lab.part"


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

    def run(self, engine: str = "sim", out: str | Path | None = None, jobs: int = 1) -> Results:
        """Run every point and return the results. `out` defaults to runs/<lab>-<date>. `jobs`: how many at
        once."""
        return execute(
            self,
            engine=engine,
            out=Path(out) if out is not None else None,
            jobs=jobs,
            on_left_out=lambda variant, why: warnings.warn(
                f'variant "{variant}" is left out: {why}', stacklevel=4
            ),
        )


def execute(
    the_lab: lab.Lab,
    *,
    engine: str = engines.DEFAULT,
    out: Path | None = None,
    jobs: int = 1,
    options: EngineOptions | None = None,
    watcher: Watcher | None = None,
    on_record: Callable[[Mapping[str, Any]], None] = lambda _record: None,
    on_left_out: Callable[[str, str], None] = lambda _variant, _why: None,
) -> Results:
    """Run what of the lab is not in `out` yet. `on_record` is given every run's record, of those there
    already first; `on_left_out` each variant that the engine cannot run, and why."""
    watcher = watcher or Quiet()
    worker = engines.create(engine, options)
    if jobs > 1 and not worker.beside_others:
        raise EngineError(
            f"--jobs: the {engine} engine runs one point at a time; runs beside each other would share this "
            "machine's cores and falsify each other's timing",
            what="jobs",
        )
    points, left_out = _runnable(the_lab, worker)
    for variant, why in left_out.items():
        on_left_out(variant, why)
    names = run_names(points)
    identity = _identity(the_lab, points, engine) | {"left_out": left_out}
    folder = out if out is not None else default_folder(identity, names)
    with _claimed(folder, identity):
        there = [name for name in names if (folder / name).exists()]
        missing = [(point, name) for point, name in zip(points, names, strict=True) if name not in there]
        lengths_s = [worker.length_s(point.spec) for point, _ in missing]
        jobs = min(jobs, max(len(missing), 1))
        watcher.sweep_begins(len(points), len(there), sum(lengths_s) / jobs)
        for name in there:
            on_record(Results.open(folder / name).runs[0])
        tasks = [_Task(engine, options, point, folder, name) for point, name in missing]
        for task, length_s, record in _records(tasks, lengths_s, jobs, watcher):
            if jobs > 1:
                watcher.run_begins(task.name, length_s / jobs)
            watcher.run_ends(record)
            on_record(record)
    return Results.open(folder)


def _runnable(the_lab: lab.Lab, worker: Engine) -> tuple[list[Point], dict[str, str]]:
    """The points to run, and the variants that this engine, or this machine's kernel, has no means for.

    A sweep does not end because one of its variants needs what is not here. But what was asked for by name is
    refused, and so is a plain lab that cannot be run. Raises EngineError.
    """
    points = the_lab.points()
    left_out: dict[str, str] = {}
    for point in points:
        if point.variant in left_out:
            continue
        try:
            worker.check(point.spec)
        except EngineError as error:
            if the_lab.asked or point.variant == AS_IS:
                raise
            left_out[point.variant] = str(error.args[0])
    return [point for point in points if point.variant not in left_out], left_out


@dataclass(frozen=True)
class _Task:
    """One run to do, wherever that is."""

    engine: str
    options: EngineOptions | None
    point: Point
    folder: Path
    name: str

    def do(self, on_progress: Callable[[float], None] = lambda _seconds: None) -> dict[str, Any]:
        staging = RunFolder.create(self.folder, self.name)
        try:
            return engines.create(self.engine, self.options).run(self.point, staging, on_progress)
        except BaseException:
            staging.abandon()
            raise


def _records(
    tasks: Sequence[_Task], lengths_s: Sequence[float], jobs: int, watcher: Watcher
) -> Iterator[tuple[_Task, float, dict[str, Any]]]:
    """Each task with its record, in the tasks' order."""
    if jobs == 1:
        for task, length_s in zip(tasks, lengths_s, strict=True):
            watcher.run_begins(task.name, length_s)
            yield task, length_s, task.do(watcher.run_is_at)
        return
    records = workers.in_order(_Task.do, tasks, jobs)
    yield from zip(tasks, lengths_s, records, strict=True)


def run_names(points: Sequence[Point]) -> list[str]:
    """A folder name per run: its cell's number in the grid, what is special about the cell, and the seed."""
    cells: list[tuple[str, str]] = []
    names = []
    for point in points:
        cell = (point.variant, json.dumps(point.point))
        if cell not in cells:
            cells.append(cell)
        words = [point.variant, *point.point.values(), f"seed {point.seed}"]
        names.append("_".join([f"{cells.index(cell) + 1:03d}", *map(_word, words)]))
    return names


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:_LONGEST_WORD]


def _identity(the_lab: lab.Lab, points: Sequence[Point], engine: str) -> dict[str, Any]:
    """What a folder of runs belongs to: the engine and the cells, but not how often each is repeated, nor the
    seed. The lab as it was written stands there for people."""
    cells: list[dict[str, Any]] = []
    for point in points:
        cell = {"variant": point.variant, "point": point.point, "spec": point.spec.model_dump(mode="json")}
        if cell not in cells:
            cells.append(cell)
    text = json.dumps([engine, cells], sort_keys=True, separators=(",", ":"))
    first = points[0]
    return {
        "lab": first.lab,
        "title": first.title,
        "published": first.published,
        "engine": engine,
        "document": the_lab.text,
        "options": list(the_lab.options),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "cells": cells,
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
        if unfinished and _digest(folder) == identity["digest"]:
            return folder
        number += 1


def _digest(folder: Path) -> str | None:
    """What the folder's lab.json belongs to; None without one of ours."""
    try:
        found = json.loads((folder / LAB).read_text(encoding="utf-8"))
        return str(found["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _claimed(folder: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """The folder, made or found to be of the same lab, and no other process's as long as this lasts. Where no
    run was finished in it, it is as it was before."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; --out wants a folder")
    made = not folder.exists()
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
        _check_free(folder, identity)
        try:
            _name(folder, identity)
            yield
        finally:
            discard_abandoned(folder)  # of workers that were ended
            if not finished_runs(Place.of(folder)):
                _unname(folder, made=made)
    finally:
        os.close(descriptor)


def _check_free(folder: Path, identity: Mapping[str, Any]) -> None:
    """Raises where the folder holds what is not of this lab. What an interrupted run left is taken away."""
    if _digest(folder) is None and any(folder.iterdir()):
        raise StoreError(
            f"{folder} is not empty and holds no runs of this lab; name another folder with --out"
        )
    discard_abandoned(folder)
    if finished_runs(Place.of(folder)) and _digest(folder) != identity["digest"]:
        raise StoreError(
            f"{folder} holds runs of another lab, or of this one with other settings; "
            "name another folder with --out"
        )


def _name(folder: Path, identity: Mapping[str, Any]) -> None:
    """Says in the folder which lab it belongs to, unless that stands there."""
    if _digest(folder) == identity["digest"]:
        return
    part = folder / _LAB_PART
    try:
        write_file(part, f"{json.dumps(identity, indent=1, ensure_ascii=False)}\n".encode())
        part.rename(folder / LAB)
    except PermissionError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}") from error


def _unname(folder: Path, *, made: bool) -> None:
    with suppress(OSError):  # it may not be ours to write, or hold what somebody put there meanwhile
        for name in (LAB, _LAB_PART):
            (folder / name).unlink(missing_ok=True)
        if made:
            folder.rmdir()
