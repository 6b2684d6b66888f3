"""No text of a lab, a run folder or an imported file moves a terminal's cursor or hides anything."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import records
import synthetic
from test_page import parts

from bentpipe.analysis.comparisons import compare_all
from bentpipe.analysis.required import check
from bentpipe.analysis.requirement import parse
from bentpipe.charts import files, matplotlib
from bentpipe.cli import saying
from bentpipe.query.questions import Questions
from bentpipe.report import answer, comparison, html, requirements, tables_listed, terminal
from bentpipe.runs.store import Results
from bentpipe.sweep.progress import Lines
from bentpipe.words.console import SafeConsole
from bentpipe.words.printable import printable, printable_json, printable_lines

HOSTILE = "a\x1b[31m\u202eb\x9bc\x7f\u2066d\u2028e\x07\r$f$"
SHOWN = r"a\x1b[31m\u202eb\x9bc\x7f\u2066d\u2028e\x07\r$f$"
HIDDEN = set("\x1b\u202e\x9b\x7f\u2066\u2028\x07\r")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two variants of two seeds, and the text wherever a folder of runs may have one."""
    out = tmp_path_factory.mktemp("hostile")
    works = {HOSTILE: records.bulk(8.0, **{HOSTILE: HOSTILE}), "rival": records.bulk(2.0)}
    for number, variant in enumerate(("as is", HOSTILE)):
        for seed in (1, 2):
            works[HOSTILE] = records.bulk(8.0 + number + seed)
            changes: dict[str, Any] = {
                "title": HOSTILE,
                "engine": HOSTILE,
                "lab": HOSTILE,
                "variant": variant,
                "seed": seed,
                "point": {HOSTILE: HOSTILE},
                "why": [HOSTILE],
                "workloads": works,
                "machine": {HOSTILE: HOSTILE},
                "versions": {"iperf3": HOSTILE},
                "sysctl": {"client": {HOSTILE: HOSTILE}, "server": {}},
                "published": None,
            }
            synthetic.run(out, f"{number}{seed}", changes=changes)
    bad = {
        "variant": HOSTILE,
        "reliable": False,
        "why": [HOSTILE],
        "title": HOSTILE,
        "workloads": works,
        "point": {HOSTILE: HOSTILE},
    }
    synthetic.run(out, "99", changes=bad | {"published": None})
    return Results.open(out)


def on_terminal(renderable: Any, width: int = 400) -> str:
    console = SafeConsole(file=io.StringIO(), width=width, highlight=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_hidden_character_is_shown_by_its_escape() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("two\nlines\tand more") == r"two\nlines\tand more"
    assert printable_lines("two\r\nlines\tand more\x1b") == "two\nlines\tand more\\x1b"


@pytest.mark.parametrize("text", ["16\u202f000\u00a0kB", "µs – ≈ ±", "über 衛星 🛰", "می\u200cخواهم"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_json_holds_the_same_text_and_no_control_character() -> None:
    line = printable_json({"title": HOSTILE + "\U000e0041", "more": "µ"})
    assert not HIDDEN & set(line)
    assert "\U000e0041" not in line
    assert "µ" in line
    assert json.loads(line) == {"title": HOSTILE + "\U000e0041", "more": "µ"}


def test_a_report_on_a_terminal_shows_escapes(hostile: Results) -> None:
    text = on_terminal(terminal.table(hostile))
    assert not HIDDEN & set(text)
    assert text.startswith(SHOWN)
    assert text.count(SHOWN) > 4


def test_a_comparison_on_a_terminal_shows_escapes(hostile: Results) -> None:
    text = on_terminal(comparison.render(compare_all([hostile])))
    assert not HIDDEN & set(text)
    assert f"{SHOWN}:" in text


def test_a_broken_requirement_shows_escapes(hostile: Results) -> None:
    checks = check([hostile], None, [parse("workload.*.goodput_mbit_s > 100")])
    text = on_terminal(requirements.render(checks))
    assert not HIDDEN & set(text)
    assert SHOWN in text


def test_an_answer_in_sql_shows_escapes(hostile: Results) -> None:
    with Questions.open([hostile]) as questions:
        asked = 'select title, variant, 1 as "k\x1b\u202e" from runs'
        text = on_terminal(answer.Table(questions.ask(asked)))
        objects = list(answer.json_lines(questions.ask(asked)))
    assert not HIDDEN & set(text)
    assert SHOWN[:30] in text
    assert r"k\x1b\u202e" in text
    assert not HIDDEN & set("".join(objects))
    assert json.loads(objects[0])["title"] == HOSTILE


def test_the_list_of_tables_shows_escapes(hostile: Results) -> None:
    text = on_terminal(tables_listed.listed([hostile], f"runs/{HOSTILE}"))
    assert not HIDDEN & set(text)


def test_messages_show_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    saying.say(f"bentpipe: {HOSTILE}\nbentpipe: all is well")
    saying.tell(HOSTILE)
    Lines().run_ends(
        HOSTILE,
        {"reliable": False, "status": "failed", "why": [HOSTILE], "workloads": {}, "wall_s": 1.0},
    )
    found = capsys.readouterr()
    assert found.err.startswith(f"bentpipe: {SHOWN}\n  bentpipe: all is well\n")
    assert found.out == f"{SHOWN}\n"
    assert not HIDDEN & set(found.err)


def test_a_page_shows_escapes_and_packs_no_control_character(hostile: Results) -> None:
    page = html.render(hostile)
    assert not HIDDEN & set(page)
    assert f"<h1>{SHOWN}</h1>" in page
    for part in parts(page):
        assert not HIDDEN & set(json.dumps(part, ensure_ascii=False))
        assert SHOWN in part["heading"]


@pytest.mark.long("each chart as a picture, 2.7 s; the page's own tests are always run")
def test_charts_show_escapes_and_take_no_formula_from_a_text(hostile: Results, tmp_path: Path) -> None:
    runs = [run for run in hostile.records if run["run"] in {"11", "99"}]
    charts = [*files.over_all(hostile), *(chart for run in runs for chart in files.of_run(hostile, run))]
    assert len(charts) > len(runs) == 2
    for number, chart in enumerate(charts):
        matplotlib.save(chart, tmp_path / f"{number}.svg")
    drawn = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert not HIDDEN & set(drawn)
    assert SHOWN in drawn
