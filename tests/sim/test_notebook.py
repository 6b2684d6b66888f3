"""Runs in memory, and what results offer in Python and in a notebook."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl
import pytest

import bentpipe
from bentpipe.runs.place import Place
from bentpipe.runs.record import (
    EngineReport,
    PipeFigures,
    QueueFigures,
    Record,
    WorkloadFigures,
)
from bentpipe.runs.record_shape import check

PATH = {"rtt": "100 ms", "rate": "10 Mbit/s", "queue": "50 kB"}
WORK = [
    {"kind": "bulk", "name": "download", "time": "3 s"},
    {"kind": "ping", "name": "rtt", "start": "-1 s", "count": 4},
]
BBR = {"name": "bbr", "set": {"host.congestion_control": "bbr"}}
GOODPUT = "workload.download.goodput_mbit_s"


def lab(**more: Any) -> bentpipe.Lab:
    keys: dict[str, Any] = {"path": PATH, "workload": WORK, "duration": "4 s", **more}
    return bentpipe.Lab(**keys)


@pytest.fixture(scope="module")
def cures() -> bentpipe.Results:
    return lab(variant=[BBR], title="<b>cures</b>").run(seeds=range(3))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bentpipe.Results:
    folder = tmp_path_factory.mktemp("kept") / "cures"
    return lab(variant=[BBR], title="<b>cures</b>").run(seeds=range(3), keep=folder)


def test_runs_without_a_folder_leave_nothing_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    results = lab().run()
    assert list(tmp_path.iterdir()) == []
    assert results.records[0]["folder"] is None
    assert results.sockets.height > 0


@pytest.mark.parametrize("table", ["link", "flows", "sockets", "pings", "tools"])
def test_tables_in_memory_are_those_of_a_folder(
    cures: bentpipe.Results, kept: bentpipe.Results, table: str
) -> None:
    assert cures.scan(table).collect().equals(kept.scan(table).collect())
    run = cures.names[0]
    assert cures.of_run(run, table).equals(kept.of_run(run, table))


def test_runs_with_a_folder_are_kept_in_it(kept: bentpipe.Results) -> None:
    again = bentpipe.Results.open(kept.folder)
    assert again.records == kept.records
    assert again.records[0]["folder"] == str(kept.folder / kept.names[0])


def test_out_is_keep_by_its_older_name(tmp_path: Path) -> None:
    assert lab().run(out=tmp_path / "out").folder.path == tmp_path / "out"
    with pytest.raises(bentpipe.StoreError, match="expected one of them"):
        lab().run(out=tmp_path / "out", keep=tmp_path / "keep")


def test_an_interrupted_sweep_in_a_folder_goes_on(tmp_path: Path) -> None:
    first = lab().run(seeds=[1], keep=tmp_path / "out").records
    both = lab().run(seeds=[1, 2], keep=tmp_path / "out").records
    assert [record["seed"] for record in both] == [1, 2]
    assert both[0] == first[0]


def test_each_point_runs_once_with_each_seed(cures: bentpipe.Results) -> None:
    found = cures.runs.select("variant", "seed").rows()
    assert found == [(variant, seed) for variant in ("as is", "bbr") for seed in range(3)]


def test_a_run_in_memory_is_the_same_bits_as_simulate(cures: bentpipe.Results) -> None:
    run = bentpipe.simulate(lab(variant=[BBR]), seed=0)
    assert run.record["workloads"] == cures.records[0]["workloads"]


def test_a_variant_that_an_engine_has_no_means_for_is_warned_of_where_run_was_called() -> None:
    odd = {"name": "probing", "set": {"host.sysctl": {"net.ipv4.tcp_mtu_probing": "1"}}}
    with pytest.warns(UserWarning, match='variant "probing" is left out') as caught:
        results = lab(variant=[odd]).run()
    assert caught[0].filename == __file__
    assert results.runs["variant"].to_list() == ["as is"]


def test_runs_is_a_data_frame_with_a_column_for_each_figure(cures: bentpipe.Results) -> None:
    first = cures.records[0]
    row = cures.runs.row(0, named=True)
    assert isinstance(cures.runs, pl.DataFrame)
    assert row[GOODPUT] == first["workloads"]["download"]["goodput_mbit_s"]
    assert row["pipe.down.drops.tail"] == first["pipes"]["down"]["drops"]["tail"]
    assert row["queue.down.delay_s_p95"] == first["queue"]["down"]["delay_s_p95"]
    assert not any(isinstance(dtype, pl.Struct) for dtype in cures.runs.dtypes)


def test_swept_values_are_columns_of_runs_by_their_keys() -> None:
    swept = lab(sweep={"path.rtt": ["11 ms", "30 ms"]}).run()
    assert swept.runs["point.path.rtt"].to_list() == ["11 ms", "30 ms"]


def test_a_comparison_in_memory_is_the_command_lines_of_the_folder(
    cures: bentpipe.Results, kept: bentpipe.Results
) -> None:
    assert cures.compare().as_json() == kept.compare().as_json()
    table = cures.compare(metrics=[GOODPUT]).table
    (row,) = table.to_dicts()
    assert (row["thing"], row["baseline"], row["pairs"], row["unit"]) == ("bbr", "as is", 3, "Mbit/s")
    assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
    assert "bbr" in repr(cures.compare())


def test_the_baseline_can_be_any_variant(cures: bentpipe.Results) -> None:
    forth, back = (cures.compare(baseline=name, metrics=[GOODPUT]) for name in ("as is", "bbr"))
    assert back.table["thing"].to_list() == ["as is"]
    assert forth.table["ratio"][0] * back.table["ratio"][0] == pytest.approx(1)
    with pytest.raises(bentpipe.ComparisonError, match='did you mean "bbr"'):
        cures.compare(baseline="brb")


def test_what_is_required_is_met_or_not(cures: bentpipe.Results) -> None:
    asked = [f"{GOODPUT} >= 0.01 * baseline", f"{GOODPUT} >= 1000"]
    compared = cures.compare(require=asked)
    assert [check.met for check in compared.checks] == [True, False, False]  # of each variant
    assert not compared.met
    assert cures.compare(require=asked[:1]).met
    assert cures.compare(require=[f"{GOODPUT} > 0"]).comparisons == []
    with pytest.raises(bentpipe.ComparisonError, match="cannot be read"):
        cures.compare(require=["fast"])


@pytest.mark.parametrize("name", ["require", "metrics"])
def test_a_text_in_place_of_a_list_is_not_read_letter_by_letter(cures: bentpipe.Results, name: str) -> None:
    asked: dict[str, Any] = {name: f"{GOODPUT} >= 0"}
    with pytest.raises(bentpipe.ComparisonError, match=f"^{name}: found .*expected a list of texts"):
        cures.compare(**asked)


def test_results_are_compared_with_other_results(cures: bentpipe.Results, tmp_path: Path) -> None:
    longer = lab(variant=[BBR]).replace("path.rtt", "200 ms").run(seeds=range(3), keep=tmp_path / "longer")
    table = cures.compare(longer, metrics=["workload.rtt.median_ms"]).table
    assert set(table["ratio"].round(1)) == {2.0}


def test_sql_over_runs_in_memory_is_answered_as_a_data_frame(
    cures: bentpipe.Results, kept: bentpipe.Results
) -> None:
    sql = f"select variant, median({GOODPUT}) as mbit_s, count(*) as n from runs group by 1 order by 1"
    assert cures.query(sql).schema == {"variant": pl.String, "mbit_s": pl.Float64, "n": pl.Int64}
    assert cures.query(sql).equals(kept.query(sql))
    drops = "select run, sum(drops_tail)::bigint as drops from link group by 1 order by 1"
    by_run = cures.link.group_by("run").agg(pl.col("drops_tail").sum().alias("drops")).sort("run")
    assert cures.query(drops).equals(by_run)


def test_an_answer_without_rows_has_its_columns_types(cures: bentpipe.Results) -> None:
    empty = cures.query("select run, seed, wall_s, reliable from runs where false")
    assert empty.schema == {"run": pl.String, "seed": pl.Int64, "wall_s": pl.Float64, "reliable": pl.Boolean}


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select nothing from runs", "nothing"),
        ("select 1 as a, 2 as a", 'two columns "a"'),
        ("create table x as select 1", "a query only reads"),
        ("select * from read_csv('/etc/passwd')", "no file by its path"),
    ],
)
def test_a_question_without_an_answer_says_why(cures: bentpipe.Results, sql: str, said: str) -> None:
    with pytest.raises(bentpipe.QueryError, match=said):
        cures.query(sql)


def test_a_report_of_runs_in_memory_is_one_page(cures: bentpipe.Results, tmp_path: Path) -> None:
    page = cures.report(tmp_path / "page.html")
    assert page == tmp_path / "page.html"
    assert "&lt;b&gt;cures" in page.read_text(encoding="utf-8")
    with pytest.raises(bentpipe.StoreError, match="there is no folder"):
        cures.report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(bentpipe.StoreError, match="is a folder"):
        cures.report(tmp_path)


def test_a_chart_shows_itself_as_a_picture_and_in_words(cures: bentpipe.Results, tmp_path: Path) -> None:
    for name in cures.charts:
        drawing = cures.chart(name)
        shown, about = drawing._repr_mimebundle_()
        assert shown["image/png"].startswith(b"\x89PNG")
        assert shown["text/plain"] == repr(drawing) == about["image/png"]["alt"]
        assert drawing.title in repr(drawing)
    saved = cures.chart("speed-up").save(tmp_path / "chart.svg")
    assert saved.read_text(encoding="utf-8").startswith("<?xml")


def test_a_run_has_charts_of_its_own(cures: bentpipe.Results) -> None:
    assert cures.chart("over_time", run=cures.names[1]).name == f"over-time-{cures.names[1]}"
    assert "over_time" in lab().run().charts


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "pie"}, r"chart: found 'pie'; expected one of .*speed_up.*chart\(name, run=\.\.\.\)"),
        ({"name": ""}, "chart: found ''"),
        ({"name": "over_time", "run": "none"}, "holds no run 'none'"),
    ],
)
def test_a_chart_that_is_not_there_is_answered_with_those_that_are(
    cures: bentpipe.Results, asked: Mapping[str, str], said: str
) -> None:
    with pytest.raises(bentpipe.StoreError, match=said):
        cures.chart(**asked)


def test_results_say_how_many_runs_they_are_and_what_these_gave(cures: bentpipe.Results) -> None:
    assert "6 runs (sim)" in repr(cures)
    assert "bbr" in repr(cures)
    page = cures._repr_html_()
    assert "6 runs (sim)" in page
    assert "<td>bbr</td>" in page


def test_a_calculation_says_what_binds_and_why() -> None:
    said = repr(bentpipe.calc(rate="20 Mbit/s", rtt="411 ms", rcvbuf="320 KiB", sim=False))
    assert "receive window" in said
    assert "What would help" in said
    assert "\x1b" not in said


def test_text_from_files_is_escaped_where_a_notebook_shows_it() -> None:
    hostile = {"name": "<script>1", "set": {"path.rtt": "30 ms"}}
    asked = lab(variant=[hostile], title="<script>\x1b[31m")
    results = asked.run()
    for shown in (asked, results, results.compare()):
        assert "<script" not in shown._repr_html_()
        assert "&lt;script" in shown._repr_html_()
        assert "\x1b" not in shown._repr_html_() + repr(shown)


def test_hidden_characters_of_a_record_are_shown_by_their_escapes(tmp_path: Path) -> None:
    lab(variant=[BBR]).run(keep=tmp_path)
    for file in tmp_path.glob("*/run.json"):
        record = json.loads(file.read_text())
        record["workloads"]["a\u202eb"] = record["workloads"].pop("download")
        file.write_text(json.dumps(record | {"variant": f"{record['variant']}\x1b[31m"}))
    (tmp_path / "runs.parquet").unlink()
    results = bentpipe.Results.open(tmp_path)
    compared = results.compare(baseline="as is\x1b[31m")
    for shown in (results, compared):
        text = shown._repr_html_() + repr(shown)
        assert ("\x1b" in text, "\u202e" in text) == (False, False)
    assert "\\u202e" in compared._repr_html_()


def test_a_runs_record_has_no_key_that_its_type_does_not_know() -> None:
    works = [
        *WORK,
        {"kind": "http", "name": "web", "size": "20 kB", "fetches": 2},
        {"kind": "channels", "name": "island", "channels": 2, "servers": 2, "size": "10 kB"},
    ]
    record = lab(workload=works, near={"cache": {"size": "1 MB"}}).run().records[0]
    assert set(record) <= set(get_type_hints(Record))
    for part, kind in {
        "workloads": WorkloadFigures,
        "pipes": PipeFigures,
        "queue": QueueFigures,
    }.items():
        for figures in dict(record)[part].values():  # type: ignore[attr-defined]
            assert set(figures) <= set(get_type_hints(kind))
    assert set(record["engine_error"]) <= set(get_type_hints(EngineReport))
    check(dict(record), Place.of("x"))
