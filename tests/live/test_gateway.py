"""bentpipe's gateways at near and far in `live`: hosts do not see them, and loss does not slow them down."""

from pathlib import Path

import polars as pl
import pytest
from hosting import Host
from real_runs import LIVE, WEB, run
from two_programs import report_of, run_both, run_client

from bentpipe import EngineError, Lab

pytestmark = LIVE

RATE = 16_000_000
PLAIN = {"congestion_control": "cubic", "sysctl": {"net.ipv4.tcp_no_metrics_save": "1"}}
GATEWAY = {"hosts": PLAIN, "down_rate": {"fixed": RATE}, "up_rate": {"fixed": RATE}, "redundancy": "adaptive"}
DELAY = {"propagation": {"delay_ns": 10_000_000}}
PATH = {"down": DELAY, "up": DELAY, "mtu": 1500}
LEAD_NS = 300_000_000
"""The gateways connect in it."""


def started(host: Host, **changes: object) -> None:
    ready = host.setup(path=PATH, gateway=GATEWAY, **changes)
    assert ready["event"] == "ready", ready
    host.start(LEAD_NS)


@pytest.mark.parametrize("opener", ["client", "server"])
def test_both_ends_see_each_others_addresses_and_ports_and_all_data(user: str, opener: str) -> None:
    with Host(user) as host:
        started(host)
        for ip in (4, 6):
            accepted, opened = run_both(
                host,
                ip,
                "told(own=stream.getsockname()[:2], peer=peer[:2], data=taken(stream))",
                "stream.sendall(b'abc' * 300_000)\n"
                "told(own=stream.getsockname()[:2], peer=stream.getpeername()[:2])",
                opener,
            )
            assert accepted["peer"] == opened["own"]
            assert accepted["own"] == opened["peer"]
            assert accepted["data"] == "abc" * 300_000
        report = report_of(host)
    takes, gives = ("near", "far") if opener == "client" else ("far", "near")
    gateways = report["gateway"]
    assert gateways[gives]["delivered_bytes"] >= 2 * 900_000
    assert gateways[takes]["sent_bytes"] >= gateways[gives]["delivered_bytes"]
    assert [gateways[end][name] for end in gateways for name in ("connections", "resets")] == [2, 0, 2, 0]


def test_an_end_of_one_direction_is_passed_on_and_the_other_goes_on(user: str) -> None:
    with Host(user) as host:
        started(host)
        for ip in (4, 6):
            asked, answered = run_both(
                host,
                ip,
                "told(data=taken(stream)) or stream.sendall(b'answer' * 50_000)",
                "stream.sendall(b'question'); stream.shutdown(socket.SHUT_WR)\ntold(data=taken(stream))",
            )
            assert asked["data"] == "question"
            assert answered["data"] == "answer" * 50_000


@pytest.mark.parametrize("resets", ["client", "server"])
def test_a_reset_is_passed_on(user: str, resets: str) -> None:
    hears, goes = "told(data=taken(stream))", "stream.recv(1); reset(stream); told(data=None)"
    with Host(user) as host:
        started(host)
        for ip in (4, 6):
            greets = "stream.sendall(b'x')\n"
            programs = (greets + hears, goes) if resets == "client" else (goes, greets + hears)
            said = run_both(host, ip, *programs)
            assert [each["data"] for each in said if each["data"]] == ["reset"]
        gateways = report_of(host)["gateway"]
    heard = "far" if resets == "client" else "near"
    assert gateways[heard]["resets"] == 2


def test_who_opens_a_connection_that_nobody_accepts_gets_a_reset(user: str) -> None:
    with Host(user) as host:
        started(host)
        for ip in (4, 6):
            said = run_client(host, ip, "told(data=taken(stream))")
            assert said["data"] == "reset"
        report = report_of(host)
    assert report["gateway"]["near"]["resets"] == 2
    assert report["engine_error"]["gateway"]["far"]["connect_failures"] == 2


