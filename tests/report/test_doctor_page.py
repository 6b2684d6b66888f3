"""The doctor's page: what it says stands on it as text, and its charts are plotly's."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.path_seen import paths_seen
from bentpipe.doctor.reproduced import reproduced
from bentpipe.doctor.words import path_rows
from bentpipe.errors import StoreError
from bentpipe.report.doctor_page import Source, render, write

LAB = {
    "duration": "5 s",
    "path": {"rtt": "50 ms", "rate": "20 Mbit/s"},
    "client": {"tcp_rmem": [4096, 65536, 65536]},
    "workload": [{"name": "download", "kind": "bulk"}],
}


@pytest.fixture(scope="module")
def source() -> Source:
    run = bentpipe.simulate(bentpipe.Lab(**LAB))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    evidences = from_run.transfers(run.record, tables, "sender")
    found = [diagnose(replace(each, name="a <b> download")) for each in evidences]
    paths = paths_seen(found)
    again = [reproduced(found[0], paths[0])]
    return Source("the <run>", found, [[]], again, paths, ["A remark & more."])


def test_the_page_has_findings_remarks_and_a_chart_of_each_transfer(source: Source) -> None:
    page = render([source])
    assert "receiver-window" in page
    assert "a &lt;b&gt; download" in page
    assert "<b> download" not in page
    assert "A remark &amp; more." in page
    assert "Path as seen: base RTT" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "simulated on the path as seen" in page
    (figures,) = re.findall(r'id="figures">(.*?)</script>', page)
    (charts,) = json.loads(figures)
    assert [each["title"] for each in charts] == [
        "Rate",
        "What is in flight, and its bounds",
        "Round-trip time",
    ]
    assert all(each["figure"]["data"][0]["y"] for each in charts)


def test_the_page_has_a_table_of_each_path_with_intervals(source: Source) -> None:
    (path,) = source.paths
    page = render([source])
    assert page.count('<table class="path">') == 1
    for name, value, interval in path_rows(path):
        assert f'<th scope="row">{name}</th><td>{value}</td><td>{interval}</td>' in page
    assert "The path in figures" in page
    other = replace(path, rtt_s=0.3)
    two = replace(source, found=source.found * 2, cures=[[], []], simulated=[None] * 2, paths=[path, other])
    assert render([two]).count("<caption>The path (a &lt;b&gt; download) in figures</caption>") == 2


def test_a_watch_that_saw_nothing_has_a_page_too() -> None:
    assert "nothing can be told" in render([Source("all", [], [], [], [], [])])


def test_a_transfer_without_samples_has_no_charts(source: Source) -> None:
    (found,) = source.found
    short = diagnose(replace(found.evidence, samples=found.evidence.samples.clear()))
    page = render([replace(source, found=[short])])
    (figures,) = re.findall(r'id="figures">(.*?)</script>', page)
    assert json.loads(figures) == [[]]


def test_the_page_is_written_whole_or_not_at_all(source: Source, tmp_path: Path) -> None:
    write(tmp_path / "page.html", [source])
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(StoreError, match="--html"):
        write(tmp_path / "gone" / "page.html", [source])
