"""Runs exported as CSV and as flent's files: nothing lost, nothing half, and nothing written over unasked."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from exporting import LAB, simulated
from rich.console import Console
from taking import PINGS, flent, packed, taken

from bentpipe.errors import StoreError
from bentpipe.interchange import csv_export, flent_export
from bentpipe.interchange.folder import Called, take
from bentpipe.report.terminal import table as report
from bentpipe.runs.store import Results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return simulated(tmp_path_factory.mktemp("lab"), LAB)


def documents(results: Results, folder: Path) -> list[dict[str, Any]]:
    return [json.loads(gzip.decompress(path.read_bytes())) for path in flent_export.write(results, folder)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_s_rows_are_those_of_the_table_and_null_is_empty(results: Results, tmp_path: Path) -> None:
    (path,) = csv_export.write(results, tmp_path / "csv", ["sockets"])
    found = rows(path)
    assert len(found) == results.sockets.height
    assert list(found[0]) == results.sockets.columns
    for column in ("run", "cwnd_segments", "ssthresh_segments"):
        expected = ["" if value is None else str(value) for value in results.sockets[column]]
        assert [row[column] for row in found] == expected
    assert "" in {row["ssthresh_segments"] for row in found}
    assert [float(row["time_s"]) for row in found] == results.sockets["time_s"].to_list()


def test_the_table_of_runs_has_the_figures_under_their_dotted_names(results: Results, tmp_path: Path) -> None:
    paths = csv_export.write(results, tmp_path / "csv")
    assert [path.name for path in paths] == ["runs.csv", "link.csv", "flows.csv", "sockets.csv", "pings.csv"]
    for row, record in zip(rows(paths[0]), results.records, strict=True):
        assert row["point.workload.download.direction"] == record["point"]["workload.download.direction"]
        goodput = record["workloads"]["download"]["goodput_mbit_s"]
        assert float(row["workload.download.goodput_mbit_s"]) == goodput
        assert (row["reliable"], row["why"], row["started"]) == ("true", "", record["started"][:19] + "Z")


def test_a_file_that_is_there_is_kept_unless_it_may_go(results: Results, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("mine")
    with pytest.raises(StoreError, match=r"flows\.csv: exists already; add --force to overwrite it"):
        csv_export.write(results, tmp_path, ["link", "flows"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flows.csv"]
    csv_export.write(results, tmp_path, ["flows"], force=True)
    assert len(rows(tmp_path / "flows.csv")) == results.flows.height


def test_what_breaks_off_leaves_no_file(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def break_off(_results: Results, record: dict[str, Any]) -> bytes:
        calls.append(record["run"])
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return b"half"

    monkeypatch.setattr(flent_export, "data_file", break_off)
    with pytest.raises(OSError, match="No space"):
        flent_export.write(results, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_table_is_named_with_those_that_are(results: Results, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match='found "tools"; expected runs, link, flows, sockets, pings'):
        csv_export.write(results, tmp_path, ["tools"])


def test_series_have_a_value_or_null_at_every_step_of_100_ms(results: Results, tmp_path: Path) -> None:
    for document in documents(results, tmp_path):
        x = document["x_values"]
        assert x == [round(step * 0.1, 1) for step in range(len(x))]
        assert {len(values) for values in document["results"].values()} == {len(x)}
        assert (
            set(document["raw_values"]) < set(document["results"]) == set(document["metadata"]["SERIES_META"])
        )


def test_raw_values_are_on_one_clock_that_begins_with_the_first(results: Results, tmp_path: Path) -> None:
    document = documents(results, tmp_path)[0]
    pings = document["raw_values"]["Ping (ms) ICMP"]
    spread = results.of_run(results.records[0]["run"], "pings").sort("time_s")["time_s"].to_list()
    assert [each["t"] - pings[0]["t"] for each in pings] == pytest.approx(
        [at - spread[0] for at in spread], abs=1e-5
    )
    download = document["raw_values"]["TCP download"]
    carried = sum(each["val"] * each["dur"] * 125_000 for each in download if "val" in each)
    assert carried == pytest.approx(results.records[0]["workloads"]["download"]["bytes"], rel=0.01)


def test_the_name_is_that_of_flents_test_with_such_series(results: Results, tmp_path: Path) -> None:
    names = [document["metadata"]["NAME"] for document in documents(results, tmp_path)]
    assert names == ["tcp_1down", "tcp_1down", "tcp_1up", "tcp_1up"]


def test_a_run_gives_the_same_file_every_time(results: Results) -> None:
    record = results.records[0]
    assert flent_export.data_file(results, record) == flent_export.data_file(results, record)


def test_an_export_taken_back_is_the_same_in_a_report(results: Results, tmp_path: Path) -> None:
    files = flent_export.write(results, tmp_path / "flent")
    take(files, tmp_path / "back", Called())
    back = Results.open(tmp_path / "back")

    def printed(of: Results) -> str:
        console = Console(width=160, record=True, file=(tmp_path / "log").open("w"))
        console.print(report(of))
        return console.export_text().replace("imported", "     yes")

    assert printed(back).replace(" ", "") == printed(results).replace(" ", "")
    for ours, theirs in zip(results.records, back.records, strict=True):
        for key in ("lab", "title", "variant", "point", "seed", "workloads", "pipes", "queue"):
            assert theirs[key] == ours[key], key
    assert back.pings["rtt_s"].to_list() == pytest.approx(results.pings["rtt_s"].to_list())


def test_several_transfers_one_way_are_numbered(tmp_path: Path) -> None:
    rival = '[[workload]]\nname = "rival"\nkind = "bulk"\ndirection = "down"\nsize = "100 kB"\n'
    results = simulated(tmp_path, LAB.split("[sweep]")[0] + rival)
    (document,) = documents(results, tmp_path / "flent")
    assert document["metadata"]["NAME"] == "tcp_ndown"
    assert {"TCP download::1", "TCP download::2"} < set(document["results"])
    take(list((tmp_path / "flent").iterdir()), tmp_path / "back", Called())
    assert Results.open(tmp_path / "back").records[0]["workloads"] == results.records[0]["workloads"]


def test_a_ping_of_which_nobody_knows_when_it_was_sent_is_left_out_of_the_series(tmp_path: Path) -> None:
    pings = packed(tmp_path / "a.gz", flent({"Ping (ms) ICMP": PINGS}))
    (document,) = documents(taken(tmp_path / "out", pings), tmp_path / "flent")
    assert [each["seq"] for each in document["raw_values"]["Ping (ms) ICMP"]] == [1, 2, 4]


def test_channels_and_fetches_come_back_with_all_their_figures(tmp_path: Path) -> None:
    channels = (
        '[[workload]]\nname = "clients"\nkind = "channels"\nchannels = 3\nservers = 2\n'
        'size = { distribution = "bounded-pareto", shape = 1.2, min = "1.5 kB", max = "1 MB" }\n'
        '[[workload]]\nname = "page"\nkind = "http"\nobjects = ["20 kB", "30 kB"]\nfetches = 2\n'
    )
    lab = LAB.split("[sweep]")[0].replace("until", 'duration = "5 s"\nuntil') + channels
    results = simulated(tmp_path, lab)
    take(flent_export.write(results, tmp_path / "flent"), tmp_path / "back", Called())
    (back,), (record,) = Results.open(tmp_path / "back").records, results.records
    assert back["workloads"] == record["workloads"]
    assert (back["pipes"], back["queue"]) == (record["pipes"], record["queue"])
