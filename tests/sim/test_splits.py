"""TCP that is split in runs of `sim`: its figures, its samples, what is said of it and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bentpipe
from bentpipe import EngineError
from bentpipe.analysis import limits
from bentpipe.report import explained, run_part
from bentpipe.runs.path_ends import of_the_path
from invocation import called

LAB = """
duration = "30 s"
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
count = 5
interval = "200 ms"
start = "-3 s"
[[workload]]
name = "download"
kind = "bulk"
[[variant]]
name = "split"
set = { "split.path.congestion_control" = "bbr" }
"""
CLASHES = {
    "sysctls": ('[host]\nsysctl = { "net.ipv4.tcp_mtu_probing" = 1 }\n[split]\n', "sysctl"),
    "a congestion control that `sim` has not": (
        '[split]\npath = { congestion_control = "yeah" }\n',
        r"split\.path\.congestion_control: found \"yeah\", which `sim` does not model",
    ),
    "a command": ('[[workload]]\nname = "it"\nkind = "exec"\ncommand = ["true"]\n[split]\n', "exec"),
}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (file := tmp_path / "lab.toml").write_text(LAB)
    return file


def test_bbr_across_the_path_is_much_faster_and_the_proxies_are_measured(lab: Path) -> None:
    runs: Sequence[Any] = bentpipe.Lab.load(lab).run(engine="sim").records
    plain, split = runs
    assert "split" not in plain
    goodput = [run["workloads"]["download"]["goodput_mbit_s"] for run in (plain, split)]
    assert goodput[1] > 5 * goodput[0]
    near, far = split["split"]["near"], split["split"]["far"]
    assert set(split["split"]) == {"near", "far"}
    # iperf3's control connection, and its stream.
    assert (near["connections"], far["connections"]) == (2, 2)
    assert (near["resets"], near["connect_failures"]) == (0, 0)
    assert far["down_bytes"] >= near["down_bytes"] >= split["workloads"]["download"]["bytes"]
    assert near["up_bytes"] == far["up_bytes"] > 0
    assert far["buffered_bytes_max"] > 100_000
    assert far["retransmits"] > 0
    assert split["workloads"]["rtt"]["median_ms"] == pytest.approx(550, abs=1)


def test_the_table_of_sockets_has_those_of_the_proxies(lab: Path) -> None:
    results = bentpipe.Lab.load(lab, variants=["split"]).run(engine="sim")
    (record,) = results.records
    sockets = results.of_run(record["run"], "sockets").filter(pl.col("role") == "data")
    found = sockets.group_by("host", "congestion_control").agg(pl.col("local_port").unique().sort())
    by_host = {(host, control): ports for host, control, ports in found.iter_rows()}
    assert set(by_host) == {
        ("client", "cubic"),
        ("server", "cubic"),
        *((host, control) for host in ("near", "far") for control in ("cubic", "bbr")),
    }
    # Near stands for the client on the path, and for the server on the client's side.
    assert by_host["near", "bbr"] == by_host["client", "cubic"] == by_host["far", "cubic"]
    assert by_host["far", "bbr"] == by_host["server", "cubic"] == by_host["near", "cubic"] == [5201]
    of_path = of_the_path(sockets, record)
    assert of_path.select("host", "congestion_control").unique().sort("host").rows() == [
        ("client", "bbr"),
        ("server", "bbr"),
    ]
    assert of_path["time_s"].is_sorted()


def test_explain_tells_the_limits_of_the_path_s_connection(lab: Path) -> None:
    results = bentpipe.Lab.load(lab).run(engine="sim")
    plain, split = (limits.explain(results, record) for record in results.records)
    assert plain.transfers[0].sender == "server"
    assert split.transfers[0].sender == "far"
    # The server's own socket is limited by far's buffer nearly all the time.
    shares = {each.kind: each.share for each in split.transfers[0].findings}
    assert shares["capacity"] > 0.3
    assert shares.get("receiver-window", 0) < 0.2
    said = "\n".join(explained.lines(split))
    assert "TCP is split: these are the limits of the path's own connection, which far sends on." in said
    assert "TCP is split" not in "\n".join(explained.lines(plain))
    assert explained.as_json(split)["transfers"][0]["sender"] == "far"


def test_the_terminal_and_the_page_say_what_the_proxies_did(lab: Path, tmp_path: Path) -> None:
    command = ["run", str(lab), "--engine", "sim", "--out", str(tmp_path / "out"), "--variant", "split"]
    done = called(command, tmp_path)
    assert done.status == 0
    words = " ".join(done.stdout.split())
    assert "Split: connections 2, passed down " in words
    assert "held at far at most " in words
    (record,) = bentpipe.Results.open(tmp_path / "out").records
    cards = {name: figures for name, _, figures in run_part.words(record)["cards"]}
    assert ["connections taken over", "2", "connections"] in cards["proxy at near"]
    assert any(key == "retransmits" for _, _, key in cards["proxy at far"])


def test_a_split_and_a_tunnel_beneath_it_hide_the_loss_and_the_round_trip(lab: Path) -> None:
    changes = ["split.path.congestion_control=cubic", "tunnel.redundancy=0.1"]
    (record,) = bentpipe.Lab.load(lab, set=changes, variants=["as is"]).run(engine="sim").records
    found: Any = record
    assert found["workloads"]["download"]["goodput_mbit_s"] > 5
    assert found["tunnel"]["down"]["recovered"] > 50
    assert found["split"]["far"]["connections"] == 2


def test_a_near_host_may_stand_beside_a_split_but_not_beside_a_tunnel_too(lab: Path) -> None:
    near = '[near]\nrtt = "10 ms"\n[split]\n'
    lab.write_text(LAB + near)
    (record,) = bentpipe.Lab.load(lab, variants=["as is"]).run(engine="sim").records
    found: Any = record
    assert found["workloads"]["rtt"]["median_ms"] == pytest.approx(560, abs=1)
    assert found["split"]["near"]["connections"] == 2
    lab.write_text(LAB + near + "[tunnel]\n")
    with pytest.raises(EngineError, match="no near host beside a tunnel"):
        bentpipe.Lab.load(lab).run(engine="sim")


@pytest.mark.parametrize(("text", "said"), CLASHES.values(), ids=CLASHES.keys())
def test_what_sim_cannot_do_is_refused_beside_a_split_too(lab: Path, text: str, said: str) -> None:
    lab.write_text(LAB + text)
    with pytest.raises(EngineError, match=said):
        bentpipe.Lab.load(lab, variants=["as is"]).run(engine="sim")


def test_captures_at_near_show_the_path(lab: Path, tmp_path: Path) -> None:
    command = ["run", str(lab), "--engine", "sim", "--out", str(tmp_path / "out"), "--pcap", "near"]
    assert called([*command, "--variant", "split"], tmp_path).status == 0
    assert next((tmp_path / "out").glob("*/near.pcapng")).stat().st_size > 1_000_000
    refused = called([*command[:-3], str(tmp_path / "plain"), *command[-2:]], tmp_path)
    assert refused.status == 2
    assert "the lab has no near host" in refused.stderr


def test_the_example_of_the_docs_runs() -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "split.toml"
    results = bentpipe.Lab.load(example, set=["duration=20 s"]).run(engine="sim")
    found: Any = {record["variant"]: record for record in results.records}
    goodput = {name: run["workloads"]["download"]["goodput_mbit_s"] for name, run in found.items()}
    assert goodput["split, BBR"] > 5 * goodput["as is"]
    assert goodput["split, coded"] > 5 * goodput["as is"]
