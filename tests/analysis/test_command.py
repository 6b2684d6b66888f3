"""`bentpipe compare` as a user meets it."""

import json
from pathlib import Path

import pytest
from made_up import run

from invocation import Said, called


def folder(place: Path, **goodput: float) -> Path:
    """A sweep of three seeds, its goodput by variant."""
    for variant, figure in goodput.items():
        for seed in (1, 2, 3):
            name = f"{variant}-{seed}"
            (place / name).mkdir(parents=True)
            record = run(figure + seed / 10, variant=variant, seed=seed, lab="island", engine="sim", title="")
            (place / name / "run.json").write_text(json.dumps(record))
    return place


def said(*arguments: str | Path) -> Said:
    return called(["compare", *map(str, arguments)], Path.cwd())


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", before=10.0, after=20.0)


def test_every_object_has_a_verdict_in_words_and_two_calls_print_the_same(sweep: Path) -> None:
    first, second = (said(sweep, "--baseline", "before", "--json") for _ in range(2))
    assert (first.status, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    objects = [json.loads(line) for line in first.stdout.splitlines()]
    assert objects[0]["thing"] == "after"
    assert objects[0]["words"].startswith("2 times as fast, 1.9")


def test_what_is_required_decides_the_status(sweep: Path) -> None:
    figure = "workload.download.goodput_mbit_s"
    met = said(sweep, "--baseline", "before", "--require", f"{figure} >= 1.5 * baseline")
    assert (met.status, met.stderr) == (0, "")
    broken = said(sweep, "--baseline", "before", "--require", f"{figure} >= 3 * baseline", "--json")
    assert broken.status == 1
    assert broken.stderr == "bentpipe: 1 of 1 requirement check failed\n"
    assert json.loads(broken.stdout.splitlines()[-1])["met"] is False


def test_a_single_variant_is_held_against_plain_numbers(tmp_path: Path) -> None:
    alone = folder(tmp_path / "alone", only=10.0)
    assert said(alone, "--require", "workload.*.goodput_mbit_s >= 10").status == 0
    assert said(alone, "--require", "workload.*.goodput_mbit_s >= 11").status == 1
    refused = said(alone, "--require", "workload.*.goodput_mbit_s >= baseline")
    assert refused.status == 2
    assert len(refused.stderr.splitlines()) == 1
