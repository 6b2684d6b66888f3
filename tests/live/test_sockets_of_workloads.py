"""Every sampled connection of real programs is its workload's, with its flow or what it is for."""

from pathlib import Path

import polars as pl
import pytest
from hosting import refusal

import bentpipe

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(why := refusal("root")), reason=why or "the live engine runs here"),
]

LAB = """
duration = "3 s"
[path]
rtt = "100 ms"
rate = "20 Mbit/s"
[near]
rtt = "2 ms"
rate = "100 Mbit/s"
cache = { size = "10 MB" }
[[workload]]
name = "load"
kind = "bulk"
streams = 2
direction = "up"
time = "2 s"
[[workload]]
name = "web"
kind = "http"
size = "1 MB"
fetches = 2
keep_alive = true
[[workload]]
name = "island"
kind = "channels"
channels = 20
servers = 3
size = "40 kB"
[[workload]]
name = "mine"
kind = "exec"
command = ["/usr/bin/python3", "-c", '''
import socket, time
listening = socket.create_server(("127.0.0.1", 7000))
client = socket.create_connection(("127.0.0.1", 7000))
time.sleep(1)
''']
"""


def test_each_connection_is_its_workloads_and_each_flows_samples_have_its_ports(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    results = bentpipe.Lab.load(tmp_path / "lab.toml").run(
        engine="live", out=tmp_path / "out", allow_exec=True
    )
    assert results.records[0]["status"] == "done", results.records[0]["why"]
    sockets = results.sockets
    found = sockets.group_by("workload", "role").agg(pl.col("host").unique().sort())
    hosts = {(workload, role): hosts for workload, role, hosts in found.rows()}
    assert hosts == {
        ("load", "data"): ["client", "server"],
        ("load", "control"): ["client", "server"],
        ("web", "data"): ["client", "near"],
        ("web", "upstream"): ["near", "server"],
        ("island", "data"): ["client", "server"],
        ("mine", None): ["client"],
    }
    data = sockets.filter(pl.col("role") == "data")
    assert data["flow"].null_count() == 0
    others = sockets.filter(pl.col("role").ne_missing("data"))
    assert others["flow"].null_count() == others.height
    together = data.join(results.flows, on=["run", "flow"], suffix="_of_flow")
    assert together.height == data.height
    assert (together["workload"] == together["workload_of_flow"]).all()
    ends = pl.concat_list("local_port", "remote_port").list.sort()
    of_flow = pl.concat_list("local_port_of_flow", "remote_port_of_flow").list.sort()
    assert together.select((ends == of_flow).all()).item()
    # A flow in whose time a sample was taken is in it.
    sampled_s = sockets.filter(pl.col("host") == "client")["time_s"].unique()
    ended = results.flows.filter(pl.col("end_s").is_not_null()).to_dicts()
    seen = {
        flow["flow"]
        for flow in ended
        if sampled_s.is_between(flow["start_s"] + 0.05, flow["end_s"] - 0.05).any()
    }
    assert seen
    assert seen <= set(data["flow"])
    # No other flow had its ports before. iperf3 connects first, and begins later on a busy machine.
    early = together.filter(pl.col("time_s") < pl.col("start_s") - 0.5)
    assert early.is_empty()
