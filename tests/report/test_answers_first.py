"""A page begins with what was changed, says figures in words and units, and lays variants over each other."""

import io
import re
from pathlib import Path

import pytest
import records
import synthetic
from rich.console import Console
from test_page import parts

from bentpipe.analysis.limits import explain
from bentpipe.charts import plotly
from bentpipe.charts.build import lines, speed_up
from bentpipe.charts.description import Axis, Cells, Chart, Panel
from bentpipe.charts.ranges import apart, log_ticks, spans_a_decade
from bentpipe.report import html, terminal
from bentpipe.report.figure_words import figures, shown
from bentpipe.report.run_rows import run_rows
from bentpipe.runs.store import Results
from bentpipe.words import wording
from bentpipe.words.wording import percent


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three losses by two variants by five seeds: the second is three times as fast where there is loss."""
    out = tmp_path_factory.mktemp("lossy")
    number = 0
    for loss, goodput in ((0, 18.0), (0.001, 6.0), (0.01, 2.0)):
        for variant, times in (("as is", 1.0), ("BBR", 3.0 if loss else 1.0)):
            for seed in range(1, 6):
                number += 1
                work = {"download": records.bulk(goodput * times * (1 + seed / 100))}
                record = records.run(work, variant=variant, seed=seed, point={"path.loss": loss})
                synthetic.run(out, f"{number:03d}", changes=record | {"published": None})
    return Results.open(out)


@pytest.fixture(scope="module")
def lossy_page(lossy: Results) -> str:
    return html.render(lossy)


@pytest.fixture(scope="module")
def page_of_pairs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two variants by three seeds: the second is about twice as fast."""
    out = tmp_path_factory.mktemp("pairs")
    for number in range(6):
        seed, variant = number // 2, ("as is", "tuned")[number % 2]
        transfer = records.bulk(1.0 + number % 2 + 0.01 * seed, bytes=10**6)
        record = records.run({"download": transfer}, variant=variant, seed=seed)
        synthetic.run(out, f"{number}", changes=record | {"published": None})
    return html.render(Results.open(out))


def test_a_page_of_variants_begins_with_what_each_changed(lossy_page: str) -> None:
    assert "<dt>BBR</dt>" in lossy_page
    assert lossy_page.index("<dt>BBR</dt>") < lossy_page.index("<table")
    assert lossy_page.index("<h2>What changed</h2>") < lossy_page.index("<h2>Transfers")


def test_ratios_at_each_point_are_shown_where_no_other_table_has_them(lossy_page: str) -> None:
    ratios = lossy_page[lossy_page.index("Ratios at each point") :].partition("</details>")[0]
    assert '<details class="plain" open>' in lossy_page
    assert "loss 0.01" in ratios
    assert "<td>3</td>" in ratios


def test_a_page_of_one_variant_has_nothing_to_compare(geo_page: str) -> None:
    assert "What changed" not in geo_page


def test_a_page_of_one_run_begins_with_what_limited_it(geo: Results, geo_page: str) -> None:
    limited = geo_page[geo_page.index("<h2>What limited it</h2>") :].partition("</section>")[0]
    (transfer,) = explain(geo, geo.records[0]).transfers
    for finding in transfer.findings:
        assert (f"<dt>{percent(finding.share)}</dt>" in limited) == (finding.share >= 0.01)
    assert geo_page.index("What limited it") < geo_page.index("<h2>Transfers")


def test_a_page_of_several_runs_has_no_section_of_what_limited_one(lossy_page: str) -> None:
    assert "What limited it" not in lossy_page


def test_variants_lie_over_each_other_and_zero_has_a_place_on_a_logarithmic_axis(lossy: Results) -> None:
    (over,) = lines.build(lossy)
    chart = next(iter(over.charts.values()))
    (panel,) = chart.panels
    assert {series.label for series in panel.series} == {"as is", "BBR"}
    assert chart.x.log
    assert chart.x.zero is not None
    assert chart.x.tick_words == ("0", "0.001", "0.01")


def test_one_decade_is_enough_for_a_logarithmic_axis() -> None:
    assert spans_a_decade([0, 0.001, 0.01])
    assert not spans_a_decade([1, 2, 9.9])


def test_the_ends_of_an_axis_always_have_words() -> None:
    values = [0.001, 0.9, 1.0]
    kept = apart(Axis("loss", ""), values, 0.2)
    assert kept == [0, 2]


@pytest.mark.parametrize("ends", [(0.85, 1.6), (0.98, 1.03), (0.5, 40.0), (0.001, 900.0)])
def test_a_logarithmic_axis_has_three_numbers_or_more(ends: tuple[float, float]) -> None:
    ticks = log_ticks(ends, Axis("times as fast", "", log=True))
    assert len(ticks) >= 3
    assert all(ends[0] <= tick <= ends[1] for tick in ticks)


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("delay_s_mean", 7.448e-10, "0.745 ns"),
        ("delay_s_p95", 0.01234, "12.3 ms"),
        ("goodput_mbit_s", 11.94123, "11.9 Mbit/s"),
        ("goodput_mbit_s", 0.0000624, "62.4 bit/s"),
        ("queue_bytes_max", 1_099_832, "1.1 MB"),
        ("empty_share", 0.5194, "52 %"),
        ("queue_bytes_mean", 0.000338, "below 1 B"),
        ("queue_bytes_mean", 0, "0 B"),
        ("retransmits", 1323, "1\u202f323"),
        ("completion_s", None, "–"),
        ("direction", "down", "down"),
    ],
)
def test_a_figure_has_three_digits_and_the_unit_that_fits(key: str, value: object, text: str) -> None:
    assert plain(shown(key, value)) == text