def test_a_ping_passes_near_and_far_as_routers_and_the_session_crosses_the_path(user: str) -> None:
    with Host(user) as host:
        started(host, pcap=["near"])
        # Without -w, ping waits twice the round trip for the last reply: too short on a busy machine.
        for ip in (4, 6):
            said = host.output(
                "client", f"ping -{ip} -n -c 3 -i 0.05 -w 9 server; ping -{ip} -n -c 1 -t 2 -W 2 server"
            )
            assert " 3 received" in said
            assert f"From {'10.77.0.4' if ip == 4 else 'fd77::4'}" in said
        run_both(host, 4, "told(data=taken(stream))", "stream.sendall(b'x' * 100_000); told(data=None)")
        report = report_of(host)
    assert report["pipes"]["up"]["delivered_bytes"] > 100_000
    assert set(report["pipes"]) == {"down", "lan-down", "lan-up", "terrestrial-down", "terrestrial-up", "up"}
    assert report["engine_error"]["unintended_loss"] == 0
    for end in report["engine_error"]["gateway"].values():
        # The gateways start 0.3 s before time 0. How soon a busy machine has a session is not this test's.
        assert end["established_s"] > -0.3
        assert [end[name] for name in ("udp_overflow", "udp_unsent", "datagrams_dropped")] == [0, 0, 0]
        assert end["udp_receive_buffer_bytes"] > 0


LOSSY = """
duration = "4 s"
[path]
rtt = "40 ms"
rate = "16 Mbit/s"
queue = "100 kB"
loss = 0.01
[host]
ip = IP
[gateway]
[[workload]]
name = "load"
kind = "bulk"
time = "2 s"
omit = "1 s"
direction = "DIRECTION"
[[workload]]
name = "rtt"
kind = "ping"
count = 10
interval = "200 ms"
start = "2 s"
"""
PAYLOAD_SHARE = 1430 / 1500
AGAIN = pytest.mark.long("the same over the other family or the other way, 6 to 8 s of a real run each")


@pytest.mark.parametrize(("ip", "direction"), [pytest.param(4, "down", marks=AGAIN), (6, "up")])
def test_a_path_that_loses_packets_is_filled(tmp_path: Path, ip: int, direction: str) -> None:
    results = run(tmp_path, LOSSY.replace("IP", str(ip), 1).replace("DIRECTION", direction))
    record = results.records[0]
    assert record["status"] == "done", record["why"]
    ceiling = 16 * 0.99 * PAYLOAD_SHARE
    goodput = record["workloads"]["load"]["goodput_mbit_s"]
    # docs/live.md has the figure: this is for a busy machine. What waited before the measured 2 s, up to
    # 100 kB in the queue and as much in a gateway, counts in them: 2.5 % each.
    assert 0.85 * ceiling < goodput < 1.06 * ceiling
    # A queue that stands would show in each of them: 100 kB are 50 ms.
    assert record["workloads"]["rtt"]["median_ms"] < 40 + 25
    sender, receiver = ("far", "near") if direction == "down" else ("near", "far")
    gateways = record["gateway"]
    assert gateways[sender]["exact_repairs"] > 0
    # 1 % is lost. In `live` the estimate is mostly 0.8 %, and was 0.15 and 0.17 % in two of some twenty runs.
    # Why is not known.
    assert 0.001 < gateways[sender]["channel_loss"] < 0.03
    link = results.link.filter(pl.col("pipe") == direction)
    # The gateway counts what waited in a connection that the run's end resets; nobody was given that.
    assert link["goodput_bytes"].sum() == pytest.approx(gateways[receiver]["delivered_bytes"], rel=0.05)
    owned = results.sockets.filter((pl.col("workload") == "load") & (pl.col("state") == "ESTAB"))
    assert set(owned["host"]) == {"client", "near", "far", "server"}


def test_a_rate_that_is_not_known_is_found_on_a_path_that_loses_packets(tmp_path: Path) -> None:
    lab = (
        LOSSY.replace("IP", "4", 1)
        .replace("DIRECTION", "down")
        .replace("[gateway]", '[gateway]\nrate = "fair"')
    )
    lab = lab.replace('"4 s"', '"8 s"').replace('"2 s"\nomit = "1 s"', '"8 s"\nomit = "3 s"')
    record = run(tmp_path, lab).records[0]
    assert record["status"] == "done", record["why"]
    # Where losses slowed it down, as they do CUBIC, it would have a fifth of it.
    ceiling = 16 * 0.99 * PAYLOAD_SHARE
    assert 0.7 * ceiling < record["workloads"]["load"]["goodput_mbit_s"] < 1.03 * ceiling
    assert record["gateway"]["far"]["exact_repairs"] > 0


