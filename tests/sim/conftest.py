"""Fixtures of the sim engine's tests: a lab in a folder of its own, run in virtual time."""

from collections.abc import Callable
from pathlib import Path

import pytest

import bentpipe

LAB = """
title = "A download"
until = "done"
[path]
rtt = "100 ms"
rate = "10 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "100 ms"
start = "-1 s"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
size = "2 MB"
"""

Simulate = Callable[..., bentpipe.Results]


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    place = tmp_path / "lab.toml"
    place.write_text(LAB)
    return place


@pytest.fixture
def simulate(lab: Path, tmp_path: Path) -> Simulate:
    """Runs the lab with these changes into a folder of this name."""

    def run(*changes: str, out: str = "out", **more: int) -> bentpipe.Results:
        return bentpipe.Lab.load(lab, set=changes, **more).run(engine="sim", out=tmp_path / out)

    return run
