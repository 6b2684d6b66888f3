"""TCP ends at near and at far, and the hosts do not see it: addresses, ports, ends and RSTs are passed on."""

import json

import pytest
from hosting import Host
from two_programs import CONNECT, LISTEN, report_of, run_both, run_client

from waiting import wait_for

pytestmark = pytest.mark.live

HOSTS = {"congestion_control": "cubic", "sysctl": {"net.ipv4.tcp_no_metrics_save": "1"}}
LONG_LEG = {
    "congestion_control": "reno",
    "initcwnd": 33,
    "sysctl": {"net.ipv4.tcp_rmem": "4096 50000 60000", "net.ipv4.tcp_wmem": "4096 70000 80000"},
}
SPLIT = {"hosts": HOSTS, "path": LONG_LEG}
DELAY = {"propagation": {"delay_ns": 10_000_000}}
PATH = {"down": DELAY, "up": DELAY, "mtu": 1500}


@pytest.mark.parametrize("opener", ["client", "server"])
def test_both_ends_see_each_others_addresses_and_ports_and_all_data(user: str, opener: str) -> None:
    with Host(user) as host:
        assert host.setup(path=PATH, split=SPLIT)["event"] == "ready"
        host.start()
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
        split = report_of(host)["split"]
    way = "up_bytes" if opener == "client" else "down_bytes"
    for end in ("near", "far"):
        assert split[end][way] == 2 * 900_000
        assert [split[end][name] for name in ("connections", "connect_failures", "resets")] == [2, 0, 0]


def test_an_end_of_one_direction_is_passed_on_and_the_other_goes_on(user: str) -> None:
    with Host(user) as host:
        host.setup(path=PATH, split=SPLIT)
        host.start()
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
        host.setup(path=PATH, split=SPLIT)
        host.start()
        for ip in (4, 6):
            greets = "stream.sendall(b'x')\n"
            programs = (greets + hears, goes) if resets == "client" else (goes, greets + hears)
            said = run_both(host, ip, *programs)
            assert [each["data"] for each in said if each["data"]] == ["reset"]
        split = report_of(host)["split"]
    assert [split[end]["resets"] for end in ("near", "far")] == [2, 2]


def test_who_opens_a_connection_that_nobody_accepts_gets_a_reset(user: str) -> None:
    with Host(user) as host:
        host.setup(path=PATH, split=SPLIT)
        host.start()
        for ip in (4, 6):
            said = run_client(host, ip, "told(data=taken(stream))")
            assert said["data"] == "reset"
        split = report_of(host)["split"]
    assert split["far"]["connect_failures"] == 2
    assert split["near"]["resets"] == 2


def test_who_leaves_before_the_other_side_is_open_is_a_failed_connect(user: str) -> None:
    long = {"propagation": {"delay_ns": 30_000_000_000}}
    with Host(user) as host:
        host.setup(path=PATH | {"down": long, "up": long}, split=SPLIT)
        host.start()
        for ip in (4, 6):
            run_client(host, ip, "time.sleep(0.2); reset(stream); told(data=None)")
        near = report_of(host)["split"]["near"]
    assert [near[name] for name in ("connections", "connect_failures", "resets")] == [2, 2, 0]


def test_what_is_sent_again_after_both_directions_have_ended_is_counted(user: str) -> None:
    """The answer lies in far's send buffer when far has nothing more to pass on."""
    lossy = DELAY | {"channel": {"loss": {"model": "bernoulli", "p": 0.1}}}
    whole = {"sysctl": {"net.ipv4.tcp_wmem": "4096 1000000 1000000"}}
    with Host(user) as host:
        host.setup(path=PATH | {"down": lossy}, split=SPLIT | {"path": LONG_LEG | whole})
        host.start()
        _, answered = run_both(
            host,
            4,
            "taken(stream); stream.sendall(b'answer' * 50_000); told(data=None)",
            "stream.shutdown(socket.SHUT_WR)\ntold(data=taken(stream))",
        )
        assert answered["data"] == "answer" * 50_000
        split = report_of(host)["split"]
    assert split["far"]["retransmits"] > 5
    assert [split[end]["resets"] for end in ("near", "far")] == [0, 0]


