"""What root measures an ordinary user measures too, in a user namespace of his own."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosting import refusal
from ordinary import NOBODY, bentpipe_as_nobody

import bentpipe
from bentpipe.runs.store import Results

LAB = """
until = "done"
duration = "30 s"
[path]
rtt = "30 ms"
rate = "20 Mbit/s"
queue = "60 kB"
[host]
congestion_control = "cubic"
tcp_rmem = [4096, 131072, 4194304]
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "50 ms"
start = "-0.5 s"
[[workload]]
name = "load"
kind = "bulk"
time = "1 s"
[[workload]]
name = "web"
kind = "http"
size = "10 kB"
direction = "up"
[[workload]]
name = "who"
kind = "exec"
command = ["cat", "/etc/hosts"]
"""

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be both"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of nobody's, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-ordinary-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "home").mkdir()
        os.chown(place / "home", NOBODY, NOBODY)
        (place / "home" / "lab.toml").write_text(LAB)
        yield place


def test_an_ordinary_user_gets_the_same_run_as_root(folder: Path) -> None:
    for user in ("root", "ordinary"):
        if why := refusal(user):
            pytest.skip(why)
    said = bentpipe_as_nobody(
        ["run", "lab.toml", "--engine", "live", "--allow-exec", "--json", "--out", "out"],
        folder / "home",
        folder,
    )
    assert said.stderr.count("[1/1]") == 1, said.stderr
    assert "failed" not in said.stderr
    theirs = Results.open(folder / "home" / "out")
    ours = bentpipe.Lab.load(folder / "home" / "lab.toml").run(
        engine="live", out=folder / "ours", allow_exec=True
    )
    printed: dict[str, Any] = json.loads(said.stdout)
    assert printed["workloads"] == theirs.records[0]["workloads"]
    mine, other = ours.records[0], theirs.records[0]
    assert (mine["machine"]["root"], other["machine"]["root"]) == (True, False)
    assert mine["status"] == other["status"] == "done"
    assert mine["sysctl"] == other["sysctl"]
    assert mine["spec"] == other["spec"]
    for name in ("rtt", "load", "web", "who"):
        assert mine["workloads"][name].keys() == other["workloads"][name].keys()
    for name in ("link", "sockets", "flows", "pings", "tools"):
        assert getattr(ours, name).schema == getattr(theirs, name).schema
        assert len(getattr(theirs, name)) > 0
    # A connection that is just being opened has none.
    used = [{*each.sockets["congestion_control"].drop_nulls()} for each in (ours, theirs)]
    assert used == [{"cubic"}, {"cubic"}]
