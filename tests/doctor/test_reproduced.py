"""What was seen beside what the lab of its path gives, and what a change does to others."""

from dataclasses import replace
from typing import Any

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.cures import Cure, cures
from bentpipe.doctor.diagnosis import Diagnosis, diagnose_all
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.path_seen import paths_seen
from bentpipe.doctor.reproduced import reproduced
from bentpipe.doctor.simulating import shortened
from bentpipe.doctor.words import cure_words, reproduced_words

BULK = {"name": "download", "kind": "bulk", "direction": "down"}
MESSAGES = {"kind": "interactive", "time": "6 s", "interval": "20 ms", "size": "4000 B"}
BESIDE = {"name": "beside", "kind": "bulk", "direction": "down"}


def diagnosed(end: SeenFrom = "sender", **lab: Any) -> list[Diagnosis]:
    run = bentpipe.simulate(bentpipe.Lab(**{"duration": "15 s", "workload": [BULK], **lab}))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    return diagnose_all(from_run.transfers(run.record, tables, end))


def best(found: list[Diagnosis]) -> Cure:
    return cures(found[0], paths_seen(found)[0])[0]


@pytest.mark.parametrize(
    ("kind", "lab"),
    [
        ("receiver-window", {"client": {"tcp_rmem": [4096, 131072, 300_000]}}),
        ("send-buffer", {"server": {"tcp_wmem": [4096, 16384, 200_000]}}),
        ("capacity", {}),
    ],
)
def test_the_lab_of_the_path_gives_what_was_seen(kind: str, lab: dict[str, Any]) -> None:
    found = diagnosed(path={"rtt": "80 ms", "rate": "20 Mbit/s", "queue": "400 kB"}, **lab)
    again = reproduced(found[0], paths_seen(found)[0])
    assert again is not None
    assert again.kind == kind == found[0].findings[0].kind
    assert again.goodput_bit_s == pytest.approx(found[0].evidence.goodput_bit_s, rel=0.15)
    assert again.low_bit_s <= again.goodput_bit_s <= again.high_bit_s
    assert reproduced_words(found[0], again).endswith(f", limited by {kind}.")


def test_a_lab_that_gives_much_more_or_less_is_a_hint_at_most() -> None:
    found = diagnosed(path={"rtt": "80 ms", "rate": "20 Mbit/s"})
    again = reproduced(found[0], paths_seen(found)[0])
    assert again is not None
    hint = "So this lab lacks what limited"
    assert hint not in reproduced_words(found[0], again)
    for times in (0.4, 2.5):
        other = replace(again, goodput_bit_s=times * again.goodput_bit_s)
        assert hint in reproduced_words(found[0], other)


def test_losses_of_unknown_share_are_not_simulated() -> None:
    path = {"rtt": "100 ms", "rate": "50 Mbit/s", "down": {"loss": 0.002}}
    found = diagnosed("receiver", path=path, duration="30 s")
    assert found[0].findings[0].kind == "random-loss"
    seen = paths_seen(found)[0]
    assert seen.loss is None
    assert reproduced(found[0], seen) is None


def test_chance_makes_the_interval_wide() -> None:
    found = diagnosed(path={"rtt": "80 ms", "rate": "20 Mbit/s", "down": {"loss": 0.003}})
    again = reproduced(found[0], paths_seen(found)[0])
    assert again is not None
    assert again.high_bit_s > 1.1 * again.low_bit_s


def test_a_larger_window_makes_everybody_wait_in_a_long_queue() -> None:
    small = {"tcp_rmem": [4096, 131072, 300_000]}
    found = diagnosed(path={"rtt": "80 ms", "rate": "20 Mbit/s", "queue": "2 MB"}, client=small)
    cure = best(found)
    assert cure.on_others.waits_s is not None
    before_s, after_s = cure.on_others.waits_s
    assert before_s < 0.005
    assert after_s > 0.03
    assert "Everybody's packets then wait" in cure_words(cure)
    assert cure.on_others.times is None


def test_what_a_change_does_to_the_transfers_beside_it_is_said_where_it_is_sure() -> None:
    path = {"rtt": "60 ms", "rate": "20 Mbit/s", "queue": "20 kB"}
    found = diagnosed(path=path, workload=[BULK, BESIDE])
    of = next(each for each in found if each.neighbours)
    cure = cures(of, paths_seen(found)[found.index(of)])[0]
    others = cure.on_others
    assert others.times is not None and others.low is not None and others.high is not None
    assert others.low <= others.times <= others.high
    said = "The transfers beside it then get"
    less = replace(cure, on_others=replace(others, times=0.7, low=0.6, high=0.8))
    perhaps = replace(cure, on_others=replace(others, times=0.9, low=0.6, high=1.2))
    assert said in cure_words(less)
    assert said not in cure_words(perhaps)


@pytest.mark.parametrize("work", [{**BULK, "max_pacing_rate": "5 Mbit/s"}, MESSAGES])
def test_what_a_program_limits_is_not_simulated(work: dict[str, Any]) -> None:
    found = diagnosed(path={"rtt": "60 ms", "rate": "50 Mbit/s"}, workload=[work])
    assert found[0].findings[0].kind in {"pacing", "sender-application"}
    assert reproduced(found[0], paths_seen(found)[0]) is None


def test_the_simulated_transfer_is_judged_with_those_beside_it() -> None:
    path = {"rtt": "60 ms", "rate": "20 Mbit/s", "queue": "20 kB"}
    found = diagnosed(path=path, workload=[BULK, BESIDE])
    of = next(each for each in found if each.neighbours)
    again = reproduced(of, paths_seen(found)[found.index(of)])
    assert again is not None
    assert again.kind == of.findings[0].kind == "capacity"


@pytest.mark.parametrize(
    ("size_bytes", "rate_bit_s", "kept_bytes"),
    [(3_000_000, 1e7, 3_000_000), (5_000_000_000, 1e7, 500_000_000), (5_000_000_000, 1e9, 1_250_000_000)],
)
def test_a_large_file_is_simulated_in_part(size_bytes: int, rate_bit_s: float, kept_bytes: int) -> None:
    work = {"name": "transfer", "kind": "http", "direction": "down", "size": f"{size_bytes} B"}
    beside = {"name": "neighbours", "kind": "bulk"}
    lab = {"until": "done", "duration": "60.0 s", "workload": [work, beside]}
    short = shortened(lab, rate_bit_s, 0.1)
    assert short == {**lab, "workload": [{**work, "size": f"{kept_bytes} B"}, beside]}
