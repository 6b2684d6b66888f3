"""Without an extra the rest works, and what is missing is said with the command that installs it."""

import sys
from pathlib import Path

import pytest

import bentpipe
from bentpipe.errors import MissingExtraError
from invocation import PLAIN, called, started

HIDING = """
import sys
for name in ("dask", "distributed", "duckdb", "matplotlib"):
    sys.modules[name] = None
from bentpipe.__main__ import main
"""
"""Begins a program of a machine where no extra is installed."""
ONE_AFTER_ANOTHER = """
for arguments in eval(sys.argv[1]):
    sys.argv[1:] = arguments
    status = 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    print("ended:", arguments[0], status, flush=True)
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "plain.toml").write_text(PLAIN)
    assert called(["run", "plain.toml", "--out", "out", "--quiet"], tmp_path).status == 0
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["query", "out", "select 1"],
            "a question in SQL needs DuckDB, which is not installed; "
            "to install it:  pip install 'bentpipe[query]'",
        ),
        (
            ["report", "out", "--charts", "charts"],
            "a chart as a picture needs matplotlib, which is not installed; "
            "to install it:  pip install 'bentpipe[charts]'",
        ),
        (
            ["run", "plain.toml", "--cluster", "local:1", "--out", "new"],
            "--cluster needs Dask, which is not installed here\n"
            "  to fix it, run:  pip install 'bentpipe[cluster]'",
        ),
    ],
    ids=["query", "charts", "cluster"],
)
def test_what_needs_an_extra_says_which_and_does_nothing(
    tmp_path: Path, out: Path, arguments: list[str], message: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = started(arguments, tmp_path, by=["-c", HIDING + "main()"])
    assert (said.status, said.stdout, said.stderr) == (2, "", f"bentpipe: {message}\n")
    assert sorted(tmp_path.rglob("*")) == before
    assert not (out / "report.html").exists()


def test_without_any_extra_the_rest_works(tmp_path: Path, out: Path) -> None:
    commands = [
        ["calc", "--rate", "16Mbit/s", "--rtt", "550ms"],
        ["run", "plain.toml", "--out", "new"],
        ["compare", out.name, out.name],
        ["explain", out.name],
        ["report", out.name],
        ["export", out.name, "--csv", "tables"],
    ]
    said = started([repr(commands)], tmp_path, by=["-c", HIDING + ONE_AFTER_ANOTHER])
    assert (said.status, "Traceback" in said.stderr) == (0, False), said.stderr
    ended = [line for line in said.stdout.splitlines() if line.startswith("ended: ")]
    assert ended == [f"ended: {command} 0" for command, *_ in commands], said.stderr


def test_a_chart_in_a_notebook_is_its_sentence_where_no_picture_can_be_drawn(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = bentpipe.Results.open(out)
    chart = results.chart(next(iter(results.charts)))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("bentpipe.charts.matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delattr("bentpipe.charts.matplotlib", raising=False)
    shown, _ = chart._repr_mimebundle_()
    assert set(shown) == {"text/plain"}
    assert shown["text/plain"].startswith(repr(chart))
    assert shown["text/plain"].endswith("pip install 'bentpipe[charts]'")
    with pytest.raises(MissingExtraError):
        chart.save(out / "chart.png")
