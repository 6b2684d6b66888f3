"""What the page's part "What if" takes: the simulator for a browser, and each run as a request to it.

The simulator and the scripts beside it are built (`make wasm`) and are no part of the source: pages that a
checkout writes without them say in this part what is missing.
"""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from bentpipe.analysis.cells import is_imported
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim_spec import refuse, sim_spec
from bentpipe.errors import EngineError
from bentpipe.lab.point import Point
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.figures.flow_times import initial_window_bytes
from bentpipe.runs.figures.queue_behaviour import queue_questions
from bentpipe.words.direction import Direction

BUILT = Path(__file__).parent / "what_if"
MODULE, SCRIPT, WORKER = "bentpipe.wasm", "what_if.js", "worker.js"
"""In `BUILT`: the simulator, what makes the part of a page, and what runs the simulator beside it."""
NOT_BUILT = (
    "The simulator is missing on this page: the checkout of bentpipe that wrote it had not built it. After"
    " `make wasm` there, `bentpipe report` writes a page that has it."
)


def is_built() -> bool:
    return all((BUILT / name).is_file() for name in (MODULE, SCRIPT, WORKER))


def asks(records: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the runs can be simulated, so that a page needs the simulator."""
    return is_built() and any("request" in (of_run(record) or {}) for record in records)


def of_run(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The run as a request (crates/sim/src/record/columns.rs) and what it measured, or `why` there is none.

    None for what was imported: nothing of its path is known that could be simulated.
    """
    if is_imported(record) or not record.get("spec"):
        return None
    try:
        asked = request(record)
    except EngineError as error:
        return {"why": f"The simulator cannot run this lab. {error}"}
    except ValidationError:
        return {"why": "Another version of bentpipe wrote this run, and this one cannot read its lab."}
    if not is_built():
        return {"why": NOT_BUILT}
    direction = _direction(record)
    return {
        "request": asked,
        "direction": direction,
        "engine": record.get("engine", ""),
        "measured": {
            "ended_s": record.get("duration_s"),
            "pipe": record.get("pipes", {}).get(direction, {}),
            "queue": record.get("queue", {}).get(direction, {}),
            "retransmits": _retransmits(record),
        },
    }


def request(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine `sim` would be asked for the same lab and seed.

    Raises:
        EngineError: where `sim` cannot run the lab.
        ValidationError: where the record's `spec` is not one of this version.
    """
    spec = _spec(record["spec"])
    refuse(spec)
    point = Point(
        lab=record.get("lab", ""),
        title=record.get("title", ""),
        published=record.get("published"),
        variant=record.get("variant", ""),
        point=dict(record.get("point", {})),
        seed=record.get("seed", 1),
        repeat_index=record.get("repeat_index", 0),
        spec=spec,
    )
    return {
        "spec": sim_spec(point, EngineOptions()),
        "names": [work.name for work in spec.workloads],
        "question": {
            **queue_questions(spec.model_dump(mode="json")),
            "small_bytes": initial_window_bytes(spec),
        },
    }


def _spec(found: Mapping[str, Any]) -> RunSpec:
    """A record that was read has no key whose value is null (record_shape.py)."""
    try:
        return RunSpec.model_validate(found)
    except ValidationError as error:
        missing = [each["loc"] for each in error.errors() if each["type"] == "missing"]
        whole = copy.deepcopy(dict(found))
        for *parents, key in missing:
            holder: Any = whole
            for parent in parents:
                # A kind of workload is a step for pydantic, and none in the record.
                if isinstance(holder, list) or parent in holder:
                    holder = cast("Any", holder)[parent]
            holder[key] = None
        return RunSpec.model_validate(whole)


def _direction(record: Mapping[str, Any]) -> str:
    """In which more payload went."""
    pipes: Mapping[str, Mapping[str, Any]] = record.get("pipes", {})
    return max(Direction, key=lambda each: pipes.get(each, {}).get("goodput_mbit_s") or 0.0).value


def _retransmits(record: Mapping[str, Any]) -> int | None:
    """Of all workloads; None where one does not say."""
    counts = [entry.get("retransmits", 0) for entry in record.get("workloads", {}).values()]
    return None if None in counts else sum(counts)
