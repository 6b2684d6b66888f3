"""`bentpipe doctor` at a host of a live path, as on a real host: it sees that host's sockets alone."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import real_runs

from bentpipe.doctor.report_shape import Report
from invocation import started

LAB = """
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
queue = "100 kB"
[client]
tcp_rmem = [4096, 32768, 32768]
[[workload]]
kind = "ping"
"""
DOCTOR = [sys.executable, "-m", "bentpipe", "doctor", "--json", "--no-cures"]
BLACK_HOLE = """
set -e
ip link set path gso_max_segs 1
sysctl -qw net.ipv4.tcp_mtu_probing=$1
own=$(readlink /proc/self/ns/net)
for pid in $(pgrep -x iperf3); do
  theirs=$(readlink /proc/$pid/ns/net)
  [ "$theirs" = "$own" ] || server=$pid
done
there="nsenter --net=/proc/$server/ns/net"
$there nft add table inet hole
$there nft add chain inet hole into '{ type filter hook input priority 0; }'
$there nft add rule inet hole into meta length gt 1300 drop
shift
exec "$@"
"""
"""In a shell of the lab: a link that drops large packets, before the server. Arguments: `tcp_mtu_probing` and
a command."""
IPERF3 = pytest.mark.skipif(not shutil.which("iperf3", path=real_runs.PROGRAMS), reason="iperf3 is not here")


def doctor(folder: Path, *options: str, listen: str) -> dict[str, Any]:
    (folder / "lab.toml").write_text(LAB)
    said = started(["shell", "lab.toml", "--listen", listen, "--", *DOCTOR, *options], folder)
    assert said.status == 0, said.stderr
    # The shell says what its path is, too.
    found: dict[str, Any] = json.loads(next(line for line in said.stdout.splitlines() if line[:1] == "{"))
    return found


class TestOfACommand:
    pytestmark = real_runs.WEB

    def test_the_window_of_the_client_that_downloads_is_found(self, tmp_path: Path) -> None:
        url = "http://server/1MB"
        found = doctor(tmp_path, "--exec", "--", "curl", "-s", "-o", "/dev/null", url, listen="http")
        (transfer,) = found["transfers"]
        assert (transfer["direction"], transfer["seen_from"]) == ("down", "receiver")
        assert transfer["name"].endswith(":80")
        assert transfer["bytes"] >= 1_000_000
        # On a busy machine curl itself reads too slowly at times.
        kinds = {each["kind"] for each in transfer["findings"]}
        assert kinds & {"receiver-window", "receiver-application"}
        (route,) = found["host"]["routes"]
        assert (route["device"], route["mtu"]) == ("path", 1500)


@IPERF3
class TestWithAServer:
    pytestmark = real_runs.LIVE

    def test_both_directions_are_tried_within_the_bytes_that_are_allowed(self, tmp_path: Path) -> None:
        found = doctor(tmp_path, "--to", "server", "--bytes", "4MB", listen="iperf3")
        names = [each["name"] for each in found["transfers"]]
        assert {"down, 1 stream", "up, 1 stream"} <= set(names)
        assert sum(each["bytes"] for each in found["transfers"]) <= 5_000_000
        down = found["transfers"][names.index("down, 1 stream")]
        assert (down["direction"], down["seen_from"]) == ("down", "receiver")
        assert found["transfers"][names.index("up, 1 stream")]["seen_from"] == "sender"
        assert found["path"]["rtt_s"] == pytest.approx(0.04, abs=0.02)

    def test_where_no_server_listens_it_says_how_to_start_one(self, tmp_path: Path) -> None:
        (tmp_path / "lab.toml").write_text(LAB)
        command = ["shell", "lab.toml", "--listen", "none", "--", *DOCTOR, "--to", "server"]
        said = started(command, tmp_path)
        assert said.status == 2
        assert "no iperf3 server answers" in said.stderr
        assert "iperf3 --server" in said.stderr

    @pytest.mark.parametrize("probes", [False, True], ids=["stuck", "probing"])
    @pytest.mark.skipif(
        not all(shutil.which(name, path=real_runs.PROGRAMS) for name in ("nft", "nsenter", "pgrep")),
        reason="nft, nsenter or pgrep is not here",
    )
    def test_a_black_hole_for_large_packets_is_found_though_nothing_arrives(
        self, tmp_path: Path, probes: bool
    ) -> None:
        (tmp_path / "lab.toml").write_text(LAB.replace("32768, 32768", "131072, 6291456"))
        (tmp_path / "hole.sh").write_text(BLACK_HOLE)
        command = ["sh", "hole.sh", str(int(probes)), *DOCTOR]
        command += ["--exec", "--", "iperf3", "-c", "server", "-t", "7"]
        said = started(["shell", "lab.toml", "--listen", "iperf3", "--", *command], tmp_path)
        found = json.loads(next(line for line in said.stdout.splitlines() if line[:1] == "{"))
        Report.model_validate(found)
        # The control connection of iperf3 is small.
        (transfer,) = found["transfers"]
        kinds = {each["kind"]: each for each in transfer["findings"]}
        assert "mtu" in kinds
        assert "outage" not in kinds
        if probes:
            assert transfer["bytes"] > 20_000
            assert kinds["mtu"]["certainty"] == 1.0
            assert kinds["mtu"]["evidence"]["mss_after_bytes"] < 1300
        else:
            assert transfer["bytes"] < 1448
            assert kinds["mtu"]["share"] > 0.9
