"""Gateways of others in a lab: what they cannot be given is refused, by its key."""

import pytest

from bentpipe import EngineError, Lab, LabError

LAB = """
duration = "1 s"
[path]
rtt = "20 ms"
rate = "16 Mbit/s"
[gateway]
kind = "tuic"
{more}
[[workload]]
name = "download"
kind = "bulk"
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("redundancy = 0.1", "gateway.redundancy"),
        ('rate = "fair"', 'gateway.rate: found "fair"; expected a rate'),
        ('up_rate = { cap = "1 Mbit/s" }', "gateway.up_rate: found a table with cap; expected a rate"),
    ],
)
def test_what_the_programs_of_others_cannot_be_given_is_refused(more: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        Lab.loads(LAB.format(more=more))


def test_sim_has_only_bentpipes_own() -> None:
    with pytest.raises(EngineError, match=r'gateway.kind: found "tuic", a real program'):
        Lab.loads(LAB.format(more="")).run(engine="sim")
