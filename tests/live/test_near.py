"""A host between client and path: it passes on what is for others, and its LAN is a link of its own."""

import re
from pathlib import Path
from typing import Any

import pytest
from hosting import Host, refusal

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

pytestmark = pytest.mark.live

ONE_WAY_MS = {"path": 10, "lan": 3}


def pipes(link: str) -> dict[str, Any]:
    pipe = {"propagation": {"delay_ns": ONE_WAY_MS[link] * 1_000_000}}
    return {"down": pipe, "up": pipe}


NEAR = {"host": {"congestion_control": "reno", "initcwnd": 33}, **pipes("lan")}
PATH = {**pipes("path"), "mtu": 1500}


def least_ms(said: str) -> float:
    found = re.search(r"mdev = ([\d.]+)/", said)
    assert found, said
    return float(found[1])


@pytest.mark.parametrize("ip", [4, 6])
def test_no_round_trip_by_way_of_near_is_shorter_than_both_links_together(user: str, ip: int) -> None:
    with Host(user) as host:
        host.setup(path=PATH, near=NEAR)
        host.start()
        ping = f"ping -{ip} -n -q -c 4 -i 0.05"
        client = [least_ms(host.output("client", f"{ping} {name}")) for name in ("near", "server")]
        near = [least_ms(host.output("near", f"{ping} {name}")) for name in ("client", "server")]
        server = [least_ms(host.output("server", f"{ping} {name}")) for name in ("near", "client")]
    for measured, least in zip([*client, *near, *server], [6, 26, 6, 20, 20, 26], strict=True):
        assert measured >= least


def test_near_passes_packets_on_as_a_router_does(user: str) -> None:
    with Host(user) as host:
        ready = host.setup(path=PATH, near=NEAR)
        host.start()
        said = host.output("client", "ping -4 -n -c 1 -t 1 -W 1 server; ping -6 -n -c 1 -t 1 -W 1 server")
        routes = host.output("near", "ip route; ip -6 route")
        assert "congctl" not in host.output("client", "ip route")
    assert ready["hosts"]["near"]["addresses"] == ["10.77.0.3", "fd77::3"]
    assert re.search(r"From 10\.77\.0\.3 .*Time to live exceeded", said)
    assert re.search(r"From fd77::3 .*Time exceeded", said)
    for route in ("10.77.0.1 dev lan", "10.77.0.2 dev path", "fd77::1 dev lan", "fd77::2 dev path"):
        line = next(line for line in routes.splitlines() if line.startswith(route))
        assert "congctl reno" in line
        assert "initcwnd 33" in line


def test_the_lan_counts_in_the_engine_error_and_stands_in_no_link_table(user: str) -> None:
    with Host(user) as host:
        host.setup(path=PATH, near=NEAR, pcap=["client", "near"])
        host.start()
        host.output("client", "ping -n -q -c 2 -i 0.05 server")
        host.say("stop")
        report = host.hear()
        link = (host.raw_folder / "link.csv").read_text().splitlines()[1:]
        captures = sorted(path.name for path in host.raw_folder.glob("*.pcapng"))
    error = report["engine_error"]
    assert set(error["per_pipe"]) == set(report["pipes"]) == {"down", "lan-down", "lan-up", "up"}
    assert error["lateness_count"] == 8
    assert [error["per_pipe"][name]["lateness_count"] for name in ("lan-up", "up")] == [2, 2]
    assert {line.split(",")[1] for line in link} == {"down", "up"}
    assert captures == ["client.pcapng", "near.pcapng"]


def test_a_run_without_near_has_no_such_host(user: str) -> None:
    with Host(user) as host:
        ready = host.setup()
        assert set(ready["hosts"]) == {"client", "server"}
        ended = host.spawn("a", "near", ["true"])
        assert ended["error"] == "this run has no host between client and path"
        assert "lan" not in host.output(
            "client", "ip link; cat /etc/hosts; cat /proc/sys/net/ipv4/ip_forward"
        )
        assert host.output("client", "cat /proc/sys/net/ipv4/ip_forward") == "0\n"
    with Host(user) as host:
        refused = host.setup(pcap=["near"])
    assert (refused["event"], refused["what"]) == ("refused", "pcap")


def test_an_address_of_a_congestion_control_has_it_at_both_ends(user: str) -> None:
    with Host(user) as host:
        ready = host.setup(near=NEAR, extra_congestion_controls=["reno"])
        routes = {
            name: host.output(name, "ip route; ip -6 route").splitlines() for name in ("client", "server")
        }
    assert ready["hosts"]["server"]["extra_addresses"] == {"reno": ["10.77.101.2", "fd77:101::2"]}
    for name, number in (("client", 2), ("server", 1)):
        for network, metric in (("10.77.0.", False), ("10.77.101.", True), ("fd77:101::", True)):
            line = next(line for line in routes[name] if line.startswith(f"{network}{number} "))
            assert ("congctl reno" in line) == metric
    with Host(user) as host:
        refused = host.setup(extra_congestion_controls=["no_such"])
    assert (refused["event"], refused["what"]) == ("refused", "congestion_control")


LAB = """
until = "done"
duration = "20 s"
[host]
congestion_control = "cubic"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[near]
rtt = "6 ms"
rate = "100 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "20 ms"
[[workload]]
name = "load"
kind = "bulk"
direction = "DIRECTION"
size = "1 MB"
start = "0.3 s"
[[workload]]
kind = "exec"
host = "near"
command = ["cat", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/tcp_no_metrics_save"]
"""


@pytest.mark.skipif(bool(why := refusal("root")), reason=why or "the live engine runs here")
@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_transfer_by_way_of_near_is_one_connection_end_to_end(tmp_path: Path, direction: str) -> None:
    (tmp_path / "lab.toml").write_text(LAB.replace("DIRECTION", direction))
    lab = bentpipe.Lab.load(tmp_path / "lab.toml")
    results = execute(lab, out=tmp_path / "out", engine="live", options=EngineOptions(allow_exec=True))
    record = results.records[0]
    assert record["status"] == "done", record["why"]
    assert record["workloads"]["load"]["bytes"] >= 1_000_000
    assert record["workloads"]["rtt"]["min_ms"] >= 26
    assert record["engine_error"]["unintended_loss"] == 0
    assert "1\n1\n" in results.tools["output"].to_list()
    assert set(results.sockets["host"].to_list()) == {"client", "server"}
    assert results.sockets["min_rtt_s"].drop_nulls().min() >= 0.026
    assert set(results.link["pipe"].to_list()) == {"down", "up"}
