"""Wrong sweeps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "a sweep of nothing": (
        WORK + '[sweep]\n"path.rtt" = []\n',
        ":6",
        "path.rtt",
        "an empty list",
        "at least one value",
    ),
    "an empty sweep": (WORK + "[sweep]\n", ":5", "sweep", "nothing in it", '"path.rtt" = ["11 ms", "30 ms"]'),
    "a sweep of one value": (
        WORK + '[sweep]\n"path.rtt" = "1 ms"\n',
        ":6",
        "path.rtt",
        '"1 ms"',
        "a list of values",
    ),
    "a sweep over a key that is not there": (
        WORK + '[sweep]\n"path.rrt" = ["1 ms"]\n',
        ":6",
        "path.rrt",
        "the unknown key",
        'did you mean "path.rtt"?',
    ),
    "a sweep over a workload that is not there": (
        WORK + '[sweep]\n"workload.downlaod.size" = ["1 MB"]\n',
        ":6",
        "workload.downlaod.size",
        'no workload "downlaod"',
        'did you mean "download"?',
    ),
    "a sweep over a key of another kind": (
        '[[workload]]\nkind = "ping"\n[sweep]\n"workload.ping.streams" = [1]\n',
        ":4",
        "workload.ping.streams",
        "the unknown key",
        "keys in workload.ping",
    ),
    "a sweep without quotes": (
        WORK + '[sweep]\npath.rtt = ["1 ms"]\n',
        ":6",
        "sweep.path",
        "a table path",
        "in quotes",
    ),
    "a swept value twice": (
        WORK + '[sweep]\n"path.rtt" = ["1 ms",\n"1 ms"]\n',
        ":7",
        "path.rtt",
        '"1 ms" twice',
        "once",
    ),
    "a swept value twice in two units": (
        WORK + '[sweep]\n"path.rtt" = ["550 ms",\n"0.55 s"]\n',
        ":7",
        "path.rtt",
        '"550 ms" and "0.55 s"',
        "once",
    ),
    "a swept value that is wrong": (
        WORK + '[sweep]\n"path.rtt" = [\n  "1 ms",\n  5,\n]\n',
        ":8",
        "path.rtt",
        "5, a number without a unit",
        '"550 ms"',
    ),
    "swept keys that overlap": (
        WORK + '[sweep]\n"path.rate" = ["1 Mbit/s"]\n"path.rate.burst" = ["9 kB"]\n',
        ":7",
        "path.rate.burst",
        "overlap",
        "one of them",
    ),
    "a sweep of repeats": (
        WORK + '[sweep]\n"repeat" = [1, 2]\n',
        ":6",
        "repeat",
        "repeat in a sweep",
        "not points",
    ),
    "a grid beyond measure": (
        WORK
        + "[sweep]\n"
        + "".join(f'"{key}" = {list(range(1, 101))}\n' for key in ("seed", "host.initcwnd", "host.initrwnd")),
        ":5",
        "sweep",
        "1000000 points",
        "at most 100000",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sweep_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)
