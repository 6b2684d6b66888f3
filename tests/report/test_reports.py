"""The table fits a terminal and says what counts; what was asked and what the engine says are in words."""

import io
from pathlib import Path

import pytest
import records
import synthetic
from rich.console import Console

from bentpipe.analysis.comparisons import compare_all
from bentpipe.report import comparison, engine_words, html, terminal
from bentpipe.report.asked_words import asked_words
from bentpipe.runs.store import Results


def printed(results: Results, width: int, *, full: bool = True) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal.table(results, full=full))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_fits_80_columns_and_cuts_no_figure(tmp_path: Path) -> None:
    results = Results.open(synthetic.sweep(tmp_path, repeat=2))
    text = printed(results, 80)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text


def test_the_table_puts_ours_beside_the_published(sweep: Results) -> None:
    line = next(
        line for line in printed(sweep, 80).splitlines() if line.startswith("550 ms") and "up" in line
    )
    assert "34.7" in line
    assert line.rstrip().endswith("yes")


def test_the_table_says_why_a_run_does_not_count(sweep: Results) -> None:
    text = " ".join(printed(sweep, 80).split())
    assert "One packet in a hundred left 2.4 ms or more" in text
    assert "NO" in text


def test_a_title_is_no_markup_for_the_terminal(tmp_path: Path) -> None:
    results = Results.open(synthetic.run(tmp_path, changes={"title": "[red]not red[/red]"}))
    assert "[red]not red[/red]" in printed(results, 80)


def test_things_tried_stand_side_by_side_with_their_speed_up(tmp_path: Path) -> None:
    for number, (variant, seconds) in enumerate({"as is": 12.0, "tuned": 4.0, "8 streams": 2.0}.items()):
        changes = {"variant": variant, "point": {"path_kind": "GEO"}, "published": None}
        entry = {"page": records.http([seconds])}
        synthetic.run(tmp_path, f"{number}", changes=changes | {"workloads": entry})
    lines = printed(Results.open(tmp_path), 80).splitlines()
    tuned = next(line for line in lines if line.startswith("tuned"))
    assert tuned.split()[1:3] == ["4", "3"]
    assert not any("path_kind" in line for line in lines)


def test_a_narrow_terminal_leaves_out_what_it_may_and_cuts_nothing(tmp_path: Path) -> None:
    for number, variant in enumerate(("as is", "a thing with a name that is rather long")):
        record = records.high_latency_lab(variant=variant)
        record["workloads"]["fetch"]["bytes"] = 104857601
        synthetic.run(tmp_path, f"{number}", changes=record)
    results = Results.open(tmp_path)
    wide, narrow = (printed(results, width) for width in (160, 80))
    assert "range" in wide
    assert "range" not in narrow
    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert "…" not in narrow


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"kind": "bulk", "size_bytes": 40_000_000, "streams": 8}, "40 MB, 8 streams"),
        ({"kind": "bulk", "time_ns": 30 * 10**9, "streams": 1}, "30 s"),
        ({"kind": "http", "size_bytes": 104857601, "fetches": 5}, "a file of 105 MB, 5 times"),
        (
            {"kind": "http", "objects_bytes": [1000, 2000], "connections": 6},
            "a page of 2 objects, 3 kB, 6 connections",
        ),
        ({"kind": "channels", "channels": 20, "servers": 23}, "20 channels to 23 servers"),
        ({"kind": "exec"}, ""),
    ],
)
def test_what_was_asked_is_said_in_a_few_words(spec: dict[str, object], words: str) -> None:
    assert asked_words(spec).replace("\N{NO-BREAK SPACE}", " ") == words


def test_each_kind_of_work_has_a_table_of_its_own(tmp_path: Path) -> None:
    works = {"page": records.http([2.5]), "transfer": records.bulk(10.0)}
    results = Results.open(synthetic.run(tmp_path, changes={"workloads": works}))
    text = printed(results, 80)
    assert text.index("Transfers") < text.index("Fetches")
    assert max(len(line) for line in text.splitlines()) <= 80
    assert html.render(results).count('<table class="figures" data-spare=') == 2


def compared(*folders: Path, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison.render(compare_all([Results.open(folder) for folder in folders])))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_comparison_has_a_table_for_each_kind(tmp_path: Path) -> None:
    works = {"page": records.http([2.5]), "transfer": records.bulk(10.0)}
    for name in ("a", "b"):
        synthetic.run(tmp_path / name, changes={"workloads": works})
    lines = compared(tmp_path / "a", tmp_path / "b")
    for title in ("Fetches: page", "Transfers: transfer"):
        assert lines.count(title) == 2  # above its verdicts, and above its table
    assert sum(line.startswith("b:") for line in lines) == 2


def test_a_variant_that_two_sweeps_have_is_compared_with_itself(tmp_path: Path) -> None:
    for name, factor in (("sim", 1.0), ("live", 2.0)):
        for number, variant in enumerate(("as is", "tuned", "BBR", "8 streams", "16 streams")):
            entry = {"transfer": records.bulk(10.0 * (number + 1) * factor)}
            synthetic.run(tmp_path / name, f"{number}", changes={"variant": variant, "workloads": entry})
    lines = compared(tmp_path / "sim", tmp_path / "live")
    rows = [" ".join(line.split()) for line in lines if line.startswith("live, ") and ":" not in line]
    for number, row in enumerate(rows, 1):
        assert f" {10 * number} {20 * number} 2 1" in row
    assert len(rows) == 5
    assert not any("…" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_things_tried_in_one_sweep_are_compared_by_their_speed_up(tmp_path: Path) -> None:
    for number, (variant, seconds) in enumerate({"as is": 12.0, "tuned": 4.0}.items()):
        changes = {"variant": variant, "point": {}, "workloads": {"page": records.http([seconds])}}
        synthetic.run(tmp_path, f"{number}", changes=changes)
    verdict, row = (line for line in compared(tmp_path) if line.startswith("tuned"))
    assert verdict.rstrip() == "tuned: 3 times as fast (one pair: no interval)"
    assert row.split()[1:4] == ["12", "4", "3"]


def test_a_lab_of_pings_has_a_table_too(tmp_path: Path) -> None:
    ping = {"kind": "ping", "sent": 10, "lost": 1, "min_ms": 550.1, "median_ms": 550.3, "max_ms": 551.0}
    results = Results.open(synthetic.run(tmp_path, changes={"workloads": {"rtt": ping}}))
    assert "550.3" in printed(results, 80)


def test_a_run_without_an_error_report_is_not_believed() -> None:
    assert "discard this run" in " ".join(engine_words.sentences({"engine": "live"}))


def test_the_engines_words_name_what_was_lost_outside_the_model(geo: Results) -> None:
    record = geo.records[0]
    assert "No packet was lost outside the model" in " ".join(engine_words.sentences(record))
    lossy = record | {"engine_error": record["engine_error"] | {"unintended_loss": 3}}
    assert "3 packets got lost outside the model" in " ".join(engine_words.sentences(lossy))
