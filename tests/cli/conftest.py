"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest
from invocation import PLAIN, Command, bentpipe


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Runs `bentpipe` in a folder of its own, where plain.toml is a lab."""
    (tmp_path / "plain.toml").write_text(PLAIN)
    return lambda *arguments, **more: bentpipe(arguments, tmp_path, **more)
