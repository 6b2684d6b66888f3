"""A call in the simulator, from the lab file to its figures."""

import pytest

import bentpipe
from bentpipe.runs.figures.e_model import mean_opinion_score, rating

LAB = """
duration = "20 s"
[path]
rtt = "550 ms"
rate = "1 Mbit/s"
queue = "100 kB"
[[workload]]
name = "call"
kind = "call"
"""
BULK = '[[workload]]\nname = "download"\nkind = "bulk"\n'


def figures(text: str) -> dict[str, dict[str, float]]:
    (record,) = bentpipe.Lab.loads(text).run(engine="sim").records
    found: dict[str, dict[str, float]] = record["workloads"]["call"]
    return found


def test_on_an_idle_path_the_score_is_that_of_the_delay_alone() -> None:
    call = figures(LAB)
    for way in ("down", "up"):
        # 200 bytes at 1 Mbit/s.
        assert call[way]["delay_ms"] == pytest.approx(275 + 1.6)
        assert call[way]["jitter_ms"] == pytest.approx(0)
        assert call[way]["loss"] == call[way]["late_loss"] == 0
    assert call["mos"] == pytest.approx(mean_opinion_score(rating(275 + 1.6 + 60 + 20, 0)))


def test_a_download_beside_it_impairs_its_own_direction() -> None:
    idle, beside = figures(LAB), figures(LAB + BULK)
    assert beside["down"]["mos"] < idle["down"]["mos"]
    assert beside["down"]["late_loss"] + beside["down"]["loss"] > 0
    # The ACKs that go up delay a packet a little.
    assert beside["up"]["mos"] == pytest.approx(idle["up"]["mos"], abs=0.05)
    assert beside["mos"] == beside["down"]["mos"]


@pytest.mark.parametrize("table", ["[split]\n", "[tunnel]\n", '[tunnel]\ncarries = ["download"]\n'])
def test_a_split_and_a_tunnel_let_it_pass(table: str) -> None:
    call = figures(LAB + BULK + 'start = "19 s"\n' + table)
    assert call["down"]["sent"] > 900
    assert call["down"]["loss"] < 0.05
    assert call["up"]["delay_ms"] >= 275
