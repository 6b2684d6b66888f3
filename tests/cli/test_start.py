"""What is loaded before a command does its work, and the list of commands."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bentpipe.cli.commands import COMMANDS

HEAVY = {
    *("asyncio", "duckdb", "matplotlib", "multiprocessing", "numpy", "plotly", "polars", "pydantic", "scipy"),
    *("rich.markdown", "rich.progress"),
}
LOADED_BY = """
import sys
from bentpipe.__main__ import main
sys.argv[1:] = {arguments!r}
try:
    main()
finally:
    print(*sorted({heavy!r} & set(sys.modules)), file=sys.stderr)
"""


CALC = "calc --rate 20Mbit/s --rtt 100ms --queue 100kB --loss 1e-4 --time 5s --size 1MB"


@pytest.mark.parametrize("command", ["--help", "--version", "version", "labs", "", CALC])
def test_what_needs_no_data_frames_loads_none(tmp_path: Path, command: str) -> None:
    assert loaded_by(command.split(), tmp_path) == set()


@pytest.mark.usefixtures("run")
def test_a_run_in_sim_loads_neither_numpy_nor_charts_nor_what_only_a_terminal_or_jobs_need(
    tmp_path: Path,
) -> None:
    assert loaded_by(["run", "plain.toml", "--engine", "sim", "--out", "out"], tmp_path) == {
        "polars",
        "pydantic",
    }


def test_each_command_is_listed_with_the_first_line_of_its_docstring() -> None:
    for name, entry in COMMANDS.items():
        function = getattr(import_module(f"bentpipe.cli.{entry.module}"), entry.function)
        first, _, _ = inspect.getdoc(function).partition("\n")
        assert (name, entry.line) == (name, first)


def test_each_command_is_in_the_help(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "bentpipe", "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    folded = " ".join(said.stdout.split())
    for name, entry in COMMANDS.items():
        assert f" {name} {entry.line}" in folded


def loaded_by(arguments: list[str], folder: Path) -> set[str]:
    program = LOADED_BY.format(arguments=arguments, heavy=HEAVY)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    return set(ended.stderr.splitlines()[-1].split())
