"""scripts/python-tests, with a Python that only says what it was to do."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "python-tests"
PARTS = ("not live", "live and not alone", "live and alone")


def said(folder: Path, statuses: dict[str, int], *words: str) -> subprocess.CompletedProcess[str]:
    """What the script says where pytest ends with these statuses for these marks."""
    script = folder / "scripts" / "python-tests"
    python = folder / ".venv" / "bin" / "python"
    for each in (script, python):
        each.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    cases = "\n".join(f'*"-m {marks} -n "*) exit {status};;' for marks, status in statuses.items())
    python.write_text(f'#!/bin/sh\necho "$@" | tee -a {folder}/done\ncase "$*" in\n{cases}\nesac\n')
    python.chmod(0o755)
    return subprocess.run([script, *words], capture_output=True, text=True, check=False)


def test_every_test_is_run_by_one_of_the_parts(tmp_path: Path) -> None:
    ended = said(tmp_path, {})
    assert (ended.returncode, ended.stderr) == (0, "")
    done = (tmp_path / "done").read_text().splitlines()
    marks = [each.rpartition(" -m ")[2].partition(" -n ")[0] for each in done]
    assert (sorted(marks), marks[-1]) == (sorted(PARTS), "live and alone")
    assert [each in ended.stdout for each in done] == [True] * 3


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_fails_fails_the_whole_and_the_others_run(tmp_path: Path, part: str) -> None:
    assert said(tmp_path, {part: 1}).returncode == 1
    assert len((tmp_path / "done").read_text().splitlines()) == 3


def test_a_name_that_only_some_parts_have_is_no_failure(tmp_path: Path) -> None:
    assert said(tmp_path, {"not live": 5}, "terminal").returncode == 0
    assert (tmp_path / "done").read_text().count("-k terminal") == 3
