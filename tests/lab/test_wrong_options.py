"""Wrong options of the command line: told as the user wrote them."""

from __future__ import annotations

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab


@pytest.mark.parametrize(
    ("option", "key", "found", "remedy"),
    [
        ("path.rrt=5", "path.rrt", "the unknown key", 'did you mean "path.rtt"?'),
        ("path.rtt", "", '"path.rtt"', '--set path.rtt="30 ms"'),
        ("=5", "", '"=5"', "a key and a value"),
        ("path.rtt=5", "path.rtt", "5, a number without a unit", '"550 ms"'),
        ("path.down.loss=2", "path.down.loss", "2, which is out of range", "from 0 to 1"),
        ("path.rtt.x=5", "path.rtt.x", "the key", '"path.rtt" itself'),
        ("repeat=0", "repeat", "0, which is out of range", "at least 1"),
        (
            "workload.ping.count=5",
            "workload.ping.count",
            'no workload "ping"',
            "workloads of this lab: download",
        ),
        ("workload.download.name=x", "workload.download.name", "the key", "any key but the name"),
        ("workload.download=x", "workload.download", "the key", '"workload.download.start"'),
        ("sweep.path.rtt=[]", "sweep.path.rtt", "the key", "it is pinned"),
        ("variant=x", "variant", "the key", "a key of the lab itself"),
    ],
)
def test_a_wrong_option_is_told_as_the_user_wrote_it(
    option: str, key: str, found: str, remedy: str, lab_file: WriteLab
) -> None:
    with pytest.raises(LabError) as raised:
        Lab.load(lab_file(WORK), set=[option])
    error = raised.value
    assert error.where == f"--set {option}"
    assert (error.key, found in error.found, remedy in error.remedy) == (key, True, True), str(error)


def test_a_wrong_seed_or_repeat_names_its_own_option(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match="--seed -1: seed: found -1"):
        Lab.load(lab_file(WORK), seed=-1)
    with pytest.raises(LabError, match="--repeat 0: repeat: found 0"):
        Lab.load(lab_file(WORK), repeat=0)
