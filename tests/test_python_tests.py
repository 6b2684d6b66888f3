"""scripts/python-tests, with a Python that only says what it was to do."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "python-tests"
PARTS = ("not live", "live and not alone", "live and alone")
SHORT = tuple(f"{each} and not long" for each in PARTS)


def said(
    folder: Path, statuses: dict[str, int], *words: str, case: str = ""
) -> subprocess.CompletedProcess[str]:
    """What the script says where pytest ends with these statuses for these marks. `case`: what it does
    before."""
    script = folder / "scripts" / "python-tests"
    python = folder / ".venv" / "bin" / "python"
    for each in (script, python):
        each.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    cases = "\n".join(f'*"-m {marks} -n "*) exit {status};;' for marks, status in statuses.items())
    python.write_text(f'#!/bin/sh\necho "$@" | tee -a {folder}/done\n{case}\ncase "$*" in\n{cases}\nesac\n')
    python.chmod(0o755)
    return subprocess.run([script, *words], capture_output=True, text=True, check=False)


def marks_of(folder: Path) -> list[str]:
    done = (folder / "done").read_text().splitlines()
    return [each.rpartition(" -m ")[2].partition(" -n ")[0] for each in done]


def test_every_test_is_run_by_one_of_the_parts(tmp_path: Path) -> None:
    ended = said(tmp_path, {}, "--all")
    assert (ended.returncode, ended.stderr) == (0, "")
    done = (tmp_path / "done").read_text().splitlines()
    marks = marks_of(tmp_path)
    assert sorted(marks) == sorted(PARTS)
    # The tests that are not live go beside both, and may be noted at any time.
    assert marks.index("live and not alone") < marks.index("live and alone")
    assert [each in ended.stdout for each in done] == [True] * 3
    assert "left out" not in ended.stdout


def test_long_tests_are_left_out_which_is_said_with_the_command_that_runs_them(tmp_path: Path) -> None:
    ended = said(tmp_path, {})
    assert sorted(marks_of(tmp_path)) == sorted(SHORT)
    assert ended.stdout.endswith("`long` were left out: `make test-all` runs them too.\n")


@pytest.mark.parametrize("part", SHORT)
def test_a_part_that_fails_fails_the_whole_and_the_others_run(tmp_path: Path, part: str) -> None:
    assert said(tmp_path, {part: 1}).returncode == 1
    assert len((tmp_path / "done").read_text().splitlines()) == 3


@pytest.mark.parametrize(("status", "code"), [("0", 0), ("3", 1)])
def test_the_live_tests_begin_after_a_command_whose_failure_fails_the_whole(
    tmp_path: Path, status: str, code: int
) -> None:
    after = f"sh -c 'echo after >>{tmp_path}/done; exit {status}'"
    assert said(tmp_path, {}, "--after", after).returncode == code
    done = (tmp_path / "done").read_text().splitlines()
    assert next(each for each in done if "-m live" in each or each == "after") == "after"
    assert len(done) == 4


def test_a_name_finds_long_tests_too_and_that_only_some_parts_have_it_is_no_failure(tmp_path: Path) -> None:
    assert said(tmp_path, {"not live": 5}, "terminal").returncode == 0
    assert sorted(marks_of(tmp_path)) == sorted(PARTS)
    assert (tmp_path / "done").read_text().count("-k terminal") == 3


@pytest.mark.parametrize(("failed", "again", "code"), [(2, 0, 0), (2, 1, 1), (2, 5, 1), (5, 0, 1)])
def test_a_few_live_tests_that_fail_are_run_once_more_and_named(
    tmp_path: Path, failed: int, again: int, code: int
) -> None:
    names = ", ".join(f'"tests/live/test_{number}": true' for number in range(failed))
    first = f"""mkdir -p "$kept/v/cache"; echo '{{{names}}}' >"$kept/v/cache/lastfailed"; exit 1"""
    words = f"cache_dir=*) kept=${{word#*=}};; --last-failed) exit {again};;"
    each = f"for word; do case $word in {words} esac; done"
    ended = said(tmp_path, {}, case=f'{each}\ncase "$*" in *"-m live and not alone"*) {first};; esac')
    assert ended.returncode == code
    assert len((tmp_path / "done").read_text().splitlines()) == (4 if failed == 2 else 3)
    passed = ended.stdout.partition("Passed only the second time:")[2]
    assert ("tests/live/test_1" in passed) == (code == 0)
