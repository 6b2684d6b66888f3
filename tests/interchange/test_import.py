"""Imports into a folder: all of them or none, none twice, and never among a lab's own runs."""

import gzip
import json
from pathlib import Path

import pytest
from taking import SAMPLES, sample, taken, written

from bentpipe.analysis.cells import cells
from bentpipe.errors import StoreError
from bentpipe.interchange import foreign
from bentpipe.interchange.folder import Called, take
from bentpipe.report.columns import mark
from bentpipe.report.engine_words import sentences
from bentpipe.report.html import render
from bentpipe.report.run_part import badge
from bentpipe.runs.store import Results


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_test_that_is_there_is_not_counted_twice_from_whichever_end(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = take([SAMPLES / "up_by_client.json"], out, Called())
    again = take([SAMPLES / "up_by_client.json", SAMPLES / "up_by_server.json"], out, Called(variant="x"))
    run = first.runs[0][1]
    assert again.runs == []
    assert [name for _, name in again.known] == [run, run]
    assert len(Results.open(out).records) == 1


def test_a_folder_of_imports_grows(tmp_path: Path) -> None:
    out = tmp_path / "out"
    taken(out, "up.json", called=Called(lab="office"))
    results = taken(
        out, "down.json", "by_size.json", called=Called(variant="tuned", point={"path.rtt": "9 ms"})
    )
    assert [run["run"] for run in results.records] == [
        "001_as-is_up",
        "002_tuned_9-ms_down",
        "003_tuned_9-ms_by-size",
    ]
    assert [run["seed"] for run in results.records] == [1, 1, 2]
    assert {run["lab"] for run in results.records} == {"office"}
    with pytest.raises(StoreError, match="leave --name away"):
        take([SAMPLES / "udp_up.json"], out, Called(lab="home"))


def test_one_bad_file_among_good_ones_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    bad = tmp_path / "bad.json"
    bad.write_text('{"start": ')
    with pytest.raises(StoreError, match=r"bad\.json, line 1, column 11: found text that is not JSON"):
        take([SAMPLES / "up.json", bad], out, Called())
    assert not out.exists()
    taken(out, "down.json")
    before = files_in(out)
    with pytest.raises(StoreError):
        take([SAMPLES / "up.json", bad], out, Called())
    assert files_in(out) == before


def test_a_lab_s_own_sweep_takes_no_imports(tmp_path: Path) -> None:
    (tmp_path / "lab.json").write_text(json.dumps({"engine": "sim", "digest": "x"}))
    (tmp_path / "001").mkdir()
    (tmp_path / "001" / "run.json").write_text("{}")
    before = files_in(tmp_path)
    with pytest.raises(StoreError, match=r"holds the runs of a lab \(engine sim\)"):
        take([SAMPLES / "up.json"], tmp_path, Called())
    assert files_in(tmp_path) == before


def test_a_folder_of_something_else_takes_no_imports(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty and holds no runs of this lab"):
        take([SAMPLES / "up.json"], tmp_path, Called())
    assert files_in(tmp_path) == ["notes.txt"]


def test_repeats_of_one_thing_that_were_not_asked_the_same_are_told(tmp_path: Path) -> None:
    said = take([SAMPLES / "down.json", SAMPLES / "omitted_second.json"], tmp_path / "out", Called())
    assert said.notes == [
        'the 2 runs of "as is" count as repeats of one thing, but differ in length; '
        "tell them apart by --variant or --point"
    ]


def test_tables_and_pages_say_that_nothing_is_known_of_their_error(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "up.json", "idle.flent.gz")
    (transfer, _) = results.records
    assert sentences(transfer) == [
        "This run was imported from a file of iperf3: of its own error nothing is known."
    ]
    assert badge(transfer) == "imported"
    assert {mark(cell) for cell in cells(results.records)} == {"imported"}
    assert "imported" in render(results)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "found an empty file", id="empty"),
        pytest.param(b"\x1f\x8b\x08\x00damaged", "found damaged gzip", id="damaged gzip"),
        pytest.param(gzip.compress(b"{}" * 50)[:-9], "found damaged gzip", id="gzip that is cut off"),
        pytest.param(b"BZh9damaged", "found damaged bzip2", id="damaged bzip2"),
        pytest.param(b'{"a": "\xff"}', "byte 7: found a byte that is not UTF-8", id="not UTF-8"),
        pytest.param(b"[" * 200_000, "found values nested too deeply", id="nested deeply"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "found a number too long", id="long number"),
        pytest.param(b"{}", "found JSON of an unknown program", id="empty object"),
        pytest.param(b'"iperf3"', "found JSON of an unknown program", id="text"),
    ],
)
def test_a_file_that_is_none_of_theirs_is_one_message(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(StoreError) as raised:
        take([file], tmp_path / "out", Called())
    assert str(raised.value).startswith(str(file))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.flent.gz"
    bomb.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(StoreError, match="found more than 1 MiB of text"):
        take([bomb], tmp_path / "out", Called())


def test_numbers_that_are_none_are_not_known(tmp_path: Path) -> None:
    document = json.dumps(sample("down")).replace('"retransmits": 0', '"retransmits": NaN')
    file = tmp_path / "nan.json"
    file.write_text(document.replace('"seconds": 2.000105', '"seconds": 1e999'))
    entry = taken(tmp_path / "out", file).records[0]["workloads"]["download"]
    assert entry["retransmits"] is None
    assert entry["duration_s"] == pytest.approx(2.0001, abs=1e-4)  # by its intervals


def test_a_folder_or_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="found a folder; expected a file"):
        take([tmp_path], tmp_path / "out", Called())
    with pytest.raises(StoreError, match="found no such file"):
        take([tmp_path / "none.json"], tmp_path / "out", Called())


def test_text_that_no_utf8_can_hold_does_not_stop_a_run(tmp_path: Path) -> None:
    document = sample("down") | {"title": "\ud800"}
    (record,) = taken(tmp_path / "out", written(tmp_path / "odd.json", document)).records
    assert record["variant"] == "?"


def test_what_a_file_says_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    refused = sample("refused") | {"error": "no\n\x1b[2Jroute"}
    with pytest.raises(StoreError, match=r"\(no\\n\\x1b\[2Jroute\)"):
        take([written(tmp_path / "refused.json", refused)], tmp_path / "out", Called())
    titled = written(tmp_path / "titled.json", sample("down") | {"title": "\x1b[31mred"})
    assert taken(tmp_path / "out", titled).records[0]["variant"] == r"\x1b[31mred"
