"""Imports in bentpipe point down its layers (pyproject.toml, tool.importlinter), wherever they stand."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def linted(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
    ]
    return subprocess.run(
        [*command, "--no-cache", "--no-logo"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "python"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package's sources and the layers, to be changed."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    sources = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python" / "bentpipe", tmp_path / "python" / "bentpipe", ignore=sources)
    return tmp_path


def add(file: Path, line: str) -> None:
    file.write_text(f"{file.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")


def test_every_import_points_down_the_layers() -> None:
    found = linted(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


def test_an_import_that_points_up_is_named_also_within_a_function(tree: Path) -> None:
    add(
        tree / "python" / "bentpipe" / "lab" / "units.py",
        "def up() -> None:\n    from bentpipe.engines import linux\n",
    )
    found = linted(tree)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "bentpipe.lab.units -> bentpipe.engines.linux" in found.stdout


def test_a_package_that_is_in_no_layer_is_named(tree: Path) -> None:
    added = tree / "python" / "bentpipe" / "elsewhere"
    added.mkdir()
    (added / "__init__.py").touch()
    found = linted(tree)
    assert found.returncode != 0, found.stdout
    assert "elsewhere" in found.stdout + found.stderr


def test_a_circle_of_imports_is_named(tree: Path) -> None:
    add(tree / "python" / "bentpipe" / "words" / "digits.py", "from bentpipe.words import wording\n")
    found = linted(tree)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "do not go in a circle BROKEN" in found.stdout
