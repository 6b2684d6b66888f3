"""A coded tunnel in a run of `sim`: its figures, its line in the report, and what is refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bentpipe
from bentpipe import EngineError
from invocation import called

LAB = """
duration = "60 s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
[path.down]
loss = 0.01
[client]
tcp_rmem = [4096, 131072, 2000000]
[[workload]]
name = "rtt"
kind = "ping"
count = 10
interval = "200 ms"
[[workload]]
name = "download"
kind = "bulk"
[[variant]]
name = "coded"
set = { "tunnel.redundancy" = 0.1 }
"""
CHANNELS = """
[[workload]]
name = "clients"
kind = "channels"
channels = 3
servers = 3
terrestrial = { delay = "40 ms" }
size = "10 kB"
"""
EXEC = '[[workload]]\nname = "it"\nkind = "exec"\ncommand = ["true"]\n'


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (file := tmp_path / "lab.toml").write_text(LAB)
    return file


def test_flows_of_servers_at_delays_of_their_own_cross_a_tunnel(lab: Path) -> None:
    lab.write_text(LAB + CHANNELS)
    plain, coded = bentpipe.Lab.load(lab).run(engine="sim").records
    finished = [run["workloads"]["clients"]["small_flows"]["count"] for run in (plain, coded)]
    assert min(finished) > 50
    assert coded["tunnel"]["down"]["recovered"] > 50


def test_a_coded_download_is_much_faster_and_its_tunnel_is_measured(lab: Path) -> None:
    runs: Sequence[Any] = bentpipe.Lab.load(lab).run(engine="sim").records
    plain, coded = runs
    assert "tunnel" not in plain
    goodput = [run["workloads"]["download"]["goodput_mbit_s"] for run in (plain, coded)]
    assert goodput[1] > 5 * goodput[0]
    assert coded["pipes"]["down"]["goodput_mbit_s"] > 0
    down = coded["tunnel"]["down"]
    assert down["redundancy_sent"] == pytest.approx(0.1, abs=0.001)
    assert down["redundancy_used"] == pytest.approx(0.01, abs=0.003)
    assert down["residual_loss"] == 0
    assert 0 < down["decoding_delay_s_p50"] < down["decoding_delay_s_p95"]
    assert coded["tunnel"]["up"]["recovered"] == 0


def test_the_terminal_says_in_one_line_what_the_tunnel_did(lab: Path, tmp_path: Path) -> None:
    command = ["run", str(lab), "--engine", "sim", "--out", str(tmp_path / "out"), "--variant", "coded"]
    done = called(command, tmp_path)
    assert done.status == 0
    words = " ".join(done.stdout.split())
    assert "Tunnel, per packet: repairs sent 10 %, used " in words
    assert "lost for good 0 %" in words
    record = json.loads(next((tmp_path / "out").glob("*/run.json")).read_text())
    assert set(record["tunnel"]) == {"down", "up"}


def test_a_near_host_beside_a_tunnel_is_refused(lab: Path) -> None:
    lab.write_text(LAB + "[near]\n[tunnel]\n")
    with pytest.raises(EngineError, match="no near host beside a tunnel"):
        bentpipe.Lab.load(lab).run(engine="sim")


def test_exec_beside_a_tunnel_is_refused_as_without(lab: Path) -> None:
    lab.write_text(LAB + EXEC + "[tunnel]\n")
    with pytest.raises(EngineError, match="exec"):
        bentpipe.Lab.load(lab).run(engine="sim")
