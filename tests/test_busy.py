"""A live test is repeated where its run was disturbed, and only there."""

import json
from pathlib import Path

import pytest

from busy import TIMES, repeated


class Claim:
    """A test of a run, which fails so many times."""

    def __init__(self, folder: Path, *, fails: int, reliable: bool = False, status: str = "done") -> None:
        self.folder = folder
        self.fails = fails
        self.record = {"status": status, "reliable": reliable, "why": ["late"]}
        self.times = 0
        self.said: list[str] = []

    def test(self) -> None:
        assert not list(self.folder.iterdir()), "what an earlier time left would be taken for this run"
        (self.folder / "out" / "1").mkdir(parents=True)
        (self.folder / "out" / "1" / "run.json").write_text(json.dumps(self.record))
        (self.folder / "lab.toml").touch()
        self.times += 1
        assert self.times > self.fails

    def repeated(self) -> None:
        repeated(self.test, self.folder, self.said.append)


def test_a_test_that_passes_is_done_once(tmp_path: Path) -> None:
    claim = Claim(tmp_path, fails=0)
    claim.repeated()
    assert (claim.times, claim.said) == (1, [])


def test_a_test_that_fails_on_an_unreliable_run_is_repeated_with_the_reason(tmp_path: Path) -> None:
    claim = Claim(tmp_path, fails=1)
    claim.repeated()
    assert (claim.times, claim.said) == (2, ["late"])


def test_a_test_that_fails_every_time_fails(tmp_path: Path) -> None:
    claim = Claim(tmp_path, fails=99)
    with pytest.raises(AssertionError):
        claim.repeated()
    assert claim.times == TIMES


@pytest.mark.parametrize("run", [{"reliable": True}, {"status": "failed"}])
def test_a_test_that_fails_on_a_reliable_or_a_failed_run_is_not_repeated(
    tmp_path: Path, run: dict[str, bool | str]
) -> None:
    claim = Claim(tmp_path, fails=1, **run)
    with pytest.raises(AssertionError):
        claim.repeated()
    assert claim.times == 1
