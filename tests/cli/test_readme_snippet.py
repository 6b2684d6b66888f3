"""README as a new user types it: commands print what it shows, and its Python gives one connection."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from invocation import Command

PAGE = "README.md"


def commands(page: str) -> list[tuple[list[str], list[str]]]:
    """Each `bentpipe` command of the page, in order, with the lines that the page shows below it."""
    blocks = re.findall(r"```console\n(.*?)```", page, flags=re.S)
    typed = [each for block in blocks for each in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)]
    pairs = [each.partition("\n") for each in typed]
    return [
        (shlex.split(line, comments=True)[1:], shown(below))
        for line, _, below in pairs
        if "bentpipe " in line
    ]


def shown(text: str) -> list[str]:
    """Its lines, however they are spaced, without those that stand for what is left out."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line and line != "..."]


def test_the_readmes_commands_print_what_it_shows(
    pytestconfig: pytest.Config, run: Command, tmp_path: Path
) -> None:
    page = (pytestconfig.rootpath / PAGE).read_text(encoding="utf-8")
    (lab,) = re.findall(r"```toml\n# my\.toml\n(.*?)```", page, flags=re.S)
    (tmp_path / "my.toml").write_text(lab, encoding="utf-8")
    simulated = [
        (typed, below)
        for typed, below in commands(page)
        if typed[0] in ("calc", "explain", "compare")
        or (typed[0] == "run" and "sim" in typed and "--cluster" not in typed)
    ]
    assert sum(bool(below) for _, below in simulated) >= 5
    for typed, below in simulated:
        said = run(*typed, env={**os.environ, "COLUMNS": "300"})
        assert said.status == 0, said.stderr
        printed = shown(said.stdout)
        assert [line for line in below if line not in printed] == [], typed


def test_the_readmes_python_gives_one_senders_samples(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (pytestconfig.rootpath / PAGE).read_text(encoding="utf-8")
    (lab,) = re.findall(r"```toml\n# my\.toml\n(.*?)```", page, flags=re.S)
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (tmp_path / "my.toml").write_text(lab, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert 'engine="live"' in code
    found: dict[str, Any] = {}
    exec(code.replace('engine="live"', 'engine="sim"'), found)
    sending = found["sending"]
    assert len(found["results"].names) > 1
    assert sending["local_port"].n_unique() == sending["remote_port"].n_unique() == 1
    assert sending["time_s"].is_unique().all()
    assert sending["bytes_acked"].max() > 1_000_000
