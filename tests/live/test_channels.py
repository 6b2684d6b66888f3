"""Channels over real sockets: the flows that `sim` draws, each from its own server, each a row of a table."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hosting import Host, refusal

import bentpipe
from bentpipe.errors import EngineError
from bentpipe.runs.store import Results

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(why := refusal("root")), reason=why or "the live engine runs here"),
]

LAB = """
duration = "1.5 s"
[path]
rtt = "20 ms"
rate = "50 Mbit/s"
[[workload]]
name = "island"
kind = "channels"
channels = 6
servers = 4
size = { distribution = "lognormal", median = "4 kB", sigma = 1.0 }
terrestrial = { delay = { distribution = "lognormal", median = "15 ms", sigma = 0.8 } }
"""


def run(folder: Path, lab: str, engine: str = "live") -> Results:
    (folder / "lab.toml").write_text(lab)
    return bentpipe.Lab.load(folder / "lab.toml").run(engine=engine, out=folder / engine)


def by_channel(flows: pl.DataFrame) -> dict[str, list[tuple[str, int]]]:
    """What each client was sent, in its order."""
    drawn: dict[str, list[tuple[str, int]]] = {}
    for row in flows.sort("flow").iter_rows(named=True):
        drawn.setdefault(row["client"], []).append((row["server"], row["size_bytes"]))
    return drawn


def test_sizes_servers_and_their_distances_are_those_that_sim_draws(tmp_path: Path) -> None:
    live, sim = run(tmp_path, LAB), run(tmp_path, LAB, "sim")
    assert set(live.records[0]["workloads"]["island"]) == set(sim.records[0]["workloads"]["island"])
    drawn, expected = by_channel(live.flows), by_channel(sim.flows)
    assert set(drawn) == set(expected) == {f"client-{n}" for n in range(1, 7)}
    for client, flows in drawn.items():
        both = min(len(flows), len(expected[client]))
        assert both > 3
        assert flows[:both] == expected[client][:both]
    # A handshake is a round trip of the path and of the server's own line.
    took = (pl.col("connected_s") - pl.col("start_s")).min().alias("least_s")
    nearest = {row["server"]: row["least_s"] for row in sim.flows.group_by("server").agg(took).to_dicts()}
    assert max(nearest.values()) > min(nearest.values()) + 0.01
    for row in live.flows.filter(pl.col("connected_s").is_not_null()).to_dicts():
        if row["server"] in nearest:
            assert row["connected_s"] - row["start_s"] > nearest[row["server"]] - 0.002


def test_every_flow_is_a_row_and_the_entry_is_their_sum(tmp_path: Path) -> None:
    results = run(tmp_path, LAB)
    record, flows = results.records[0], results.flows
    assert record["status"] == "done"
    entry = record["workloads"]["island"]
    finished = flows.filter(pl.col("outcome") == "finished")
    assert (entry["flows"], entry["finished"], entry["failed"]) == (len(flows), len(finished), 0)
    assert finished["bytes"].to_list() == finished["size_bytes"].to_list()
    assert finished["retransmits"].null_count() == 0
    assert finished.filter(
        (pl.col("start_s") < pl.col("connected_s"))
        & (pl.col("connected_s") < pl.col("first_byte_s"))
        & (pl.col("first_byte_s") <= pl.col("end_s"))
    ).height == len(finished)
    left = flows.filter(pl.col("outcome") == "unfinished")
    assert sorted(left["client"]) == [f"client-{n}" for n in range(1, 7)]
    assert entry["bytes"] == flows["bytes"].sum()
    assert flows["flow"].to_list() == list(range(1, len(flows) + 1))
    ports = set(results.sockets.filter(pl.col("host") == "server")["remote_port"])
    assert ports & set(flows["local_port"])


def test_they_run_over_ipv6_beside_other_work_whose_packets_take_the_path_alone(tmp_path: Path) -> None:
    lab = LAB.replace("[path]", "[host]\nip = 6\n[path]").replace(
        "servers = 4", 'servers = 4\nthink = "50 ms"\nstart = "-0.2 s"'
    )
    others = '[[workload]]\nkind = "ping"\ncount = 5\ninterval = "50 ms"\n'
    others += '[[workload]]\nname = "load"\nkind = "bulk"\nsize = "500 kB"\n'
    results = run(tmp_path, lab + others)
    record = results.records[0]
    assert record["status"] == "done"
    assert record["workloads"]["load"]["bytes"] >= 500_000
    assert set(results.flows["ip"]) == {6}
    assert set(results.flows["workload"]) == {"island", "load"}
    ended = results.flows.filter(pl.col("workload") == "island").sort("client", "start_s")
    pause = ended.select(
        pl.col("start_s").shift(-1).over("client") - pl.col("end_s"),
    ).to_series()
    assert pause.drop_nulls().min() >= 0.05  # type: ignore[operator]
    least = (ended["connected_s"] - ended["start_s"]).min()
    assert results.pings["rtt_s"].min() < least  # type: ignore[operator]


def test_two_workloads_have_servers_of_their_own(tmp_path: Path) -> None:
    second = LAB.partition("[[workload]]")[2].replace("island", "mainland").replace("4 kB", "9 kB")
    results = run(tmp_path, LAB + "[[workload]]" + second)
    assert results.records[0]["status"] == "done"
    for name in ("island", "mainland"):
        assert results.records[0]["workloads"][name]["finished"] > 10


def test_more_channels_than_servers_can_take_are_refused(tmp_path: Path) -> None:
    lab = LAB.replace("channels = 6", "channels = 9000")
    with pytest.raises(EngineError, match="4 servers can take 8192 channels"):
        run(tmp_path, lab)


def setup(csv_file: Path, **changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "name": "island",
        "start_ns": 0,
        "end_ns": None,
        "channels": 5,
        "servers": 3,
        "size": {"distribution": "constant", "value": 3000},
        "terrestrial_delay": {"distribution": "constant", "value": 1_000_000},
        "terrestrial_jitter_ns": 100_000,
        "think_ns": 0,
        "ip": 4,
        "flows_csv": str(csv_file),
    }
    return plain | changes


def test_a_signal_ends_them_and_their_table_is_whole(user: str) -> None:
    with Host(user) as host:
        table = host.raw_folder / "flows.csv"
        assert host.setup(channels=[setup(table)])["event"] == "ready"
        host.start()
        host.say("channels", id="island")
        host.output("client", "sleep 0.2")
        host.say("signal", id="island", signal=2)
        ended = host.hear()
        assert (ended["event"], ended["id"], ended["status"]) == ("exited", "island", 0)
        with table.open() as lines:
            rows = list(csv.DictReader(lines))
        assert [row["outcome"] for row in rows].count("unfinished") == 5
        assert any(row["outcome"] == "finished" for row in rows)


def test_channels_that_the_setup_does_not_have_are_an_exit_with_an_error() -> None:
    with Host() as host:
        assert host.setup()["event"] == "ready"
        host.start()
        host.say("channels", id="island")
        ended = host.hear()
        assert (ended["event"], ended["status"]) == ("exited", None)
        assert "island" in ended["error"]
