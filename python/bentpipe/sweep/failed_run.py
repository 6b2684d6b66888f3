"""A run that came to nothing by a fault of the engine or the death of its process: a run like others, that
says in its record what happened and has empty tables."""

import datetime
import tempfile
from pathlib import Path

from bentpipe.engines import machine
from bentpipe.runs.carried import carry
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.place import Place
from bentpipe.runs.record import Record, identity, new_record
from bentpipe.sweep.executors.base import Task, Work


def keep_failed(task: Task, work: Work, why: str, trace: str) -> Record:
    """Keep it where the runs of `work` are kept, and return its record."""
    place = Place.of(work.destination)
    record = _record(task, work, why, trace)
    record["folder"] = str(place / task.name)
    if place.path is not None:
        RunFolder.create(place.path, task.name, replaces=work.replaces).finish(record)
        return record
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as scratch:
        carry(RunFolder.create(Path(scratch), task.name).finish(record), place / task.name)
    return record


def _record(task: Task, work: Work, why: str, trace: str) -> Record:
    point = task.point
    return new_record(
        identity(point),
        engine=work.engine,
        failed=True,
        reliable=False,
        why=[why],
        folder=None,
        workloads={each.name: {"kind": each.kind, "why": why} for each in point.spec.workloads},
        pipes={"down": {}, "up": {}},
        queue={},
        engine_error={},
        spec=point.spec.model_dump(mode="json"),
        machine=machine.facts(),
        versions=machine.versions(set()),
        sysctl={},
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        wall_s=0.0,
        more={"fault": trace},
    )
