"""A coded tunnel between real kernels: whatever they send crosses coded, and leaves as it was sent."""

import re
from pathlib import Path
from typing import Any

import pytest
from hosting import Host
from real_runs import LIVE, run

pytestmark = pytest.mark.live

_, HERE = LIVE

PIPE: dict[str, Any] = {"propagation": {"delay_ns": 10_000_000}}
LOSSY = {**PIPE, "channel": {"loss": {"model": "bernoulli", "p": 0.2}}}
PATH = {"down": LOSSY, "up": LOSSY, "mtu": 1500}
CONFIG = {"redundancy": {"policy": "fixed", "ratio": 0.9}, "window_packets": 64, "hold_ns": 100_000_000}


@pytest.mark.parametrize("outer", [4, 6])
def test_pings_of_both_families_cross_a_lossy_path(user: str, outer: int) -> None:
    longest = 1500 - {4: 38, 6: 58}[outer]
    with Host(user) as host:
        host.setup(path=PATH, tunnel={"config": CONFIG, "ip": outer})
        host.start()
        devices = host.output("client", "ip -o link show path")
        ping = "ping -n -q -c 20 -i 0.02 -W 2 -M do"
        said = [
            host.output("client", f"{ping} -4 -s {longest - 28} server"),
            host.output("client", f"{ping} -6 -s {longest - 48} server"),
        ]
        too_long = host.output("client", f"ping -n -c 1 -W 1 -4 -M do -s {longest - 27} server")
        host.say("stop")
        report = host.hear()
    assert f"mtu {longest} " in devices
    for each in said:
        assert " 0% packet loss" in each, each
        found = re.search(r"mdev = ([\d.]+)/", each)
        assert found
        assert float(found[1]) >= 20
    assert "message too long" in too_long.lower()
    tunnel = report["tunnel"]
    assert set(tunnel) == {"down", "up"}
    for of in tunnel.values():
        assert of["packets"] >= 40
        assert of["recovered"] > 0
        assert of["too_long"] == 0
    assert report["engine_error"]["unintended_loss"] == 0


def test_a_tunnel_begins_at_a_near_host(user: str) -> None:
    near = {"host": {}, "down": PIPE, "up": PIPE}
    with Host(user) as host:
        host.setup(path=PATH, near=near, tunnel={"config": CONFIG, "ip": 4})
        host.start()
        said = [
            host.output(name, "ping -n -q -c 10 -i 0.02 -W 2 -M do -4 -s 1434 server")
            for name in ("client", "near")
        ]
        host.say("stop")
        report = host.hear()
    assert all(" 0% packet loss" in each for each in said), said
    assert set(report["tunnel"]) == {"down", "up"}
    assert report["tunnel"]["up"]["packets"] == 20


LAB = """
until = "done"
duration = "30 s"
[host]
ip = IP
congestion_control = "cubic"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
[path.down]
loss = 0.02
[[workload]]
name = "load"
kind = "bulk"
size = "100 kB"
[[variant]]
name = "coded"
set = { "tunnel.redundancy" = 0.1, "workload.load.size" = "4 MB" }
"""


@HERE
def test_a_packet_is_sent_again_on_request(tmp_path: Path) -> None:
    text = LAB.replace("IP", "4").replace('"tunnel.redundancy" = 0.1', '"tunnel.repair" = "exact"')
    _, coded = run(tmp_path, text).records
    assert coded["status"] == "done", coded["why"]
    down = coded["tunnel"]["down"]
    assert down["repairs"] == 0
    assert 0 < down["exact_used"] <= down["exact_repairs"]
    assert down["lost"] < down["exact_used"]
    assert coded["tunnel"]["up"]["exact_repairs"] == 0


BESIDE = """
duration = "5 s"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[path.down]
loss = 0.02
[tunnel]
redundancy = 0.2
carries = ["inside"]
[[workload]]
name = "page"
kind = "http"
size = "50 kB"
[[workload]]
name = "inside"
kind = "bulk"
size = "1 MB"
[[workload]]
name = "ping"
kind = "ping"
count = 5
interval = "100 ms"
"""


@HERE
def test_only_named_workloads_cross_in_the_tunnel(tmp_path: Path) -> None:
    down = []
    for carries in ('["inside"]', '["ping"]', '["page"]', '["page", "inside", "ping"]'):
        (folder := tmp_path / str(len(down))).mkdir()
        [record] = run(folder, BESIDE.replace('["inside"]', carries)).records
        assert record["status"] == "done", record["why"]
        down.append(record["tunnel"]["down"]["inner_bytes"])
    inside, ping, page, every = down
    assert 1_000_000 < inside < 1_200_000
    assert ping == 5 * 84
    assert 50_000 < page < 70_000
    assert every > 1_050_000


@HERE
@pytest.mark.parametrize(
    "ip",
    [4, pytest.param(6, marks=pytest.mark.long("the same over the other family, 5 s of a real run"))],
)
def test_a_download_crosses_coded_and_has_the_figures_of_sim(tmp_path: Path, ip: int) -> None:
    (tmp_path / "sim").mkdir()
    text = LAB.replace("IP", str(ip))
    plain, coded = run(tmp_path, text).records
    assert "tunnel" not in plain
    assert coded["status"] == "done", coded["why"]
    assert coded["engine_error"]["unintended_loss"] == 0
    down = coded["tunnel"]["down"]
    assert down["recovered"] > 0
    assert down["lost"] < sum(coded["pipes"]["down"]["drops"].values())
    assert down["redundancy_sent"] == pytest.approx(0.1, abs=0.005)
    assert coded["workloads"]["load"]["bytes"] >= 4_000_000
    simulated = run(tmp_path / "sim", text, engine="sim").records[1]
    assert {name: set(of) for name, of in coded["tunnel"].items()} == {
        name: set(of) for name, of in simulated["tunnel"].items()
    }
    # The same segments and the same headers around each. What differs is what was sent again.
    overhead = [each["tunnel"]["down"] for each in (coded, simulated)]
    per_packet = [of["overhead_bytes"] / of["packets"] for of in overhead]
    assert per_packet[0] == pytest.approx(per_packet[1], rel=0.02)
