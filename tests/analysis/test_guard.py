"""The example of docs/compare.md does what its page says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import LONG_S

GUARD = Path(__file__).parents[2] / "docs" / "examples" / "guard"
SHORT = {
    'size = "10 MB"': 'size = "4 MB"',
    "repeat   = 8": "repeat   = 3",
    '["40 ms", "120 ms"]': '["120 ms"]',
}
WORSE = ("tcp_rmem = [4096, 131072, 6291456]", "tcp_rmem = [4096, 131072, 131072]")


def guarded(folder: Path, *change: str) -> subprocess.CompletedProcess[str]:
    """What guard.sh says of a change of path.toml, in short."""
    shim = folder / "bin" / "bentpipe"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bentpipe "$@"\n')
    shim.chmod(0o755)
    lab = (GUARD / "path.toml").read_text()
    for long, short in SHORT.items():
        assert long in lab
        lab = lab.replace(long, short)
    (folder / "before.toml").write_text(lab)
    assert not change or change[0] in lab
    (folder / "after.toml").write_text(lab.replace(*change) if change else lab)
    shutil.copy(GUARD / "guard.sh", folder)
    return subprocess.run(
        ["sh", "guard.sh", "before.toml", "after.toml"],
        cwd=folder,
        env={**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )


@pytest.mark.long("two sweeps and a comparison, 2.4 s; the change that is slower is always tried")
def test_a_change_that_costs_nothing_passes(tmp_path: Path) -> None:
    said = guarded(tmp_path, 'title    = "', 'title    = "Now: ')
    assert (said.returncode, said.stderr) == (0, "")
    assert "after: goodput identical in every pair" in said.stdout


def test_a_change_that_makes_it_slower_does_not_pass_and_is_named(tmp_path: Path) -> None:
    said = guarded(tmp_path, *WORSE)
    assert said.returncode == 1
    assert "broken after, rtt 120 ms: " in said.stdout
    assert said.stderr.startswith("bentpipe: ")


def test_a_lab_that_cannot_be_read_is_status_2(tmp_path: Path) -> None:
    said = guarded(tmp_path, "rate  =", "rat   =")
    assert said.returncode == 2
    assert "rat" in said.stderr


def test_the_workflow_runs_the_same_lines() -> None:
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load((GUARD / "guard.yml").read_text())["jobs"]["tcp"]["steps"]
    assert "sh guard.sh base/path.toml path.toml" in [step.get("run") for step in steps]
