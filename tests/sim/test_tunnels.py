"""A coded tunnel in a run of `sim`: its figures, its line in the report, and what is refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bentpipe
from bentpipe import EngineError
from bentpipe.analysis import limits
from bentpipe.charts import files
from bentpipe.report import explained, tunnel_explained
from bentpipe.runs.summary import summary
from bentpipe.words.wording import plural
from invocation import called

LAB = """
duration = "60 s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
[path.down]
loss = 0.01
[client]
tcp_rmem = [4096, 131072, 2000000]
[[workload]]
name = "rtt"
kind = "ping"
count = 10
interval = "200 ms"
[[workload]]
name = "download"
kind = "bulk"
[[variant]]
name = "coded"
set = { "tunnel.redundancy" = 0.1 }
"""
CHANNELS = """
[[workload]]
name = "clients"
kind = "channels"
channels = 3
servers = 3
terrestrial = { delay = "40 ms" }
size = "10 kB"
"""
EXEC = '[[workload]]\nname = "it"\nkind = "exec"\ncommand = ["true"]\n'


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (file := tmp_path / "lab.toml").write_text(LAB)
    return file


def test_flows_of_servers_at_delays_of_their_own_cross_a_tunnel(lab: Path) -> None:
    lab.write_text(LAB + CHANNELS)
    plain, coded = bentpipe.Lab.load(lab).run(engine="sim").records
    finished = [run["workloads"]["clients"]["small_flows"]["count"] for run in (plain, coded)]
    assert min(finished) > 50
    assert coded["tunnel"]["down"]["recovered"] > 50


def test_a_coded_download_is_much_faster_and_its_tunnel_is_measured(lab: Path) -> None:
    runs: Sequence[Any] = bentpipe.Lab.load(lab).run(engine="sim").records
    plain, coded = runs
    assert "tunnel" not in plain
    goodput = [run["workloads"]["download"]["goodput_mbit_s"] for run in (plain, coded)]
    assert goodput[1] > 5 * goodput[0]
    assert coded["pipes"]["down"]["goodput_mbit_s"] > 0
    down = coded["tunnel"]["down"]
    assert down["redundancy_sent"] == pytest.approx(0.1, abs=0.001)
    assert down["redundancy_used"] == pytest.approx(0.01, abs=0.003)
    assert down["residual_loss"] == 0
    assert 0 < down["decoding_delay_s_p50"] < down["decoding_delay_s_p95"]
    assert coded["tunnel"]["up"]["recovered"] == 0


def test_the_terminal_says_in_one_line_what_the_tunnel_did(lab: Path, tmp_path: Path) -> None:
    command = ["run", str(lab), "--engine", "sim", "--out", str(tmp_path / "out"), "--variant", "coded"]
    done = called(command, tmp_path)
    assert done.status == 0
    words = " ".join(done.stdout.split())
    assert "Tunnel, per packet: repairs sent 10 %, used " in words
    assert "lost for good 0 %" in words
    record = json.loads(next((tmp_path / "out").glob("*/run.json")).read_text())
    assert set(record["tunnel"]) == {"down", "up"}


def test_what_is_sent_again_on_request_is_counted_and_helps_tcp(lab: Path) -> None:
    lab.write_text(LAB.replace('"tunnel.redundancy" = 0.1', '"tunnel.repair" = "exact"'))
    runs: Sequence[Any] = bentpipe.Lab.load(lab).run(engine="sim").records
    plain, exact = runs
    down = exact["tunnel"]["down"]
    assert down["repairs"] == down["recovered"] == 0
    came = down["exact_used"] + down["exact_useless"]
    assert came == pytest.approx(0.99 * down["exact_repairs"], rel=0.03)
    assert down["exact_used"] > 3 * down["exact_useless"]
    assert down["exact_delay_s_p50"] > 0.55
    goodput = [run["workloads"]["download"]["goodput_mbit_s"] for run in (plain, exact)]
    assert goodput[1] > 2 * goodput[0]


def test_the_record_has_the_delay_of_each_second_in_which_packets_left(lab: Path, tmp_path: Path) -> None:
    runs: Sequence[Any] = bentpipe.Lab.load(lab).run(engine="sim", out=tmp_path / "out").records
    down = runs[1]["tunnel"]["down"]
    seconds = down["per_second"]
    assert seconds["start_s"][:3] == [0, 1, 2]
    assert max(seconds["added_delay_s_max"]) >= down["decoding_delay_s_max"]
    assert all(
        0 <= mean <= longest
        for mean, longest in zip(seconds["added_delay_s_mean"], seconds["added_delay_s_max"], strict=True)
    )
    # A table of runs and the summary have none of it.
    assert "per_second" not in summary(runs[1])["tunnel"]["down"]
    assert bentpipe.Results.open(tmp_path / "out").runs.height == 2


def test_explain_says_what_the_tunnel_did(lab: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    called(["run", str(lab), "--engine", "sim", "--out", str(out), "--variant", "coded"], tmp_path)
    words = " ".join(called(["explain", str(out)], tmp_path).stdout.split())
    record = json.loads(next(out.glob("*/run.json")).read_text())["tunnel"]["down"]
    crossed, recovered = (" ".join(plural(record[key], "packet").split()) for key in ("packets", "recovered"))
    assert f"Tunnel down: {crossed} crossed with" in words
    assert f"Repairs recovered {recovered}. Lost for good: none." in words
    assert "% of the packets were useless." in words
    assert "The path lost no packet." in words  # upwards
    found = json.loads(called(["explain", str(out), "--json"], tmp_path).stdout)
    assert found["tunnel"]["down"]["recovered"] == record["recovered"]


def test_explain_does_not_say_that_a_path_that_loses_everything_lost_no_packet(
    lab: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    lossy = ["--set", "path.loss=1.0", "--set", "path.down.loss=1.0"]
    called(["run", str(lab), "--out", str(out), "--variant", "coded", *lossy], tmp_path)
    words = " ".join(called(["explain", str(out)], tmp_path).stdout.split())
    record = json.loads(next(out.glob("*/run.json")).read_text())
    assert record["tunnel"]["up"]["lost"] == record["tunnel"]["up"]["recovered"] == 0
    dropped = plural(sum(record["pipes"]["up"]["drops"].values()), "packet")
    assert f"The path dropped {' '.join(dropped.split())} of the tunnel" in words
    assert "The path lost no packet." not in words
    # A record comes from outside. A figure that reading does not check may be missing or of another type.
    damaged: list[dict[str, Any]] = [
        {**record, "totals": []},
        {**record, "pipes": {**record["pipes"], "up": None}},
        {**record, "pipes": {**record["pipes"], "up": {"drops": {"tail": None}}}},
    ]
    for each in damaged:
        assert any(line.startswith("Tunnel up: ") for line in tunnel_explained.lines(each))


def test_explain_blames_a_small_window_on_what_the_tunnel_did_not_repair(lab: Path, tmp_path: Path) -> None:
    titrated = LAB.replace('"tunnel.redundancy" = 0.1', '"tunnel.redundancy" = "titrated"')
    lab.write_text(titrated.replace("[client]\ntcp_rmem = [4096, 131072, 2000000]\n", ""))
    results = bentpipe.Lab.load(lab).run(engine="sim", out=tmp_path / "out")
    plain, coded = (limits.explain(results, run) for run in results.records)
    assert plain.pipes[0].losses == plain.pipes[0].drops
    (down,) = coded.pipes
    assert down.drops["channel"] > 100
    assert sum(down.losses.values()) <= coded.record["tunnel"]["down"]["lost"]
    assert "aqm" not in down.losses
    if down.drops.get("aqm"):
        assert "as repairs without room in the queue" in " ".join(explained.lines(coded))


def test_a_run_with_a_tunnel_has_a_chart_of_its_delay_and_one_without_has_none(
    lab: Path, tmp_path: Path
) -> None:
    results = bentpipe.Lab.load(lab).run(engine="sim", out=tmp_path / "out")
    panels = [
        {panel.name: panel for chart in files.of_run(results, run) for panel in chart.panels}
        for run in results.records
    ]
    assert "tunnel-delay" not in panels[0]
    panel = panels[1]["tunnel-delay"]
    assert [series.label for series in panel.series] == ["mean down", "longest down"]
    assert max(value or 0 for value in panel.series[1].y) <= panel.levels[0].value == 137.5
    assert "Waiting for lost packets added" in panel.sentence


def test_a_sweep_over_redundancy_has_a_chart_of_goodput_with_a_band(lab: Path, tmp_path: Path) -> None:
    text = LAB.replace('duration = "60 s"', 'duration = "20 s"\nrepeat = 6').partition("[[variant]]")[0]
    lab.write_text(text + '[tunnel]\n[sweep]\n"tunnel.redundancy" = [0, 0.02, 0.1]\n')
    results = bentpipe.Lab.load(lab).run(engine="sim", out=tmp_path / "out")
    charts = {chart.title: chart for chart in files.over_all(results)}
    chart = charts["download, goodput over redundancy"]
    (series,) = chart.panels[0].series
    assert list(series.x) == [0, 0.02, 0.1]
    assert series.band
    assert series.y[2] > series.y[0]
    assert "holds the true median with a probability of " in chart.sentence


def test_a_near_host_beside_a_tunnel_is_refused(lab: Path) -> None:
    lab.write_text(LAB + "[near]\n[tunnel]\n")
    with pytest.raises(EngineError, match="no near host beside a tunnel"):
        bentpipe.Lab.load(lab).run(engine="sim")


def test_exec_beside_a_tunnel_is_refused_as_without(lab: Path) -> None:
    lab.write_text(LAB + EXEC + "[tunnel]\n")
    with pytest.raises(EngineError, match="exec"):
        bentpipe.Lab.load(lab).run(engine="sim")


def test_without_repairs_each_packet_that_did_not_come_is_lost_also_among_the_last(lab: Path) -> None:
    text = LAB[: LAB.index("[[variant]]")] + "[tunnel]\nredundancy = 0\n"
    text = text.replace("loss = 0.01", "loss = 0.3").replace("count = 10", "count = 50")
    text = text[: text.index('[[workload]]\nname = "download"')] + text[text.index("[tunnel]") :]
    lab.write_text(text)
    record = bentpipe.Lab.load(lab).run(engine="sim").records[0]
    assert record["workloads"]["rtt"]["lost"] > 10
    assert record["tunnel"]["down"]["lost"] == record["workloads"]["rtt"]["lost"]


def test_only_named_workloads_cross_in_the_tunnel(lab: Path) -> None:
    def ran(name: str, *carries: str) -> dict[str, Any]:
        text = (
            LAB.replace('"coded"', f'"{name}"') + f"[tunnel]\nredundancy = 0.1\ncarries = {list(carries)}\n"
        )
        lab.write_text(
            text.replace("[[variant]]", '[[workload]]\nname = "other"\nkind = "bulk"\n[[variant]]')
        )
        return dict(bentpipe.Lab.load(lab).run(engine="sim").records[0])

    all_named = ran("a", "rtt", "download", "other")
    one, pings = ran("a", "download"), ran("a", "rtt")
    lab.write_text(lab.read_text().replace("carries", "# "))
    every: dict[str, Any] = dict(bentpipe.Lab.load(lab).run(engine="sim").records[0])
    assert all_named["workloads"] == every["workloads"]
    assert all_named["tunnel"] == every["tunnel"]
    assert pings["tunnel"]["down"]["packets"] == 10
    goodput = {name: one["workloads"][name]["goodput_mbit_s"] for name in ("download", "other")}
    assert goodput["download"] > 5 * goodput["other"]
    # What crosses beside the tunnel is goodput of the path as well.
    received = sum(one["workloads"][name]["bytes"] for name in goodput)
    assert one["pipes"]["down"]["goodput_mbit_s"] * 60e6 / 8 == pytest.approx(received, rel=0.001)
