"""What the host process makes of the two hosts, as root and as an ordinary user."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hosting import DROP_TO_ORDINARY, Host

from bentpipe.engines.host_process import HostDiedError, HostProcess
from bentpipe.engines.socket_owners import SOCKETS_CSV
from waiting import LONG_S, wait_for

pytestmark = pytest.mark.live


def host_setup(**changes: Any) -> dict[str, Any]:
    return {"congestion_control": None, "initcwnd": None, "initrwnd": None, "sysctl": {}, **changes}


def test_each_host_has_its_addresses_and_a_route_to_the_other(user: str) -> None:
    hosts = {
        "client": host_setup(congestion_control="reno", initcwnd=33, initrwnd=44),
        "server": host_setup(),
    }
    with Host(user) as host:
        ready = host.setup(hosts=hosts)
        client = host.output("client", "ip addr show dev path; ip route; ip -6 route")
        server = host.output("server", "ip addr show dev path; ip route; ip -6 route")
    assert ready["hosts"]["client"]["addresses"] == ["10.77.0.1", "fd77::1"]
    assert ready["hosts"]["server"]["addresses"] == ["10.77.0.2", "fd77::2"]
    for address in ("inet 10.77.0.1/32", "inet6 fd77::1/128", "mtu 1500"):
        assert address in client
    for route in ("10.77.0.2 dev path", "fd77::2 dev path"):
        line = next(line for line in client.splitlines() if line.startswith(route))
        assert "congctl reno" in line
        assert "initcwnd 33" in line
        assert "initrwnd 44" in line
    assert "10.77.0.1 dev path" in server
    assert "congctl" not in server
    assert "tentative" not in client + server
    assert "fe80" not in client + server


def test_the_names_of_both_hosts_resolve_and_the_machine_own_file_is_untouched(user: str) -> None:
    before = Path("/etc/hosts").read_bytes()
    with Host(user) as host:
        host.setup()
        inside = host.output(
            "client", "getent ahostsv4 server; getent ahostsv6 client; mount | grep -c /tmp/hosts"
        )
        assert Path("/etc/hosts").read_bytes() == before
    assert "10.77.0.2" in inside
    assert "fd77::1" in inside


@pytest.mark.parametrize(("ip", "expected"), [([4, 6], "10.77.0.2"), ([6, 4], "fd77::2")])
def test_a_name_gives_an_address_of_the_labs_ip_version_first(
    ip: list[int], expected: str, user: str
) -> None:
    if not Path("/etc/gai.conf").exists():
        pytest.skip("this machine has no /etc/gai.conf to cover")
    with Host(user) as host:
        host.setup(ip=ip)
        assert host.output("client", "getent ahosts server").split()[0] == expected


def test_a_setting_is_made_in_one_host_and_nowhere_else(user: str) -> None:
    setting = Path("/proc/sys/net/ipv4/tcp_rmem")
    before = setting.read_text()
    hosts = {"client": host_setup(sysctl={"net.ipv4.tcp_rmem": "4096 16384 65536"}), "server": host_setup()}
    with Host(user) as host:
        ready = host.setup(hosts=hosts)
        assert host.output("client", f"cat {setting}").split() == ["4096", "16384", "65536"]
        assert host.output("server", f"cat {setting}") == before
        assert setting.read_text() == before
    assert ready["hosts"]["client"]["sysctl"]["net.ipv4.tcp_rmem"] == "4096 16384 65536"
    assert "net.core.rmem_max" in ready["hosts"]["client"]["sysctl"]


def test_a_path_too_narrow_for_ipv6_has_ipv4_alone(user: str) -> None:
    with Host(user) as host:
        ready = host.setup(path={"down": {}, "up": {}, "mtu": 576})
        assert "inet6" not in host.output("client", "ip addr show dev path")
    assert ready["hosts"]["client"]["addresses"] == ["10.77.0.1"]
    with Host(user) as host:
        refused = host.setup(path={"down": {}, "up": {}, "mtu": 576}, ip=[6])
    assert refused["what"] == "ip"
    assert "1280" in refused["message"]


@pytest.mark.parametrize(
    ("host", "what"),
    [
        (host_setup(sysctl={"net.ipv4.no_such": "1"}), "net.ipv4.no_such"),
        (host_setup(sysctl={"net.ipv4.tcp_sack": "maybe"}), "net.ipv4.tcp_sack"),
        (host_setup(sysctl={"kernel.panic": "1"}), "kernel.panic"),
        (host_setup(congestion_control="no_such"), "congestion_control"),
    ],
)
def test_what_the_kernel_does_not_have_is_refused_by_name(user: str, host: dict[str, Any], what: str) -> None:
    with Host(user) as process:
        refused = process.setup(hosts={"client": host_setup(), "server": host})
        assert refused["event"] == "refused"
        assert refused["what"] == what
        assert process.hear() == {}
        assert process.process.wait(LONG_S) == 1


def test_a_program_has_no_signal_blocked_or_ignored_and_no_descriptor_of_ours(user: str) -> None:
    with Host(user) as host:
        host.setup()
        status = host.output("client", "grep -E 'Sig(Blk|Ign)' /proc/self/status")
        descriptors = host.output("client", "ls /proc/self/fd")
    # Signals 32 and 33 belong to the C library, whose posix_spawn (make's, for one) leaves them ignored. What
    # the tests were begun with (nohup ignores HUP, a shell's background INT and QUIT) is none of our doing.
    terminals = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    inherited = [number for number in terminals if signal.getsignal(number) is signal.SIG_IGN]
    ours = ~(0b11 << 31) & ~sum(1 << (number - 1) for number in inherited)
    assert [int(line.split()[1], 16) & ours for line in status.splitlines()] == [0, 0]
    assert descriptors.split() == ["0", "1", "2", "3"]  # 3 is the folder that ls reads


def test_the_end_of_a_program_is_told_however_it_comes(user: str) -> None:
    with Host(user) as host:
        host.setup()
        zero_ns = host.start(zero_in_ns=3_000_000_000)
        assert zero_ns > 0
        ends = []
        for name, argv in [
            ("three", ["sh", "-c", "exit 3"]),
            ("killed", ["sh", "-c", "kill -9 $$"]),
            ("missing", ["no-such-program"]),
        ]:
            spawned = host.spawn(name, "server", argv)
            end = host.hear() if spawned["event"] == "spawned" else spawned
            assert end["event"] == "exited"
            ends.append((end["id"], end["status"], end["signal"], end["error"]))
            assert end["at_ns"] < 0
    assert ends == [
        ("three", 3, None, None),
        ("killed", None, 9, None),
        ("missing", None, None, "no-such-program: not found in PATH"),
    ]


def test_a_signal_reaches_the_children_of_a_program_too(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.spawn("pair", "client", ["sh", "-c", "sleep 1000 & wait"])
        assert wait_for(lambda: "sleep 1000" in host.output("client", "ps ax"))
        host.say("signal", id="pair", signal=15)
        end = host.hear()
        assert (end["id"], end["signal"]) == ("pair", 15)
        assert wait_for(lambda: "sleep 1000" not in host.output("client", "ps ax"))


def test_an_orphan_that_ends_leaves_no_zombie(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.output("client", "sh -c 'sleep 0.05 & true'; true")
        assert wait_for(lambda: " Z" not in host.output("client", "sleep 0.1; ps ax -o stat"))


def test_a_request_that_cannot_be_understood_is_said_and_ends_nothing(user: str) -> None:
    with Host(user) as host:
        host.setup()
        for line in (
            b"nonsense\n",
            b'{"op":"dance"}\n',
            b'{"op":"spawn","id":1}\n',
            b'{"op":"signal","id":"a","signal":0}\n',
        ):
            host.control.sendall(line)
            assert host.hear()["event"] == "trouble"
        assert host.output("client", "echo still here") == "still here\n"


def test_the_first_request_must_be_a_setup() -> None:
    with Host() as host:
        host.say("stop")
        assert host.hear()["event"] == "trouble"
        assert host.process.wait(LONG_S) == 1


def test_a_host_process_that_ends_itself_says_why_to_whoever_waits_for_its_answer(tmp_path: Path) -> None:
    async def start_at_once() -> None:
        host = await HostProcess.launch(tmp_path / "host.log")
        try:
            await host.ask("start", "started", zero_in_ns=0)
        finally:
            await host.close()

    with pytest.raises(HostDiedError, match="the first request must be a setup"):
        asyncio.run(start_at_once())


def test_a_stop_kills_what_runs_and_reports(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.start()
        host.spawn("a", "client", ["sleep", "1000"])
        host.spawn("b", "server", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
        host.say("stop")
        ends = [host.hear(), host.hear()]
        report = host.hear()
        assert host.hear() == {}
        assert host.process.wait(LONG_S) == 0
        sockets = (host.raw_folder / "sockets.csv").read_text().splitlines()
    assert sorted((end["id"], end["signal"]) for end in ends) == [("a", 9), ("b", 9)]
    assert report["event"] == "report"
    assert report["sampler"]["errors"] == 0
    assert sockets[0].split(",") == SOCKETS_CSV.names()


def test_what_a_device_loses_is_reported_as_unintended_loss(user: str) -> None:
    """Before `start` nobody reads the devices: what does not fit the client's queue is lost."""
    flood = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    flood += "for _ in range(21000): s.sendto(b'', ('10.77.0.2', 9))"
    with Host(user) as host:
        host.setup()
        host.output("client", f'/usr/bin/python3 -c "{flood}"')
        host.start()
        host.say("stop")
        error = host.hear()["engine_error"]
    assert error["unintended_loss"] == error["unintended_loss_by"]["device"] == 1000
    assert error["per_pipe"]["up"]["unintended_loss"] == 1000


