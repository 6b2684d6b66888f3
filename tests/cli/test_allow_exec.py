"""A lab that does not come with bentpipe runs its commands only once somebody has seen and allowed them."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bentpipe import Lab
from bentpipe.engines import lab_commands
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.live import LiveEngine
from bentpipe.errors import EngineError
from bentpipe.runs.folder import RunFolder
from bentpipe.sweep import run as runner
from invocation import PLAIN, Command
from waiting import LONG_S

COMMAND = '[[workload]]\nname = "mine"\nkind = "exec"\ncommand = ["sh", "-c", "echo ALLOWED\\u001b[2J"]\n'
IN_A_VARIANT = (
    COMMAND + '[[variant]]\nname = "other"\nset = { "workload.mine.command" = ["sh", "-c", "echo OTHER"] }\n'
)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(PLAIN + IN_A_VARIANT)
    return tmp_path / "lab.toml"


def test_without_a_terminal_it_is_refused_with_every_command_and_the_option_that_allows_it(
    run: Command, lab: Path
) -> None:
    said = run("run", lab.name, "--engine", "live", "--out", "out")
    assert (said.status, said.stdout) == (2, "")
    assert "this lab runs 2 commands" in said.stderr
    assert "mine, at client: sh -c 'echo ALLOWED\\x1b[2J'" in said.stderr
    assert "mine, at client: sh -c 'echo OTHER'" in said.stderr
    assert "--allow-exec" in said.stderr
    assert not list(lab.parent.glob("out/*/run.json"))


def test_a_command_from_the_command_line_is_asked_about_like_one_in_the_file(run: Command, lab: Path) -> None:
    said = run("run", lab.name, "--engine", "live", "--set", 'workload.mine.command=["sh", "-c", "echo SET"]')
    assert said.status == 2
    assert "echo SET" in said.stderr


def test_in_python_it_is_refused_with_the_argument_that_allows_it(lab: Path) -> None:
    with pytest.raises(EngineError, match="allow_exec=True"):
        Lab.load(lab).run(engine="live", out=lab.parent / "out")


def test_an_engine_that_was_not_told_runs_none(lab: Path) -> None:
    """So on a cluster's worker, which has nobody to be asked."""
    point = Lab.load(lab).points()[0]
    folder = RunFolder.create(lab.parent / "out", "one")
    with pytest.raises(EngineError, match="--allow-exec"):
        LiveEngine(EngineOptions()).run(point, folder, lambda _seconds: None)


def test_a_lab_that_comes_with_bentpipe_needs_no_question(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    the_lab = Lab.load(lab)
    assert not lab_commands.comes_with_bentpipe(the_lab)
    monkeypatch.setattr(lab_commands, "shipped_labs", lambda: {"lab": lab})
    assert lab_commands.comes_with_bentpipe(the_lab)
    options = runner._with_commands_allowed(None, the_lab.cells(), the_lab, lambda _commands: False)
    assert options is not None
    assert options.allow_exec


def answered(lab: Path, answer: bytes) -> tuple[int, str]:
    """Exit status and what is on the terminal."""
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [sys.executable, "-m", "bentpipe", "run", lab.name, "--engine", "live", "--out", "out"],
        cwd=lab.parent,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown, told, until = b"", False, time.monotonic() + LONG_S
    while time.monotonic() < until:
        if select.select([ours], [], [], 1)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:
                break
        if not told and b"[y/N]" in shown:
            os.write(ours, answer)
            told = True
    os.close(ours)
    return asked.wait(LONG_S), shown.decode(errors="replace")


def test_on_a_terminal_the_commands_are_shown_and_no_is_the_answer_unless_yes_is_given(lab: Path) -> None:
    status, shown = answered(lab, b"\n")
    assert status == 2
    assert "mine, at client: sh -c 'echo ALLOWED\\x1b[2J'" in shown
    assert "nothing was run" in shown
    assert not list(lab.parent.glob("out/*/run.json"))


@pytest.mark.live
def test_on_a_terminal_they_run_once_they_are_allowed(lab: Path) -> None:
    _, shown = answered(lab, b"y\n")
    assert "nothing was run" not in shown
    records = [json.loads(path.read_text()) for path in lab.parent.glob("out/*/run.json")]
    assert [record["status"] for record in records] == ["done"] * 2, shown