def test_live_and_sim_agree_on_a_download(tmp_path: Path) -> None:
    lab = LOSSY.replace("IP", "4", 1).replace("DIRECTION", "down")
    found = []
    for engine in ("sim", "live"):
        (folder := tmp_path / engine).mkdir()
        found.append(run(folder, lab, engine).records[0])
    in_sim, in_live = (record["workloads"]["load"]["goodput_mbit_s"] for record in found)
    assert in_live == pytest.approx(in_sim, rel=0.15)
    assert set(found[0]["gateway"]["far"]) == set(found[1]["gateway"]["far"])


PAGES = """
duration = "5 s"
until = "done"
[path]
rtt = "40 ms"
rate = "16 Mbit/s"
loss = 0.01
[gateway]
[[workload]]
name = "fetch"
kind = "http"
size = "300 kB"
fetches = 3
[[workload]]
name = "clients"
kind = "channels"
channels = 3
servers = 2
size = "20 kB"
"""


@WEB[-1]
def test_pages_and_channels_cross_the_gateways(tmp_path: Path) -> None:
    record = run(tmp_path, PAGES).records[0]
    assert record["status"] == "done", record["why"]
    assert record["workloads"]["fetch"]["completion_s"] is not None
    assert record["gateway"]["near"]["delivered_bytes"] > 900_000
    assert record["workloads"]["clients"]["flows"] > 0
    near, far = (record["gateway"][end]["connections"] for end in ("near", "far"))
    # The run ends while each of the three channels may have opened a connection that far has not heard of.
    assert 3 < far <= near <= far + 3


def test_a_path_with_too_small_packets_is_refused(tmp_path: Path) -> None:
    lab = LOSSY.replace("IP", "4", 1).replace("DIRECTION", "down").replace("[path]", "[path]\nmtu = 1200")
    (tmp_path / "lab.toml").write_text(lab)
    with pytest.raises(EngineError, match="QUIC needs an MTU of 1228 bytes"):
        Lab.load(tmp_path / "lab.toml").run(engine="live", out=tmp_path / "out")


BESIDE = """
duration = "8 s"
until = "done"
[path]
rtt = "20 ms"
rate = "16 Mbit/s"
[host]
ip = IP
[gateway]
carries = ["through"]
[[workload]]
name = "through"
kind = "bulk"
size = "200 kB"
[[workload]]
name = "beside"
kind = "bulk"
size = "2 MB"
"""


@pytest.mark.parametrize("ip", [4, pytest.param(6, marks=AGAIN)])
def test_the_connections_of_somebody_else_cross_beside_the_session(tmp_path: Path, ip: int) -> None:
    results = run(tmp_path, BESIDE.replace("IP", str(ip), 1))
    (record,) = results.records
    assert record["status"] == "done", record["why"]
    assert record["workloads"]["through"]["bytes"] >= 200_000
    assert record["workloads"]["beside"]["bytes"] >= 2_000_000
    # iperf3 opens one connection to control the other.
    assert [record["gateway"][end]["connections"] for end in ("near", "far")] == [2, 2]
    # What was written last is on its way when iperf3 ends.
    assert 200_000 <= record["gateway"]["near"]["delivered_bytes"] < 2_000_000
    owned = results.sockets.filter(pl.col("workload") == "beside")
    assert set(owned["host"]) == {"client", "server"}


def test_workloads_that_the_kernel_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    more = '[[workload]]\nname = "tool"\nkind = "exec"\ncommand = ["true"]\n'
    with pytest.raises(EngineError, match=r'gateway.carries: "tool" is not in it. A command\'s packets'):
        run(tmp_path, BESIDE.replace("IP", "4", 1) + more)
    users = "".join(
        f'[[workload]]\nname = "{name}"\nkind = "channels"\nchannels = 1\nsize = "1 kB"\n'
        for name in ("a", "b")
    )
    lab = BESIDE.replace("IP", "4", 1).replace('["through"]', '["through", "a"]') + users
    with pytest.raises(EngineError, match='"a" is in it and "b" is not'):
        run(tmp_path, lab)
