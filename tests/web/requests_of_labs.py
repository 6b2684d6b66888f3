"""What the Python engine asks the simulator, in the form in which the playground asks it."""

from typing import Any

from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim_spec import sim_spec
from bentpipe.lab.point import Point
from bentpipe.runs.figures.flow_times import initial_window_bytes
from bentpipe.runs.figures.queue_behaviour import queue_questions


def request_of(point: Point) -> dict[str, Any]:
    document = point.spec.model_dump(mode="json")
    return {
        "spec": sim_spec(point, EngineOptions()),
        "names": [work.name for work in point.spec.workloads],
        "question": {**queue_questions(document), "small_bytes": initial_window_bytes(point.spec)},
    }
