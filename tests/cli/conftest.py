"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

from invocation import PLAIN, Command, called, started


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Calls `bentpipe` in a folder of its own, where plain.toml is a lab."""
    (tmp_path / "plain.toml").write_text(PLAIN)
    return lambda *arguments, **more: called(arguments, tmp_path, **more)


@pytest.fixture
def start(tmp_path: Path) -> Command:
    """The same as a process of its own."""
    (tmp_path / "plain.toml").write_text(PLAIN)
    return lambda *arguments, **more: started(arguments, tmp_path, **more)
