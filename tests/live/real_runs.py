"""Labs run on this machine's kernel, for tests: what they need, and a program that does as it is told."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from hosting import refusal

import bentpipe
from bentpipe.engines.machine import with_system_programs
from bentpipe.runs.store import Results

PROGRAMS = with_system_programs()["PATH"]
LIVE = [
    pytest.mark.live,
    pytest.mark.skipif(bool(why := refusal("root")), reason=why or "the live engine runs here"),
]
WEB = [
    *LIVE,
    pytest.mark.skipif(
        not all(shutil.which(name, path=PROGRAMS) for name in ("nginx", "curl", "aria2c")),
        reason="nginx, curl or aria2c is not here",
    ),
]


def run(folder: Path, lab: str, engine: str = "live") -> Results:
    (folder / "lab.toml").write_text(lab)
    return bentpipe.Lab.load(folder / "lab.toml").run(engine=engine, out=folder / "out", allow_exec=True)


def shadow(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a script before the program of that name in PATH."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
