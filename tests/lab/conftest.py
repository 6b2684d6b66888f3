"""Labs written for one test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.lab.load import Lab
from bentpipe.lab.spec import RunSpec

WORK = '[[workload]]\nname = "download"\nkind = "bulk"\ntime = "5 s"\n'
"""The least that makes a lab: one transfer that ends by itself."""


@pytest.fixture
def lab_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a lab and gives its path."""

    def write(text: str) -> Path:
        file = tmp_path / "x.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.fixture
def spec_of(lab_file: Callable[[str], Path]) -> Callable[..., RunSpec]:
    """The spec of a lab's first point, given what stands before the workload."""

    def load(text: str, *sets: str, work: str = WORK) -> RunSpec:
        return Lab.load(lab_file(text + work), set=sets).points()[0].spec

    return load
