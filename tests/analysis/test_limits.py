"""What limited a transfer, where it is known beforehand."""

import json
from pathlib import Path
from typing import Any

import pytest

import bentpipe
from bentpipe.analysis.limits import Explained, Transfer, explain
from bentpipe.report import explained

LAB = """
duration = "20 s"
[path]
rtt = "200 ms"
rate = "10 Mbit/s"
queue = "4 bdp"
[[workload]]
name = "download"
kind = "bulk"
"""


def of_run(*changes: str, lab: str = LAB) -> Explained:
    results = bentpipe.Lab.loads(lab, set=changes).run(engine="sim")
    return explain(results, results.records[0])


def transfer(*changes: str, lab: str = LAB) -> Transfer:
    (found,) = of_run(*changes, lab=lab).transfers
    return found


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ((), "capacity"),
        (("client.tcp_rmem=[4096, 65536, 131072]",), "receiver-window"),
        # At 10 Mbit/s what iperf3 writes at once, beyond such a buffer, fills the path for half of the time.
        (("server.tcp_wmem=[4096, 16384, 65536]", "path.rate=100 Mbit/s"), "send-buffer"),
        (("path.down.loss=0.01",), "random-loss"),
        (("path.down.ingress_loss=0.01",), "random-loss"),
        (("path.queue=4 packets",), "short-queue"),
        (("path.rate=1 Gbit/s", "path.queue=1 MB", "path.delay_limit=20 packets"), "line-drops"),
        (("workload.download.max_pacing_rate=4 Mbit/s",), "pacing"),
        (("path.rtt=2 s", "duration=15 s", "path.rate=100 Mbit/s"), "slow-start"),
    ],
)
def test_the_limit_that_was_set_has_the_largest_share(changes: tuple[str, ...], kind: str) -> None:
    found = transfer(*changes)
    assert found.findings[0].kind == kind, found.findings
    assert found.findings[0].share > 0.4
    assert sum(each.share for each in found.findings) == pytest.approx(1)
    assert found.why_none is None


def test_a_window_explains_the_rate_that_it_allows() -> None:
    found = transfer("client.tcp_rmem=[4096, 65536, 131072]")
    evidence = found.findings[0].evidence
    assert found.goodput_bit_s == pytest.approx(evidence["snd_wnd_bytes"] * 8 / evidence["srtt_s"], rel=0.1)


def test_each_sentence_has_its_figures_with_their_units() -> None:
    found = of_run("path.down.loss=0.01")
    text = explained.plain("\n".join(explained.lines(found)))
    record: Any = found.record
    lost = record["pipes"]["down"]["drops"]["channel"]
    assert f"after random loss, {lost} packets" in text
    assert "of the rate 10 Mbit/s" in text
    assert f"Drops down: {lost} packets by the channel's loss" in text
    assert "2 base round trips" in text
    assert 5 <= len(text.splitlines()) <= 12


def test_a_bound_of_pacing_is_named_with_its_rate() -> None:
    text = explained.plain("\n".join(explained.lines(of_run("workload.download.max_pacing_rate=4 Mbit/s"))))
    assert "spaced its packets for 4 Mbit/s" in text
    bbr = explained.plain(
        "\n".join(explained.lines(of_run("host.congestion_control=bbr", "path.rtt=500 ms")))
    )
    assert "BBR sent by its own estimate" in bbr and "spaced its packets" not in bbr


def test_where_two_causes_dropped_packets_the_sentence_names_both() -> None:
    found = of_run("path.down.loss=0.003", "path.queue=10 packets")
    drops = found.pipes[0].drops
    most, less = sorted(drops, key=lambda cause: -drops[cause])
    assert drops[less] > 0.1 * drops[most]
    names = {"tail": "drops by the full queue", "channel": "random loss"}
    text = explained.plain("\n".join(explained.lines(found)))
    assert f"cwnd was small after {names[most]}, {drops[most]} packets" in text
    assert f" or {names[less]}, {drops[less]} packets" in text
    (small,) = [each for each in found.transfers[0].findings if "dropped_packets" in each.evidence]
    assert list(small.evidence["other_drops"].values()) == [drops[less]]


def test_a_page_of_small_files_is_told_by_its_flows() -> None:
    lab = LAB.replace('kind = "bulk"', 'kind = "http"\nobjects = ["30 kB", "20 kB"]\nfetches = 5')
    found = transfer(lab=lab)
    assert found.flows == 10
    assert found.flow_s is not None
    assert found.flow_s > 0.4
    assert found.first_byte_s == pytest.approx(0.4, rel=0.1)


def test_a_connection_with_several_flows_counts_once() -> None:
    lab = LAB.replace('kind = "bulk"', 'kind = "http"\nobjects = ["30 kB", "20 kB", "9 kB"]\nconnections = 2')
    found = of_run(lab=lab)
    (page,) = found.transfers
    assert (page.flows, page.connections, page.sampled) == (3, 2, 2)
    assert "connections" not in "\n".join(explained.lines(found))


def test_what_a_cache_at_near_fetches_is_explained_by_its_connections_to_the_server() -> None:
    lab = LAB.replace("[path]", '[near]\ncache = { size = "5 MB" }\n[path]')
    found = of_run(lab=lab.replace('kind = "bulk"', 'kind = "http"\nobjects = ["800 kB"]\nfetches = 3'))
    (page,) = found.transfers
    assert (page.sampled > 0, page.cache_hits) == (True, 2)
    assert page.findings
    text = explained.plain("\n".join(explained.lines(found)))
    assert "2 flows from the cache at near" in text
    assert "of the rate" not in text


def test_a_run_without_samples_of_sockets_says_that_it_cannot_tell(tmp_path: Any) -> None:
    results = bentpipe.Lab.loads(LAB).run(engine="sim", out=tmp_path / "out")
    (tmp_path / "out" / results.names[0] / "sockets.parquet").unlink()
    bentpipe.simulate(bentpipe.Lab.loads(LAB)).table("sockets").clear().write_parquet(
        tmp_path / "out" / results.names[0] / "sockets.parquet"
    )
    results = bentpipe.Results.open(tmp_path / "out")
    found = explain(results, results.records[0])
    assert found.transfers[0].findings == ()
    assert "cannot be told: the run has no samples of sockets." in "\n".join(explained.lines(found))


@pytest.mark.parametrize("queue", ["100 kB", "100 packets", "1 bdp", "60 ms"])
def test_a_record_without_figures_in_its_specification_is_explained(tmp_path: Path, queue: str) -> None:
    results = bentpipe.Lab.loads(LAB, set=[f"path.queue={queue}"]).run(out=tmp_path)
    file = tmp_path / results.names[0] / "run.json"
    record = json.loads(file.read_text())
    limit = record["spec"]["path"]["down"]["queue"]["limit"]
    record["spec"]["path"]["down"]["queue"]["limit"] = {"unit": limit["unit"]}
    record["spec"]["path"]["mtu"] = None
    file.write_text(json.dumps(record))
    results = bentpipe.Results.open(tmp_path)
    assert explain(results, results.records[0]).pipes[0].queue_limit_bytes is None
    assert "download" in results._repr_html_()
    assert results.report(tmp_path / "page.html").exists()


def test_a_run_of_pings_has_no_transfer_to_explain() -> None:
    lab = LAB.replace('kind = "bulk"', 'kind = "ping"\ncount = 5')
    found = of_run(lab=lab)
    assert found.transfers == ()
    assert "no transfer to explain" in "\n".join(explained.lines(found))