def test_each_goodput_says_over_which_interval_and_where_it_was_counted(geo_page: str) -> None:
    (part,) = parts(geo_page)
    cards = {name: {key: words for words, _, key in rows} for name, _, rows in part["cards"]}
    assert cards["transfer"]["goodput_mbit_s"] == "goodput, over the transfer's own time"
    assert cards["pipe down"]["goodput_mbit_s"] == "goodput, whole run, leaving the pipe"
    assert "leaving the pipe, averages" in part["panels"][0]["sentence"]


def test_an_unknown_key_is_said_in_its_own_words() -> None:
    (figure,) = figures({"time_to_first_byte_s": 0.55})
    assert (figure.words, plain(figure.shown), figure.key) == (
        "time to first byte",
        "550 ms",
        "time_to_first_byte_s",
    )


def test_panels_of_rows_may_stand_below_each_other_on_a_narrow_screen(tmp_path: Path) -> None:
    for number, variant in enumerate(("as is", "tuned")):
        record = records.run({"download": records.bulk(1.0 + number, bytes=10**6)}, variant=variant)
        synthetic.run(tmp_path, f"{number}", changes=record | {"published": None})
    chart = speed_up.build(Results.open(tmp_path))
    assert chart
    (figure,) = plotly.figures(chart)
    assert figure["layout"]["stackable"]
    assert len(figure["layout"]["xaxis"]["tickvals"]) >= 3


def test_maps_may_stand_below_each_other_on_a_narrow_screen_with_room_for_their_titles() -> None:
    cells = Cells(words=(("1", "2"),), shades=((0.1, 0.2),), best=frozenset())
    axis = Axis("channels", "", categories=("20", "50"))
    y = Axis("queue", "", categories=("30 kB",))
    panels = tuple(Panel(name, name, "", y, (), cells=cells, x=axis) for name in ("a long title", "another"))
    chart = Chart("maps", "Maps", "", axis, panels, columns=2)
    (figure,) = plotly.figures(chart)
    stackable = figure["layout"]["stackable"]
    assert stackable["gap"] > 60  # two lines of a title and one of names
    assert stackable["least_width"] < 376


def test_a_ratio_table_says_that_its_figures_are_means_and_the_other_that_they_are_medians(
    page_of_pairs: str,
) -> None:
    assert "As is and tuned: means over the pairs." in page_of_pairs
    assert "Figures are medians over 3 runs." in page_of_pairs


def test_a_command_in_a_note_is_code_and_not_in_backticks(page_of_pairs: str) -> None:
    assert "as in <code>bentpipe compare</code>." in page_of_pairs


def test_a_table_names_the_columns_that_a_narrow_screen_may_leave_out(page_of_pairs: str) -> None:
    heads = re.findall(
        r'<table class="figures[^"]*" data-spare="([^"]*)">\n<thead><tr>(.*?)</tr>', page_of_pairs
    )
    assert heads
    named = [re.findall(r">([^<]*)</th>", head)[int(n)] for spare, head in heads for n in spare.split()]
    assert "pairs" in named
    assert not {"times as fast", "interval"} & set(named)


def test_what_changed_nothing_stands_behind_a_line_that_opens(tmp_path: Path) -> None:
    for number in range(9):
        seed, variant = number // 3, ("as is", "tuned", "same")[number % 3]
        transfer = records.bulk((2.0 if variant == "tuned" else 1.0) + 0.01 * seed, bytes=10**6)
        record = records.run({"download": transfer}, variant=variant, seed=seed)
        synthetic.run(tmp_path, f"{number}", changes=record | {"published": None})
    page = html.render(Results.open(tmp_path))
    shown, folded = page.index("<dt>tuned</dt>"), page.index("<summary>No difference seen: same</summary>")
    assert shown < folded < page.index("<dt>same</dt>") < page.index("</details>")


def test_every_table_says_over_which_interval_its_goodput_is_counted(sweep: Results) -> None:
    file = io.StringIO()
    Console(file=file, width=100).print(terminal.table(sweep))
    words = "over the transfer's own time, without what the lab leaves out (omit)"
    assert words in " ".join(file.getvalue().split())
    assert words in run_rows(sweep).counted


def test_the_table_of_runs_has_no_column_without_a_figure(tmp_path: Path) -> None:
    for number, time_s in enumerate((10.0, 20.0)):
        record = records.run({"fetch": records.http([time_s])}, seed=number)
        synthetic.run(tmp_path, f"{number}", changes=record | {"published": None})
    found = run_rows(Results.open(tmp_path))
    columns = list(zip(*(row.values for row in found.rows), strict=True))
    assert len(columns) == len(found.headers) > found.texts
    assert all(any(column) for column in columns)


def test_an_interval_that_says_nothing_has_no_digits(tmp_path: Path) -> None:
    for number, goodput in enumerate((1.0, 2.0, 1.0, 200.0)):
        seed, variant = number // 2, ("as is", "tuned")[number % 2]
        record = records.run({"download": records.bulk(goodput, bytes=10**6)}, variant=variant, seed=seed)
        synthetic.run(tmp_path, f"{number}", changes=record | {"published": None})
    page = html.render(Results.open(tmp_path))
    assert page.count("<td>too wide</td>") == 2
    assert page.count("Too wide: its ends are a factor of 1000 or more apart") == 2


@pytest.mark.parametrize(
    ("ends", "said"), [((0.9, 1.2), "0.9–1.2"), ((0.01, 9.0), "0.01–9"), ((0.01, 10.0), "too wide")]
)
def test_an_interval_of_a_ratio_is_written_up_to_a_factor_of_1000(
    ends: tuple[float, float], said: str
) -> None:
    assert wording.ratio_interval(*ends) == said
