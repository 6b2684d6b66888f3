"""A small sweep killed like the large one of `make check-interrupted`, by the same means."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest
from sweeping import LAB

import bentpipe

sys.path.insert(0, str(Path(__file__).parents[2] / "benches" / "interrupted"))
from killing import Sweep, difference, killed, wait_for


def killed_twice(folder: Path) -> Sweep:
    """A sweep with runs missing. On a busy machine a kill can come too late; then another sweep is killed."""
    rng = random.Random(1)
    within_s = 0.02  # the whole sweep takes some 0.1 s
    for attempt in range(20):
        sweep = Sweep(folder / "small.toml", 10, folder / f"out-{attempt}")
        first = killed(sweep, 5, rng, "--jobs", "2", group=True, within_s=within_s)
        if first > 34:
            continue
        second = killed(sweep, first + 5, rng, "--jobs", "2", group=False, within_s=within_s)
        assert 5 <= first < second
        if second < 40:
            return sweep
    raise AssertionError("twenty sweeps ended before they were killed")


@pytest.mark.long("kills sweeps until one has runs missing twice")
def test_a_sweep_killed_with_and_without_its_workers_ends_with_the_rows_of_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "small.toml").write_text(LAB)
    sweep = killed_twice(tmp_path)
    sweep.ended()
    assert sweep.whole == 40
    undisturbed = tmp_path / "undisturbed"
    bentpipe.Lab.load(sweep.lab, repeat=sweep.repeat).run(engine="sim", out=undisturbed)
    assert difference(sweep.out, undisturbed) == []
    (sweep.out / "001_as-is_10-ms_0_seed-1").rename(tmp_path / "taken")
    assert difference(sweep.out, undisturbed) == ["001_as-is_10-ms_0_seed-1 is in one only"]


class EndsBetweenTwoLooks:
    """A sweep and its process: whoever asks for the process finds that it has ended, with its last run."""

    whole = 3

    def poll(self) -> int:
        self.whole = 4
        return 0


def test_a_sweep_that_ends_while_it_is_looked_at_has_all_its_runs() -> None:
    sweep: Any = EndsBetweenTwoLooks()
    wait_for(sweep, 4, sweep)
    with pytest.raises(RuntimeError, match="over before it could be killed"):
        wait_for(sweep, 5, sweep)
