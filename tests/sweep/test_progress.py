"""What is said of a sweep that goes on: little of each run where there are very many."""

from typing import Any

import pytest

from bentpipe.sweep.progress import Lines
from bentpipe.sweep.progress_state import outcome


def record(status: str = "done", *, reliable: bool = True, why: str = "") -> dict[str, Any]:
    return {
        "status": status,
        "reliable": reliable,
        "why": [why] if why else [],
        "workloads": {"download": {"goodput_mbit_s": 12.0}},
        "wall_s": 0.2,
        "folder": "out/run",
    }


def swept(
    runs: int, capsys: pytest.CaptureFixture[str], *records: dict[str, Any], done: int = 0
) -> list[str]:
    lines = Lines()
    lines.sweep_begins(runs, done, 60.0, 2)
    for number, each in enumerate(records):
        lines.run_begins(f"run {number}", 1.0)
        lines.run_ends(f"run {number}", each)
    return capsys.readouterr().err.splitlines()


def test_each_of_few_runs_has_a_line_with_its_number_and_what_came_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = swept(3, capsys, record(), record(reliable=False, why="late"), done=1)
    assert said == [
        "3 runs, 1 of them there already, about 30 s",
        "[2/3] run 0: done  download 12 Mbit/s  0 s",
        "[3/3] run 1: unreliable  download 12 Mbit/s  (late)  0 s",
    ]


def test_reasons_follow_each_other_with_one_mark_between_them() -> None:
    found = {"status": "done", "reliable": False, "workloads": {}, "why": ["It was late.", "It lost one."]}
    assert outcome(found) == "unreliable  (It was late; It lost one)"


def test_of_very_many_runs_only_the_first_that_fail_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = swept(1000, capsys, *[record()] * 50, *[record("failed", reliable=False, why="a fault")] * 30)
    failed = [line for line in said if "(a fault)" in line]
    assert len(failed) == 20
    assert failed[0].startswith("[51/1000] run 50: failed")
    assert len(said) < 25
