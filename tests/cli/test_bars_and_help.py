"""What a person sees on a terminal: bars that fit, help without types, a cursor that comes back."""

import re
import signal
from pathlib import Path

import pytest
from terminal import Terminal

from bentpipe.sweep.progress import counting
from invocation import Command

ENDLESS = """
duration = "100000 h"
[path]
rtt = "550 ms"
rate = "1 bit/s"
[[workload]]
name = "download"
kind = "bulk"
"""
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_bar_stays_on_one_line_and_leaves_the_cursor_visible_when_interrupted(
    tmp_path: Path, columns: int
) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    terminal = Terminal(["run", "endless.toml", "--engine", "sim", "--out", "out"], tmp_path, columns)
    try:
        terminal.read(until="times real time" if columns == 120 else "of 4167 day")
        terminal.process.send_signal(signal.SIGINT)
        text = terminal.read()
    finally:
        terminal.process.kill()
        terminal.process.wait()
    bars = [CONTROL.sub("", line) for line in re.split(r"[\r\n]+", text) if "running" in line]
    assert bars
    assert all(len(line) <= columns - len("^C") for line in bars)
    assert re.search(r"1 running \S* .* left", bars[-1])
    assert CONTROL.sub("", text).startswith("1 run, about")
    assert text.rfind(SHOW_CURSOR) > text.rfind(HIDE_CURSOR) >= 0
    assert "interrupted" in CONTROL.sub("", text).strip().splitlines()[-1]


@pytest.mark.parametrize(
    "command",
    ["run", "report", "shell", "compare", "query", "import", "export", "calc", "new", "explain", "doctor"],
)
def test_help_shows_what_is_typed_and_no_types(run: Command, command: str) -> None:
    said = run(command, "--help")
    assert said.status == 0
    assert not re.search(r"<(bool|str|int|list)|\{[A-Z]|\[\[", said.stdout), said.stdout


def test_a_lab_that_is_not_there_is_told_which_are(run: Command) -> None:
    said = run("run", "nowhere")
    assert "no file and no lab of that name; labs that come with bentpipe: cures," in said.stderr


def test_a_page_says_what_it_does_before_its_first_run_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with counting("preparing the page", "runs drawn", 80) as told:
        told(16)
    said = CONTROL.sub("", capsys.readouterr().err)
    assert "preparing the page" in said
    assert "16/80 runs drawn" in said
