"""Fixtures of the sim engine's tests: a lab in a folder of its own, run in virtual time."""

from pathlib import Path

import pytest
from simulating import LAB, Simulate

import bentpipe


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
