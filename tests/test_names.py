"""The names of the tests are the same in each process, so that several can share them out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ANOTHER_DAY = """
import time
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + 100_000
time.time_ns = lambda: now_ns() + 100_000_000_000_000
"""


@pytest.mark.long("all tests are collected again, in another process")
def test_names_depend_on_no_time_no_place_and_no_hashes(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    (tmp_path / "another_day.py").write_text(ANOTHER_DAY)
    root = pytestconfig.rootpath
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "another_day",
        "-p",
        "no:cacheprovider",
        "--collect-only",
    ]
    command += [
        "-q",
        "-o",
        "addopts=",
        "-c",
        str(root / "pyproject.toml"),
        f"--rootdir={root}",
        str(root / "tests"),
    ]
    paths = [str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    elsewhere = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(paths)}
    elsewhere = {name: value for name, value in elsewhere.items() if not name.startswith("PYTEST_")}
    said = subprocess.run(command, cwd=tmp_path, env=elsewhere, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout[-2000:] + said.stderr
    names = said.stdout.splitlines()
    here = [item.nodeid for item in request.session.items]
    assert [name for name in here if name not in set(names)] == []
    assert len(set(here)) == len(here)
