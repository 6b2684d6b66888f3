"""A report of many runs says how far it is, draws on all cores, and prints no more than a screen."""

import pytest
import records
import synthetic
from test_page import parts
from test_reports import printed

from bentpipe.report import drawing, html
from bentpipe.runs.store import Results
from bentpipe.sweep.progress import counting


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """60 points of a run each."""
    out = tmp_path_factory.mktemp("many")
    for number in range(60):
        record = records.run({"download": records.bulk(number + 1.0)}, point={"path.rtt": f"{number} ms"})
        synthetic.run(out, f"{number:03d}", changes=record)
    return Results.open(out)


def test_a_long_table_is_cut_and_says_how_to_see_all(many: Results) -> None:
    text = printed(many, 100, full=False)
    assert len(text.splitlines()) < 20
    assert "The first 8 of 60 rows." in text
    assert "--full" in text
    assert len(printed(many, 100, full=True).splitlines()) > 60


def test_a_short_table_is_whole(sweep: Results) -> None:
    assert printed(sweep, 100, full=False) == printed(sweep, 100, full=True)


@pytest.mark.long("the same page by one process and by several, 2.2 s")
def test_processes_draw_the_very_same_page(sweep: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_WORTH_PROCESSES", 1000)
    alone = html.render(sweep)
    monkeypatch.setattr(drawing, "_WORTH_PROCESSES", 2)
    told: list[int] = []
    together = html.render(sweep, told=told.append)
    assert parts(together) == parts(alone)
    assert together == alone
    assert sum(told) == len(sweep.records)
    assert len(told) > 1


def test_without_a_terminal_progress_is_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentpipe.sweep.progress._BETWEEN_S", -1.0)
    with counting("preparing the page", "runs drawn", 300) as told:
        told(16)
        told(16)
    assert capsys.readouterr().err == "[16/300] runs drawn\n[32/300] runs drawn\n"


def test_steps_that_are_repeated_are_counted_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentpipe.sweep.progress._BETWEEN_S", -1.0)
    with counting("preparing the page", "runs drawn", 300) as told:
        for more in (16, -16, 16):
            told(more)
    assert capsys.readouterr().err.splitlines()[-1] == "[16/300] runs drawn"
