"""Real programs over a real path: what a run measures, and what it says of a program that fails."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import real_runs
from real_runs import run, shadow

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.errors import EngineError
from bentpipe.runs.store import Results
from bentpipe.sweep.run import execute

pytestmark = real_runs.LIVE

PATH = """
until = "done"
duration = "40 s"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
"""
BULK = PATH + '[[workload]]\nname = "load"\nkind = "bulk"\n'
PING = PATH + '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 3\ninterval = "20 ms"\n'


def _folder(place: Path) -> Path:
    place.mkdir()
    return place


def workload(results: Results, name: str) -> dict[str, Any]:
    found: dict[str, Any] = results.records[0]["workloads"][name]
    return found


@pytest.mark.parametrize("ip", [4, 6])
def test_a_ping_is_not_faster_than_the_path_and_precedes_time_zero(tmp_path: Path, ip: int) -> None:
    lab = PING.replace("[path]", f"[host]\nip = {ip}\n[path]") + 'start = "-0.5 s"\n'
    results = run(tmp_path, lab)
    times = results.pings["rtt_s"].to_list()
    assert len(times) == 3
    assert all(0.04 <= time < 1 for time in times)
    assert -0.51 < results.pings["time_s"][0] < 0
    assert workload(results, "rtt")["lost"] == 0


def test_what_the_channel_loses_is_a_ping_without_an_answer(tmp_path: Path) -> None:
    results = run(tmp_path, PING.replace("[path]", "[path]\nloss = 1.0") + "[limits]\nunintended_loss = 0\n")
    assert workload(results, "rtt")["lost"] == 3
    assert "why" not in workload(results, "rtt")
    assert results.pings["rtt_s"].to_list() == [None, None, None]
    assert results.link["drops_channel"].sum() >= 3


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_transfer_by_time_gets_most_of_the_rate_and_never_more(tmp_path: Path, direction: str) -> None:
    results = run(tmp_path, BULK + f'direction = "{direction}"\ntime = "2 s"\nomit = "1 s"\n')
    load = workload(results, "load")
    assert "why" not in load
    assert load["goodput_mbit_s"] > 10
    assert load["duration_s"] == pytest.approx(2, abs=0.5)
    assert load["bytes"] * 8e-6 / load["duration_s"] == pytest.approx(load["goodput_mbit_s"])
    flow = results.flows.to_dicts()[0]
    assert (flow["direction"], flow["outcome"], flow["remote_port"]) == (direction, "finished", 5201)
    ports = set(results.sockets["local_port"].to_list())
    assert flow["local_port"] in ports
    sender = results.link.filter(results.link["pipe"] == direction)
    assert sender["goodput_bytes"].sum() > load["bytes"]
    assert sender["throughput_bytes"].max() <= 20e6 / 8 * 0.1 + 1500
    said = results.tools["output"].to_list()
    assert len(said) == 2
    assert all('"intervals"' in output for output in said)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_bound_of_pacing_is_kept_as_in_sim(tmp_path: Path, direction: str) -> None:
    lab = BULK + f'direction = "{direction}"\ntime = "3 s"\nomit = "1 s"\nmax_pacing_rate = "6 Mbit/s"\n'
    rates = [
        workload(run(_folder(tmp_path / engine), lab, engine), "load")["goodput_mbit_s"]
        for engine in ("live", "sim")
    ]
    assert rates == pytest.approx([6, 6], rel=0.03)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_transfer_by_size_ends_with_its_last_byte(tmp_path: Path, direction: str) -> None:
    results = run(tmp_path, BULK + f'direction = "{direction}"\nsize = "1 MB"\nstreams = 2\n')
    load = workload(results, "load")
    assert "why" not in load
    assert load["bytes"] >= 1_000_000
    assert results.flows["bytes"].sum() == load["bytes"]
    assert len(results.flows) == 2
    # 8 Mbit at 20 Mbit/s, and before it iperf3's handshake of at least two round trips.
    assert 0.4 + 0.08 < load["completion_s"] < 30


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_transfer_has_the_congestion_control_that_it_asks_for_and_another_the_hosts(
    tmp_path: Path, direction: str
) -> None:
    lab = BULK + f'direction = "{direction}"\nsize = "200 kB"\n'
    rival = lab.removeprefix(PATH).replace('"load"', '"rival"') + 'congestion_control = "reno"\n'
    results = run(tmp_path, lab + rival)
    assert results.records[0]["status"] == "done", results.records[0]["why"]
    sender = {"down": "server", "up": "client"}[direction]
    controls = {}
    for flow in results.flows.to_dicts():
        ports = {flow["local_port"], flow["remote_port"]}
        of_flow = results.sockets.filter(
            pl.col("host") == sender, pl.col("local_port").is_in(ports), pl.col("remote_port").is_in(ports)
        )
        controls[flow["workload"]] = set(of_flow["congestion_control"].drop_nulls())
    assert controls == {"load": {"cubic"}, "rival": {"reno"}}


def test_both_directions_are_two_workloads_at_once(tmp_path: Path) -> None:
    results = run(tmp_path, BULK + 'direction = "both"\nsize = "200 kB"\n')
    found = results.records[0]["workloads"]
    assert set(found) == {"load-down", "load-up"}
    assert all(load["completion_s"] for load in found.values())


def test_a_transfer_cut_by_the_run_end_keeps_what_it_measured(tmp_path: Path) -> None:
    lab = BULK.replace('"40 s"', '"3 s"') + 'time = "30 s"\n'
    load = workload(results := run(tmp_path, lab), "load")
    assert results.records[0]["status"] == "done"
    assert load["completion_s"] is None
    assert 1 <= len(load["per_second_mbit_s"]) <= 3
    assert load["goodput_mbit_s"] > 1
    assert results.flows["outcome"].to_list() == ["unfinished"]


def test_a_command_gives_its_output_and_a_status_other_than_zero_is_a_failure(tmp_path: Path) -> None:
    lab = PATH + (
        '[[workload]]\nname = "good"\nkind = "exec"\ncommand = ["echo", "hello"]\n'
        '[[workload]]\nname = "bad"\nkind = "exec"\nhost = "server"\n'
        'command = ["sh", "-c", "echo no space >&2; exit 3"]\n'
    )
    results = run(tmp_path, lab)
    assert workload(results, "good")["status"] == 0
    assert "hello\n" in results.tools["output"].to_list()
    assert results.records[0]["status"] == "failed"
    assert any("bad" in why and "no space" in why for why in results.records[0]["why"])


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("echo cannot be >&2; exit 5", "cannot be"),
        ("echo nonsense", "nonsense"),
        ("kill -9 $$", "SIGKILL"),
    ],
)
def test_a_program_that_does_not_do_its_work_fails_its_workload_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, named: str
) -> None:
    shadow(tmp_path, "iperf3", script, monkeypatch)
    results = run(tmp_path, PING + '[[workload]]\nname = "load"\nkind = "bulk"\nsize = "10 kB"\n')
    assert results.records[0]["status"] == "failed"
    assert named in workload(results, "load")["why"]
    assert workload(results, "rtt")["lost"] == 0
    assert len(results.link) > 0


def test_a_program_that_is_missing_is_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"iperf3 \(needed by workload load\)"):
        run(tmp_path, BULK + 'size = "10 kB"\n')
    assert not (tmp_path / "out").exists()


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow(tmp_path, "iperf3", "", monkeypatch)
    (tmp_path / "programs" / "iperf3").write_text("#!/no/such/interpreter\n")
    results = run(tmp_path, BULK + 'size = "10 kB"\n')
    assert "iperf3" in workload(results, "load")["why"]


def test_a_program_that_hangs_is_stopped_at_the_run_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow(tmp_path, "ping", "trap '' INT; sleep 1000 & wait; wait", monkeypatch)
    results = run(tmp_path, PING.replace('"40 s"', '"2 s"'))
    assert results.records[0]["status"] == "failed"
    assert workload(results, "rtt")["why"]


def test_a_run_past_its_limits_is_unreliable_and_says_why(tmp_path: Path) -> None:
    results = run(tmp_path, PING + '[limits]\nlateness_p99 = "0 s"\n')
    record = results.records[0]
    assert (record["status"], record["reliable"]) == ("done", False)
    assert any("limit" in why for why in record["why"])


def test_the_record_has_the_sysctls_in_force_the_versions_and_the_machine(tmp_path: Path) -> None:
    lab = PING.replace("[path]", "[server]\ntcp_rmem = [4096, 16384, 65536]\n[path]")
    record = run(tmp_path, lab).records[0]
    assert record["sysctl"]["server"]["net.ipv4.tcp_rmem"] == "4096 16384 65536"
    assert record["sysctl"]["client"]["net.ipv4.tcp_rmem"] != "4096 16384 65536"
    assert record["versions"]["ping"].startswith("ping from iputils")
    assert record["machine"]["kernel"] == os.uname().release
    assert record["machine"]["cores"] > 0


def test_a_capture_of_one_end_is_read_by_tshark(tmp_path: Path) -> None:
    if not (tshark := shutil.which("tshark")):
        pytest.skip("tshark is not here")
    (tmp_path / "lab.toml").write_text(BULK + 'size = "50 kB"\n')
    lab = bentpipe.Lab.load(tmp_path / "lab.toml")
    results = execute(lab, engine="live", out=tmp_path / "out", options=EngineOptions(pcap=("client",)))
    folder = tmp_path / "out" / results.records[0]["run"]
    assert not (folder / "server.pcapng").exists()
    argv = [tshark, "-r", str(folder / "client.pcapng"), "-T", "fields", "-e", "tcp.len", "-Y", "tcp.len > 0"]
    lengths = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert sum(map(int, lengths)) >= 50_000
    assert max(map(int, lengths)) <= 1460
