"""However a sweep of several at once ends, it leaves no process and no half-written run, and goes on."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import marked

import bentpipe
from invocation import PLAIN
from waiting import LONG_S, wait_for

LONG = (
    PLAIN.replace("20 Mbit/s", "1 Gbit/s")
    + '[[workload]]\nname = "download"\nkind = "bulk"\ndirection = "down"\nsize = "200 MB"\n'
)
WHERE = {"processes": ["--jobs", "2"], "workers": ["--cluster", "local:2"]}


@pytest.mark.parametrize(
    "where",
    ["processes", pytest.param("workers", marks=pytest.mark.long("a cluster of processes that load Dask"))],
)
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_but_whole_runs(tmp_path: Path, where: str, by: signal.Signals) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = [sys.executable, "-m", "bentpipe", "run", "long.toml", "--engine", "sim", "--out", "out"]
    command += ["--repeat", "400", "--json", "--quiet", *WHERE[where]]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"BENTPIPE_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.send_signal(by)
        _, said = running.communicate(timeout=LONG_S)
    assert wait_for(lambda: not marked(str(tmp_path)))
    if by == signal.SIGINT:
        assert running.returncode == 130
        assert re.fullmatch(
            r"bentpipe: interrupted: \d+ of 400 runs done and kept in out\. To go on:\n"
            rf"  bentpipe {' '.join(command[3:])}\n",
            said.decode(),
        )
        assert not list((tmp_path / "out").glob(".*"))
    runs = bentpipe.Results.open(tmp_path / "out").records
    assert 1 <= len(runs) < 400
    assert {run["status"] for run in runs} == {"done"}
