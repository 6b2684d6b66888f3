"""Every lab that comes with bentpipe, and every variant of it, in a short run of `sim`."""

import pytest

import bentpipe
from bentpipe import engines
from bentpipe.lab.point import Point
from bentpipe.lab.shipped import shipped_labs

SHORT = ["repeat=1", 'duration="40 s"']
LESS = {"high-latency-lab": ['workload.fetch.size="10 MB"']}
"""It fetches 100 MB five times in each of its variants."""


def _shortest_of_each_variant(lab: bentpipe.Lab) -> list[Point]:
    """The point that the engine expects to simulate in the least time."""
    expected_s = engines.create("sim").length_s
    points = sorted(lab.points(), key=lambda point: expected_s(point.spec), reverse=True)
    return list({point.variant: point for point in points}.values())


@pytest.mark.parametrize("name", shipped_labs())
def test_every_variant_of_a_shipped_lab_runs_and_carries_data(name: str) -> None:
    lab = bentpipe.Lab.load(name, set=[*SHORT, *LESS.get(name, [])])
    for point in _shortest_of_each_variant(lab):
        if point.spec.gateway and point.spec.gateway.kind != "bentpipe":
            with pytest.raises(bentpipe.EngineError, match="a real program"):
                bentpipe.simulate(lab, point.variant, point=point.point)
            continue
        run = bentpipe.simulate(lab, point.variant, point=point.point, sample_s=10)
        assert run.record["status"] == "done"
        work = [each.name for each in point.spec.workloads]
        assert list(run.record["workloads"]) == work
        assert sum(pipe["throughput_mbit_s"] for pipe in run.record["pipes"].values()) > 0, point.variant
