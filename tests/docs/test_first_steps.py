"""The notebook of the first steps runs as it stands, and is committed with its output."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import nbformat
import pytest

LARGEST_BYTES = 500_000


@pytest.fixture(scope="module")
def notebook(pytestconfig: pytest.Config) -> Path:
    return pytestconfig.rootpath / "docs" / "first-steps.ipynb"


@pytest.fixture(scope="module")
def executed(pytestconfig: pytest.Config, notebook: Path) -> Any:
    loader = SourceFileLoader("render_notebook", str(pytestconfig.rootpath / "scripts" / "render-notebook"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    return script.executed(notebook)


def shown(notebook: Any) -> list[set[str]]:
    """Of each cell of code, in which forms it shows something."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        {form for out in cell.outputs for form in out.get("data", {out.output_type: ""})} for cell in cells
    ]


@pytest.mark.long("the whole notebook is executed")
def test_every_cell_of_the_notebook_runs_and_shows_what_the_committed_one_shows(
    executed: Any, notebook: Path
) -> None:
    committed = shown(nbformat.read(notebook, as_version=4))
    assert all(committed)
    assert shown(executed) == committed


@pytest.mark.long("the whole notebook is executed")
def test_the_notebook_shows_labs_results_and_comparisons_as_tables_and_charts_as_pictures(
    executed: Any,
) -> None:
    forms = shown(executed)
    assert {"text/html", "text/plain"} in forms
    assert {"image/png", "text/plain"} in forms
    assert len([each for each in forms if "text/html" in each]) >= 4


@pytest.mark.long("the whole notebook is executed")
def test_results_have_their_table_in_words_too(executed: Any) -> None:
    texts = [
        out["data"]["text/plain"]
        for cell in executed.cells
        for out in cell.get("outputs", [])
        if "data" in out
    ]
    assert any("Compared with as is" in text for text in texts)
    assert not any("\x1b" in text for text in texts)


def test_the_committed_notebook_is_small(notebook: Path) -> None:
    assert notebook.stat().st_size < LARGEST_BYTES
