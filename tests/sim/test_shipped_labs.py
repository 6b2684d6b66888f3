"""Every lab that comes with bentpipe, and every variant of it, in a short run of `sim`."""

import pytest

import bentpipe
from bentpipe.lab.point import Point
from bentpipe.lab.shipped import shipped_labs

SHORT = ["repeat=1", 'duration="40 s"']


def _first_of_each_variant(name: str) -> list[Point]:
    firsts: dict[str, Point] = {}
    for point in bentpipe.Lab.load(name, set=SHORT).points():
        firsts.setdefault(point.variant, point)
    return list(firsts.values())


@pytest.mark.parametrize("name", shipped_labs())
def test_every_variant_of_a_shipped_lab_runs_and_carries_data(name: str) -> None:
    lab = bentpipe.Lab.load(name, set=SHORT)
    for point in _first_of_each_variant(name):
        run = bentpipe.simulate(lab, point.variant, point=point.point, sample_s=10)
        assert run.record["status"] == "done"
        work = [each.name for each in point.spec.workloads]
        assert list(run.record["workloads"]) == work
        assert sum(pipe["throughput_mbit_s"] for pipe in run.record["pipes"].values()) > 0, point.variant
