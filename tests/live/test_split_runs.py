"""Labs with `[split]` on this kernel: every kind of workload crosses it, over both versions of IP."""

from pathlib import Path

import polars as pl
import pytest
from real_runs import WEB, run

pytestmark = WEB

LAB = """
duration = "6 s"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
[host]
ip = IP
congestion_control = "cubic"
[split]
path = { congestion_control = "reno", tcp_wmem = [4096, 65536, 1000000] }
[[workload]]
name = "load"
kind = "bulk"
size = "1 MB"
direction = "DIRECTION"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "50 ms"
start = "4 s"
[[workload]]
name = "clients"
kind = "channels"
channels = 3
servers = 2
size = "20 kB"
terrestrial = { delay = "10 ms" }
[[workload]]
name = "fetch"
kind = "http"
size = "300 kB"
start = "1 s"
[[workload]]
kind = "exec"
command = ["curl", "-s", "-S", "-m", "5", "http://server:1/"]
start = "2 s"
"""
AGAIN = pytest.mark.long("the same over the other family or the other way, 8 s of a real run each")
TUNNEL = "[tunnel]\nredundancy = 0.2\n"


@pytest.mark.parametrize(
    ("ip", "direction", "tunnel"),
    [
        (4, "down", ""),
        (6, "up", TUNNEL),
        pytest.param(6, "down", "", marks=AGAIN),
        pytest.param(4, "up", TUNNEL, marks=AGAIN),
    ],
)
def test_every_kind_of_work_crosses_a_split(tmp_path: Path, ip: int, direction: str, tunnel: str) -> None:
    lab = LAB.replace("IP", str(ip), 1).replace("DIRECTION", direction) + tunnel
    results = run(tmp_path, lab)
    record = results.records[0]
    works = record["workloads"]
    failed = [name for name, work in works.items() if work.get("why")]
    # Nobody listens there: the connection opens at near, and ends with a RST.
    assert failed == ["exec"]
    assert "reset" in results.tools.filter(pl.col("workload") == "exec")["output"].str.join()[0]
    assert works["load"]["completion_s"] is not None
    assert works["rtt"]["lost"] == 0
    assert works["rtt"]["min_ms"] >= 40
    assert works["clients"]["flows"] > 0
    assert record["split"]["far"]["connect_failures"] >= 1
    assert record["engine_error"]["unintended_loss"] == 0
    assert ("tunnel" in record) == bool(tunnel)
    data = results.sockets.filter((pl.col("role") == "data") & (pl.col("state") == "ESTAB"))
    of_load = data.filter((pl.col("workload") == "load") & pl.col("flow").is_not_null())
    controls = of_load.group_by("host").agg(pl.col("congestion_control").unique().sort())
    assert {host: list(found) for host, found in controls.rows()} == {
        "client": ["cubic"],
        "near": ["cubic", "reno"],
        "far": ["cubic", "reno"],
        "server": ["cubic"],
    }


LOSSY = """
duration = "20 s"
until = "done"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
loss = 0.03
[split]
[[workload]]
name = "load"
kind = "bulk"
size = "2 MB"
direction = "down"
[[workload]]
name = "fetch"
kind = "http"
size = "300 kB"
fetches = 3
"""


def test_what_a_workload_sends_again_across_a_split_is_what_the_proxy_does(tmp_path: Path) -> None:
    record = run(tmp_path, LOSSY).records[0]
    counts = [record["workloads"][name]["retransmits"] for name in ("load", "fetch")]
    assert None not in counts  # as where a process waited too long for a processor to see a connection's end
    assert min(counts) > 0
    # The rest is iperf3's connection for its own messages.
    assert 0 <= record["split"]["far"]["retransmits"] - sum(counts) < 10
