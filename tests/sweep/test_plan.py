"""A sweep walks the grid of its lab once: what is known of a cell is not made again for every run."""

from bentpipe import Lab
from bentpipe.engines.sim import SimEngine
from bentpipe.lab.point import CellRuns, Point
from bentpipe.sweep.plan import planned

SWEPT = """
[[workload]]
name = "rtt"
kind = "ping"
[sweep]
"path.rtt" = ["20 ms", "550 ms"]
[[variant]]
name = "probing"
set = { "host.sysctl.net.ipv4.tcp_mtu_probing" = 1 }
"""


def test_the_runs_of_a_cell_are_made_when_they_are_asked_for_and_differ_in_seed_and_number() -> None:
    (cell, _) = Lab.loads(SWEPT, seed=7, repeat=3, variants=["as is"]).cells()
    assert isinstance(cell, CellRuns)
    assert [(point.seed, point.repeat_index) for point in cell] == [(7, 0), (8, 1), (9, 2)]
    assert [point.seed for point in cell[1:]] == [8, 9]
    assert cell[-1] == cell[2]
    assert len({id(point.spec) for point in cell}) == 1
    with_seeds = Lab.loads(SWEPT).with_seeds([5, 3]).cells()[0]
    assert [(point.seed, point.repeat_index) for point in with_seeds] == [(5, 0), (3, 1)]


def test_a_plan_has_the_cells_that_the_engine_can_run_and_names_each_run_once() -> None:
    plan = planned(Lab.loads(SWEPT, repeat=2), SimEngine())
    assert list(plan.left_out) == ["probing"]
    runs = list(plan.runs())
    assert [name for name, _ in runs] == [
        "001_as-is_20-ms_seed-1",
        "001_as-is_20-ms_seed-2",
        "002_as-is_550-ms_seed-1",
        "002_as-is_550-ms_seed-2",
    ]
    assert all(isinstance(point, Point) for _, point in runs)


def test_the_engine_checks_each_cell_of_a_lab_once_however_often_it_is_repeated() -> None:
    seen = []

    class Counting(SimEngine):
        def check(self, spec: object) -> None:
            seen.append(id(spec))

    planned(Lab.loads(SWEPT, repeat=50), Counting())
    assert len(seen) == len(set(seen)) == 4
