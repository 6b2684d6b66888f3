"""Imports tests of other programs into a folder as runs: all of them or none.

1. The folder is one of imports alone, and says so (lab.json, engine `imported`). It may grow; a lab's own
   sweep is never mixed with it.
2. A test that is there is not taken again, also not from the other end's file of it.
3. Such runs have no seed. Theirs counts the repeats of one variant and point, so that they can be told apart
   and paired, in the order in which they were taken.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.errors import StoreError
from bentpipe.interchange.existing_runs import ExistingRuns
from bentpipe.interchange.foreign import printable
from bentpipe.interchange.imported import Imported, Row
from bentpipe.interchange.reading import read
from bentpipe.lab.models.lab import AS_IS
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.index import refresh
from bentpipe.runs.layout import LAB, RECORD
from bentpipe.runs.place import Place
from bentpipe.runs.record import Identity, Record, new_record
from bentpipe.runs.schema import TABLES
from bentpipe.runs.store import Results
from bentpipe.sweep.folder import claimed

ENGINE = "imported"
_TITLE = "Measured elsewhere, and imported"
_LONGEST_WORD = 40


@dataclass(frozen=True)
class Called:
    """What the user says of the tests; None: as the files say."""

    lab: str | None = None
    variant: str | None = None
    point: Mapping[str, Any] | None = None


@dataclass
class Taken:
    """What came of it."""

    runs: list[tuple[Path, str]] = field(default_factory=list)
    """File, and the run that its test is now."""
    known: list[tuple[Path, str]] = field(default_factory=list)
    """File, and the run that its test was already."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know before comparing."""


def take(files: Sequence[Path], out: Path, called: Called) -> Taken:
    """Take every test of the files into `out`. Raises StoreError, and nothing is written then."""
    tests = _tests(files)
    first = next(tests, None)
    if first is None:
        raise StoreError("import: found no file; expected one or more")
    place = Place.of(out)
    _refuse_a_lab_s(place)
    taken = Taken()
    with claimed(place, _named(first[1], called.lab)) as claim:
        lab = _lab(place, called.lab)
        existing = ExistingRuns(Results.open(place).records if claim.there else [])
        staged: list[tuple[RunFolder, Record]] = []
        try:
            for file, test in chain([first], tests):
                digest = hashlib.sha256(test.test.encode()).hexdigest()
                if digest in existing.tests:
                    taken.known.append((file, existing.tests[digest]))
                    continue
                record = _record(test, lab, existing, called)
                record["source"] |= {"file": file.name, "digest": digest}
                name = _run_name(record, test, file, existing.last_number + 1)
                folder = RunFolder.create(out, name)
                staged.append((folder, record))
                _write_tables(folder, test)
                existing.add(record | {"run": name})
                taken.runs.append((file, name))
                if test.not_taken:
                    what = printable(", ".join(dict.fromkeys(each.split("::")[0] for each in test.not_taken)))
                    taken.notes.append(f"{file}: no place for {what}; kept whole in the table `tools`")
            while staged:
                folder, record = staged[0]
                folder.finish({**record, "folder": folder.called})
                staged.pop(0)
            refresh(place)
        finally:
            for folder, _ in staged:
                folder.abandon()
    taken.notes += existing.mixtures({run for _, run in taken.runs})
    return taken


def _tests(files: Sequence[Path]) -> Iterator[tuple[Path, Imported]]:
    for file in files:
        for test in read(file):
            yield file, test


def _refuse_a_lab_s(place: Place) -> None:
    try:
        engine = json.loads((place / LAB).read_bytes())["engine"]
    except (StoreError, ValueError, KeyError, TypeError):
        return  # whatever else it holds is refused when it is claimed
    if engine != ENGINE and place.stamps(RECORD):
        raise StoreError(
            f"{place} holds the runs of a lab (engine {engine}); imported runs want a folder of their own: "
            "name another with --out, and set both side by side with `bentpipe compare`"
        )


def _named(test: Imported, name: str | None) -> dict[str, Any]:
    """What lab.json says, by the first test that comes into the folder."""
    of_ours = test.exported
    return {
        "lab": name or (of_ours.lab if of_ours else ENGINE),
        "title": name or (of_ours.title if of_ours else None) or _TITLE,
        "published": None,
        "engine": ENGINE,
        "document": None,
        "options": [],
        "digest": ENGINE,
        "cells": [],
        "left_out": {},
    }


def _lab(place: Place, name: str | None) -> dict[str, Any]:
    """lab.json as it stands, which an earlier import may have written."""
    found: dict[str, Any] = json.loads((place / LAB).read_bytes())
    if name is not None and name != found["lab"]:
        raise StoreError(
            f'--name: found "{name}"; {place} is called "{found["lab"]}" already: leave --name away'
        )
    return found


def _record(test: Imported, lab: Mapping[str, Any], existing: ExistingRuns, called: Called) -> Record:
    ours = test.exported
    variant = called.variant or (ours.variant if ours else printable(test.title or "")) or AS_IS
    point = dict(called.point or (ours.point if ours else {}))
    seeds = existing.seeds(variant, point)
    of: Identity = {
        "lab": lab["lab"],
        "title": lab["title"],
        "published": None,
        "seed": ours.seed if ours and ours.seed not in seeds else 1 + max(seeds, default=0),
        "repeat_index": len(seeds),
        "variant": variant,
        "point": point,
    }
    return new_record(
        of,
        engine=ENGINE,
        failed=test.failed,
        reliable=not test.why,
        why=test.why,
        folder="",
        workloads=test.entries,
        pipes=test.pipes,
        queue=test.queue,
        engine_error=None,
        spec={"path": test.path, "workloads": test.asked},
        machine={"kernel": test.kernel} if test.kernel else {},
        versions={"bentpipe": _core.__version__, test.tool: test.version},
        sysctl={"client": test.sysctl} if test.sysctl else {},
        started=test.started.isoformat(timespec="seconds") if test.started else None,
        wall_s=None,
        more={
            "source": {
                "tool": test.tool,
                "version": test.version,
                "title": test.title,
                "host": test.host,
                "local_host": test.local_host,
            }
        },
    )


def _run_name(record: Mapping[str, Any], test: Imported, file: Path, number: int) -> str:
    last = f"seed {record['seed']}" if test.exported else file.name.split(".")[0]
    words = (record["variant"], *record["point"].values(), last)
    return "_".join([f"{number:03d}", *filter(None, map(_word, words))])


def _word(value: Any) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", str(value)).strip("-.")[:_LONGEST_WORD]


def _write_tables(folder: RunFolder, test: Imported) -> None:
    tools: list[Row] = [{"tool": test.tool, "role": "file", "output": test.text}]
    every = {"flows": test.flows, "pings": test.pings, "sockets": test.sockets, "tools": tools}
    for name, rows in every.items():
        schema = TABLES[name].schema
        columns = {column: [row.get(column) for row in rows] for column in schema}
        folder.write_table(name, pl.DataFrame(columns, schema=schema))
