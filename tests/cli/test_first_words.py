"""What a person is told who does not know yet what to type."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bentpipe import engines
from bentpipe.cli.commands import COMMANDS
from bentpipe.cli.group import FIRST_STEPS, loaded
from bentpipe.lab.shipped import shipped_labs
from invocation import Command


def test_bentpipe_alone_says_what_to_do_first(run: Command) -> None:
    said = run()
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr == FIRST_STEPS + "\n"


def test_each_command_that_is_named_there_exists_with_its_options() -> None:
    named = re.findall(r"^  bentpipe (.*?)(?:  .*)?$", FIRST_STEPS, re.MULTILINE)
    assert len(named) > 4
    for line in named:
        name, *arguments = shlex.split(line)
        assert name in COMMANDS
        known = {option for each in loaded(name).params for option in each.opts}
        assert {each for each in arguments if each.startswith("--")} <= known


def test_what_is_suggested_leaves_out_the_engine_that_is_the_default(tmp_path: Path, run: Command) -> None:
    suggested = FIRST_STEPS + run("labs").stderr + run("new", "first.toml", "--preset", "geo").stderr
    suggested += (tmp_path / "first.toml").read_text()
    assert "bentpipe run NAME" in suggested
    assert f"--engine {engines.DEFAULT}" not in suggested


def test_run_without_a_lab_lists_the_labs(run: Command) -> None:
    said = run("run")
    assert (said.status, said.stdout) == (2, "")
    assert "found no LAB" in said.stderr
    assert all(f"\n  {name} " in said.stderr for name in shipped_labs())


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("new <&-", 2),
        ("calc --rate 16Mbit/s --rtt 5ms >&-", 0),
        ("run plain.toml --engine sim --out out <&- >&-", 0),
        ("query out 'select 1' >&-", 0),
        ("labs 2>&-", 0),
    ],
)
def test_a_stream_that_is_closed_is_as_one_without_a_reader(
    tmp_path: Path, run: Command, command: str, status: int
) -> None:
    assert run("run", "plain.toml", "--engine", "sim", "--out", "out", "-q").status == 0
    line = f"exec {shlex.quote(sys.executable)} -m bentpipe {command}"
    ended = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (status, False)