def test_each_leg_has_its_own_congestion_control_and_buffers(user: str) -> None:
    with Host(user) as host:
        host.setup(
            path=PATH, split=SPLIT, hosts={"client": HOSTS, "server": HOSTS}, sample_interval_ns=10_000_000
        )
        host.start()
        # The client waits for an answer: every leg stays open for a second, and a late sampler sees each.
        run_both(
            host,
            4,
            "left = 3_000_000\nwhile part := stream.recv(left): left -= len(part)\n"
            "stream.sendall(b'x'); told(data=left)",
            "stream.sendall(bytes(3_000_000)); told(data=stream.recv(1).decode())",
        )
        host.say("stop")
        host.hear()
        lines = (host.raw_folder / "sockets.csv").read_text().splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
    rows = [row for row in rows if row["state"] == "ESTAB"]
    found = {(row["host"], row["congestion_control"], row["local_port"] == "5001") for row in rows}
    assert found == {
        ("client", "cubic", False),
        ("near", "cubic", True),
        ("near", "reno", False),
        ("far", "reno", True),
        ("far", "cubic", False),
        ("server", "cubic", True),
    }
    for row in rows:
        buffer = int(row["sndbuf_bytes"])
        assert (buffer <= 80_000) or row["congestion_control"] == "cubic"
    assert max(int(row["sndbuf_bytes"]) for row in rows) > 80_000


def test_what_is_not_tcp_passes_near_and_far_as_routers(user: str) -> None:
    with Host(user) as host:
        ready = host.setup(path=PATH, split=SPLIT, pcap=["near", "far"])
        host.start()
        assert ready["hosts"]["far"]["addresses"] == ["10.77.0.4", "fd77::4"]
        # Without -w, ping waits twice the round trip for the last reply: too short on a busy machine.
        for ip in (4, 6):
            said = host.output(
                "client", f"ping -{ip} -n -c 3 -i 0.05 -w 9 server; ping -{ip} -n -c 1 -t 2 -W 2 server"
            )
            assert " 3 received" in said
            assert f"From {'10.77.0.4' if ip == 4 else 'fd77::4'}" in said
        report = report_of(host)
        captures = sorted(path.name for path in host.raw_folder.glob("*.pcapng"))
    assert captures == ["far.pcapng", "near.pcapng"]
    assert set(report["pipes"]) == {"down", "lan-down", "lan-up", "terrestrial-down", "terrestrial-up", "up"}
    assert report["engine_error"]["unintended_loss"] == 0
    assert report["split"]["near"]["connections"] == 0


def test_a_connection_to_near_itself_is_not_split(user: str) -> None:
    near = {"host": HOSTS, "down": {}, "up": {}}
    with Host(user) as host:
        host.setup(path=PATH, split=SPLIT, near=near)
        host.start()
        for ip, address in ((4, "10.77.0.3"), (6, "fd77::3")):
            listens = f"IP = {ip}; PORT = 8080; OWN = {address!r}\n" + LISTEN + "told(data=taken(stream))"
            host.spawn(f"near {ip}", "near", ["/usr/bin/python3", "-c", listens])
            out = host.raw_folder / f"near {ip}.out"
            assert wait_for(lambda out=out: bool(out.read_text()))
            opens = f"IP = {ip}; PORT = 8080; OTHER = {address!r}\n" + CONNECT + "stream.sendall(b'it')"
            host.spawn(f"client {ip}", "client", ["/usr/bin/python3", "-c", opens])
            assert {host.hear()["status"] for _ in range(2)} == {0}
            assert json.loads(out.read_text().splitlines()[-1])["data"] == "it"
        split = report_of(host)["split"]
    assert split["near"]["connections"] == 0
