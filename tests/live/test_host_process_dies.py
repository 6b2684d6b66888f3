"""A run whose host process was killed is over at once, however long it was to be."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import LIVE, PROGRAMS, shadow

from invocation import PLAIN
from waiting import LONG_S, wait_for

pytestmark = LIVE

LAB = PLAIN.replace('until = "done"', 'duration = "1 h"').replace("count = 3", "count = 1000000")


def children(pid: int) -> list[int]:
    found = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for each in found for child in each]


def test_a_run_whose_host_process_was_killed_ends_and_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    begun = tmp_path / "begun"
    ping = shutil.which("ping", path=PROGRAMS)
    shadow(tmp_path, "ping", f'touch {begun}; exec {ping} "$@"', monkeypatch)
    arguments = ["run", "lab.toml", "--engine", "live", "--quiet", "--out", "out"]
    with subprocess.Popen([sys.executable, "-m", "bentpipe", *arguments], cwd=tmp_path) as command:
        try:
            assert wait_for(begun.exists)
            for host in children(command.pid):
                os.kill(host, signal.SIGKILL)
            assert command.wait(LONG_S) == 1
        finally:
            command.kill()
    record = json.loads(next(tmp_path.glob("out/*/run.json")).read_text())
    assert record["status"] == "failed"
    assert any("the host process ended unexpectedly" in why for why in record["why"])
