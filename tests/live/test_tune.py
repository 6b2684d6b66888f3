"""`bentpipe tune` in a network namespace of its own: applied, proved, undone, killed."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bentpipe.tune.measuring import OfIperf3
from waiting import LONG_S

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
SETTLED = """
set -e
ip link set lo up
ip tuntap add dev t0 mode tap
ip addr add 10.9.0.1/24 dev t0
ip link set t0 up
ip route add default via 10.9.0.2 initcwnd 12
echo 4096 131072 163840 >/proc/sys/net/ipv4/tcp_rmem
sysctls() { grep -r '' /proc/sys/net/ipv4/tcp_* 2>/dev/null || true; }
state() { sysctls; ip route; tc qdisc; find "$BENTPIPE_TUNE_ROOT" -type f; }
tune() { set +e; "$PYTHON" -m bentpipe tune "$@"; status=$?; set -e; }
path='--rate 20Mbit/s --rtt 300ms --with first-window'
"""
APPLIED_AND_UNDONE = """
state >before
tune $path --apply --measure 'cut -f3 /proc/sys/net/ipv4/tcp_rmem' --json >applied.json
state >meanwhile
tune $path --apply --unproved >again; echo $status >>again
tune --rate 90Mbit/s --rtt 300ms --apply --unproved 2>other; echo $status >>other
tune --undo
state >after
"""
NOT_BETTER = """
state >before
tune $path --apply --measure 'false'; echo $status >status
state >after
"""
SOMEBODY_ELSE = """
state >before
tune $path --apply --unproved
echo 2 >/proc/sys/net/ipv4/tcp_mtu_probing
tune --undo >undone
cat /proc/sys/net/ipv4/tcp_mtu_probing >left
tune --status >status
tune $path --apply --unproved 2>again; echo $status >>again
tune --undo --force >forced
state >after
"""
INTERRUPTED = """
state >before
"$PYTHON" -m bentpipe tune $path --apply --measure 'touch begun; sleep 60' 2>said & pid=$!
while ! [ -e begun ]; do sleep 0.05; done
kill -TERM $pid
wait $pid || echo $? >status
tune --undo
state >after
"""
KILLED = """
state >before
"$PYTHON" -m bentpipe tune $path --apply --measure 'touch begun; sleep 5' & pid=$!
while ! [ -e begun ]; do sleep 0.05; done
kill -KILL $pid
wait $pid || true
tune --status >interrupted
tune $path --apply --unproved 2>again
tune --undo
state >after
"""
REFUSED = """
BENTPIPE_TUNE_ROOT= tune $path --apply --unproved 2>said; echo $status >>said
"""


@pytest.fixture
def apart() -> list[str]:
    """How a network namespace is made."""
    command = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("network namespaces are not allowed here")
    return command


def inside(apart: list[str], folder: Path, script: str) -> None:
    files = folder / "root"
    (files / "var/lib").mkdir(parents=True)
    (files / "etc").mkdir()
    env = {**os.environ, "BENTPIPE_TUNE_ROOT": str(files), "PYTHON": sys.executable}
    ended = subprocess.run(
        [*apart, "sh", "-c", SETTLED + script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_what_is_proved_is_kept_and_undone_to_the_last_byte(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, APPLIED_AND_UNDONE)
    applied = json.loads((tmp_path / "applied.json").read_text())
    assert applied["kept"]
    assert applied["proof"]["verdict"] == "better"
    assert {each["kind"] for each in applied["settings"]} == {"sysctl", "route"}
    meanwhile = (tmp_path / "meanwhile").read_text()
    assert "tcp_rmem:4096\t131072\t1500000" in meanwhile
    assert "initcwnd 40 initrwnd 40" in meanwhile
    assert "99-zz-bentpipe-tune.conf" in meanwhile
    assert "Everything is set already" in (tmp_path / "again").read_text()
    assert "take the first one back" in (tmp_path / "other").read_text()
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_a_measurement_that_fails_takes_everything_back(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, NOT_BETTER)
    assert (tmp_path / "status").read_text() == "2\n"
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_a_signal_takes_everything_back(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, INTERRUPTED)
    assert (tmp_path / "status").read_text() == "130\n"
    assert "interrupted" in (tmp_path / "said").read_text()
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_a_killed_tune_says_so_and_must_be_undone_first(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, KILLED)
    assert "was interrupted" in (tmp_path / "interrupted").read_text()
    assert "take it back first: bentpipe tune --undo" in (tmp_path / "again").read_text()
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_iperf3_measures_what_its_receiver_got() -> None:
    if not shutil.which("iperf3"):
        pytest.skip("iperf3 is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "--forceflush", "-p", str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert any("listening" in line for line in server.stdout)
        figure = OfIperf3("127.0.0.1", receives=True, port=port, seconds=1)()
    finally:
        server.kill()
        server.wait()
    assert figure.unit == "bit/s"
    assert figure.value > 0


def test_what_somebody_changed_since_is_left_and_said(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, SOMEBODY_ELSE)
    assert (tmp_path / "left").read_text() == "2\n"
    assert "somebody changed it since tune" in (tmp_path / "undone").read_text()
    assert "net.ipv4.tcp_mtu_probing: 0 -> 1; now 2" in (tmp_path / "status").read_text()
    assert "To restore that: bentpipe tune --undo --force" in (tmp_path / "again").read_text()
    assert (tmp_path / "forced").read_text() == "net.ipv4.tcp_mtu_probing is 0 again.\n"
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_a_namespace_does_not_write_into_the_hosts_etc(apart: list[str], tmp_path: Path) -> None:
    inside(apart, tmp_path, REFUSED)
    assert "--until-reboot" in (tmp_path / "said").read_text()


def test_undo_restores_everything_after_kills(apart: list[str]) -> None:  # noqa: ARG001 - skips
    command = [sys.executable, "benches/tune/kills.py", "--kills", "3", "--every", "120"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
