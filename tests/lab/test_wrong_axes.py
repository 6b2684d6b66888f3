"""Wrong named axes, and variants and options that speak of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "a named axis without a value": (
        WORK + "[sweep.orbit]\n",
        ":5",
        "sweep.orbit",
        "nothing in it",
        "expected a value, such as GEO",
    ),
    "an unknown key in a named axis": (
        WORK + '[sweep.orbit]\nGEO = { "path.rtt" = "1 ms" }\nLEO = { "path.rrt" = "1 ms" }\n',
        ":7",
        "path.rrt",
        "the unknown key",
        'did you mean "path.rtt"?',
    ),
    "a wrong value in a named axis": (
        WORK + '[sweep.orbit.GEO]\n"path.rate" = "1 Mbit/s"\n"path.rtt" = 5\n',
        ":7",
        "path.rtt",
        "5, a number without a unit",
        '"550 ms"',
    ),
    "a named axis whose values are no changes": (
        WORK + '[sweep]\npth.rtt = ["1 ms"]\n',
        ":6",
        "sweep.pth.rtt",
        '["1 ms"]',
        "a set of changes",
    ),
    "a named axis with a name of its own kind": (
        WORK + '[sweep."the orbit"]\nGEO = {}\n',
        ":5",
        "sweep.the orbit",
        'an axis called "the orbit"',
        "64 letters",
    ),
    "a table for a list": (
        WORK + '[sweep]\n"path.rtt" = { GEO = "1 ms" }\n',
        ":6",
        "path.rtt",
        "a table with GEO",
        "a list of values",
    ),
    "axes that change the same": (
        WORK + '[sweep]\n"path.rate.burst" = ["9 kB"]\norbit.GEO = { "path.rate" = "1 Mbit/s" }\n',
        ":7",
        "path.rate",
        '"path.rate" beside "path.rate.burst", which overlap',
        "one of them",
    ),
    "repeats in a named axis": (
        WORK + "[sweep.effort]\nmuch = { repeat = 9 }\n",
        ":6",
        "repeat",
        "repeat among changes",
        "not points",
    ),
    "a variant over what a named axis changes": (
        WORK
        + '[sweep.orbit]\nGEO = { "path.rtt" = "1 ms" }\nnone = {}\n'
        + '[[variant]]\nname = "a"\nset = { "path.rtt" = "2 ms" }\n',
        ":10",
        "path.rtt",
        "and the axis orbit change",
        "only = { orbit = [..] }",
    ),
    "a variant crossed with an axis that is not there": (
        WORK
        + "[sweep.orbit]\nGEO = {}\n"
        + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\nonly = { orbits = ["GEO"] }\n',
        ":10",
        "variant.0.only.orbits",
        "which is not swept",
        'did you mean "orbit"?',
    ),
    "a variant crossed with a value that is not there": (
        WORK
        + "[sweep.orbit]\nGEO = {}\n"
        + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\nonly = { orbit = ["GOE"] }\n',
        ":10",
        "variant.0.only.orbit",
        '"GOE", which is not a value of orbit',
        'did you mean "GEO"?',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_axis_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)


AXIS = (
    WORK
    + """[sweep.orbit]
GEO = { "path.rtt" = "550 ms" }
LEO = { "path.rtt" = "40 ms" }
[[variant]]
name = "many"
set = { "workload.download.streams" = 4 }
only = { orbit = ["GEO"] }
"""
)


@pytest.mark.parametrize(
    ("option", "key", "found", "remedy"),
    [
        ("orbit=GOE", "orbit", '"GOE", which is not a value of orbit', 'did you mean "GEO"?'),
        ("orbit=LEO", "", "no point that is left", 'many is crossed with orbit = "GEO" only'),
        ("path=5", "path", "a key above a swept one", '"path.rtt"'),
        (
            "workload.download.enabled=false",
            "workload.download.enabled",
            "false",
            "at least one workload",
        ),
    ],
)
def test_a_wrong_option_on_a_named_axis_is_told_as_the_user_wrote_it(
    option: str, key: str, found: str, remedy: str, lab_file: WriteLab
) -> None:
    with pytest.raises(LabError) as raised:
        Lab.load(lab_file(AXIS), set=[option], variants=["many"])
    error = raised.value
    assert error.where == f"--set {option}"
    assert (error.key, found in error.found, remedy in error.remedy) == (key, True, True), str(error)
