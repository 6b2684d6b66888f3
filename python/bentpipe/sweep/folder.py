"""The folder of a sweep: its lab, the names of its runs, and the lock of its writer.

The folder says which lab it belongs to (lab.json), so that an interrupted sweep goes on where it stopped and
another lab's folder is refused. On this machine it is locked while a sweep writes in it. At a URL, and on
Windows, nothing keeps two sweeps apart.
"""

import datetime
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.errors import StoreError
from bentpipe.lab.load import Lab
from bentpipe.lab.point import CellRuns, Point
from bentpipe.runs.folder import discard_abandoned
from bentpipe.runs.layout import LAB, RECORD
from bentpipe.runs.place import Place
from bentpipe.sweep import flock
from bentpipe.sweep.lab_difference import difference
from bentpipe.words.faults import shown

_LONGEST_WORD = 40
_LOCK_S = 3.0
"""How long the workers of a process that was killed may still hold the lock."""


def named(cells: Iterable[CellRuns]) -> Iterator[tuple[str, Point]]:
    """The runs with their folders' names: their cell's number in the grid, what is special about it, seed."""
    for number, points in enumerate(cells, 1):
        for point in points:
            words = [point.variant, *point.point.values(), f"seed {point.seed}"]
            yield "_".join([f"{number:03d}", *map(_word, words)]), point


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:_LONGEST_WORD]


def identity(the_lab: Lab, cells: Iterable[CellRuns], engine: str) -> dict[str, Any]:
    """What a folder of runs belongs to: the engine and the cells, but not how often each is repeated, nor the
    seed. The lab as it was written stands there for people."""
    digest = hashlib.sha256(f'["{engine}",['.encode())
    points = []
    for number, cell_runs in enumerate(cells):
        point = cell_runs.first
        cell = {"variant": point.variant, "point": point.point, "spec": point.spec.model_dump(mode="json")}
        text = json.dumps(cell, sort_keys=True, separators=(",", ":"))
        digest.update(f"{',' if number else ''}{text}".encode())
        points.append({"variant": point.variant, "point": point.point})
    digest.update(b"]]")
    return {
        "lab": the_lab.name,
        "title": the_lab.title,
        "published": the_lab.published,
        "engine": engine,
        "document": the_lab.text,
        "options": list(the_lab.options),
        "digest": digest.hexdigest(),
        "cells": points,
    }


def default_folder(own: Mapping[str, Any], names: Callable[[], Iterable[str]]) -> Path:
    """runs/<lab>-<date>, with a number where a finished or another sweep has that name already."""
    base = Path("runs") / f"{own['lab']}-{datetime.date.today().isoformat()}"
    number = 1
    while True:
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        if not folder.exists():
            return folder
        place = Place.of(folder)
        if _digest(place) == own["digest"] and not set(names()) <= place.stamps(RECORD).keys():
            return folder
        number += 1


def newest(parent: Path) -> Path | None:
    """The folder in `parent` with the newest run; None if there is no folder of runs."""
    latest = {}
    for folder in parent.iterdir() if parent.is_dir() else ():
        stamps = Place.of(folder).stamps(RECORD) if (folder / LAB).is_file() else {}
        if stamps:
            latest[folder] = max(int(stamp.changed) for stamp in stamps.values())
    return max(latest, key=lambda folder: (latest[folder], folder), default=None)


def _lab(place: Place) -> dict[str, Any] | None:
    """The folder's lab.json; None without one of ours."""
    try:
        found = json.loads((place / LAB).read_bytes())
    except (StoreError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("digest"), str) else None


def _digest(place: Place) -> str | None:
    """What the folder's lab.json belongs to; None without one of ours."""
    found = _lab(place)
    return str(found["digest"]) if found else None


def _whose(there: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    if there.get("lab") != own["lab"]:
        return f"holds runs of another lab, {shown(there.get('lab'))}"
    return f"holds runs of this lab with other settings: {difference(there, own)}"


@dataclass(frozen=True)
class Claim:
    """A sweep's folder while one writes in it."""

    place: Place
    there: frozenset[str]
    """The runs that are in it."""
    lock: int | None
    """The descriptor that holds the lock; None at a URL."""


@contextmanager
def claimed(place: Place, own: Mapping[str, Any]) -> Iterator[Claim]:
    """The folder, made or found to be of the same lab, and no other process's as long as this lasts. Where no
    run was finished in it, it is as it was before."""
    made = not place.exists()
    if not made and not place.is_folder():
        raise StoreError(f"{place} is a file; --out wants a folder")
    parent = place.path.parent if made and place.path and not place.path.parent.exists() else None
    with _locked(place) as lock:
        there = _checked(place, own)
        try:
            _name(place, own)
            yield Claim(place, frozenset(there), lock)
        finally:
            if place.path is not None:
                discard_abandoned(place.path)  # of workers that were ended
            if not place.stamps(RECORD):
                _unname(place, made=made)
                if parent:
                    with suppress(OSError):  # another sweep may lie in it by now
                        parent.rmdir()


@contextmanager
def _locked(place: Place) -> Iterator[int | None]:
    """As long as this lasts no other process has the folder, which is made."""
    try:
        place.make()
        lockable = place.path if flock.EXISTS else None
        descriptor = os.open(lockable, os.O_RDONLY | os.O_DIRECTORY) if lockable else None
    except OSError as error:
        raise StoreError(f"{place} cannot be created: {error.strerror}") from error
    if descriptor is None:
        yield None
        return
    try:
        if not flock.locked(descriptor, _LOCK_S):
            raise StoreError(f"{place} is being written by another bentpipe")
        yield descriptor
    finally:
        os.close(descriptor)


def _checked(place: Place, own: Mapping[str, Any]) -> set[str]:
    """The runs that are there. Raises where the folder holds what is not of this lab. What an interrupted run
    left is taken away."""
    digest = _digest(place)
    if digest is None and place.names():
        raise StoreError(
            f"{place} is not empty and holds no runs of this lab; name another folder with --out"
        )
    if place.path is not None:
        discard_abandoned(place.path)
    there = place.stamps(RECORD).keys()
    if there and digest != own["digest"]:
        raise StoreError(f"{place} {_whose(_lab(place) or {}, own)}. Choose another folder with --out")
    return set(there)


def _name(place: Place, own: Mapping[str, Any]) -> None:
    """Writes the lab of the folder into it, unless this is already there."""
    if _digest(place) == own["digest"]:
        return
    try:
        (place / LAB).write_bytes(f"{json.dumps(own, indent=1, ensure_ascii=False)}\n".encode())
    except PermissionError as error:
        raise StoreError(f"{place} cannot be written: {error.strerror}") from error


def _unname(place: Place, *, made: bool) -> None:
    with suppress(OSError, StoreError):  # it may not be ours to write, or hold what somebody put there
        (place / LAB).remove()
        if made and not place.names():
            place.remove()
