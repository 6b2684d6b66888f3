"""scripts/python-tests where the kernel keeps no share of the processors for the session that it is in."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "python-tests"


@pytest.mark.parametrize("share", ["touch /proc/self/autogroup", "mkdir /proc/self/autogroup", "true"])
def test_tests_run_without_a_share_of_their_own(tmp_path: Path, share: str) -> None:
    script, python = tmp_path / "scripts" / "python-tests", tmp_path / ".venv" / "bin" / "python"
    for each in (script, python):
        each.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    python.write_text("#!/bin/sh\necho $@\n")
    python.chmod(0o755)
    own = f'mount -t tmpfs none /proc && mkdir /proc/self && {share} && exec "$0"'
    ended = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", own, script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("-m pytest") == 3