def test_a_raw_folder_that_cannot_be_written_is_a_trouble_that_names_the_file(user: str) -> None:
    with Host(user) as host:
        host.setup(raw_folder="/proc/no/such/folder")
        host.say("start", zero_in_ns=0)
        trouble = host.hear()
    assert trouble["event"] == "trouble"
    assert "/proc/no/such/folder" in trouble["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide the device")
def test_a_machine_without_a_tun_device_is_told_the_command_that_makes_one() -> None:
    """In a mount namespace of its own, where /dev/net is an empty folder."""
    script = 'mount -t tmpfs tmpfs /dev/net && exec "$0" -m bentpipe.engines.live_host "$1"'
    with Host(started_by=["unshare", "-m", "sh", "-c", script, sys.executable]) as host:
        refused = host.setup()
    assert refused["what"] == "/dev/net/tun"
    assert "mknod" in refused["remedy"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close the device to others")
def test_a_user_to_whom_the_device_is_closed_is_told_the_command_that_opens_it() -> None:
    script = """
mount -t tmpfs tmpfs /mnt && mknod -m 600 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun &&
exec "$0" -c "$1" "$2"
"""
    with Host(started_by=["unshare", "-m", "sh", "-c", script, sys.executable, DROP_TO_ORDINARY]) as host:
        refused = host.setup()
    assert refused["what"] == "/dev/net/tun"
    assert refused["remedy"] == "sudo chmod 666 /dev/net/tun"


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can change the limit, in a user namespace of its own"
)
def test_a_limit_of_no_user_namespaces_is_named_with_the_command_that_lifts_it() -> None:
    """The limit is set in a user namespace, whose user then counts as an ordinary one."""
    script = """
echo 0 > /proc/sys/user/max_user_namespaces &&
exec setpriv --bounding-set -all --inh-caps -all --no-new-privs "$0" -m bentpipe.engines.live_host "$1"
"""
    with Host(started_by=["unshare", "-Ur", "sh", "-c", script, sys.executable]) as host:
        refused = host.setup()
    assert refused["what"] == "user.max_user_namespaces"
    assert refused["remedy"] == "sudo sysctl -w user.max_user_namespaces=15000"
