"""A call between real hosts: what each direction lost, and how late it came."""

from pathlib import Path

import pytest
import real_runs
from real_runs import run

import bentpipe

pytestmark = real_runs.LIVE

PATH = """
duration = "1500 ms"
[path]
rtt = "60 ms"
rate = "20 Mbit/s"
"""
CALL = '[[workload]]\nname = "voice"\nkind = "call"\n'


@pytest.mark.parametrize("ip", [4, 6])
def test_each_direction_takes_half_of_the_round_trip_and_loses_nothing(tmp_path: Path, ip: int) -> None:
    lab = PATH.replace("[path]", f"[host]\nip = {ip}\n[path]") + CALL + 'time = "1 s"\n'
    (record,) = run(tmp_path, lab).records
    figures = record["workloads"]["voice"]
    assert "why" not in figures
    for name in ("down", "up"):
        way = figures[name]
        assert (way["sent"], way["lost"]) == (50, 0)
        assert way["delay_ms"] >= 30
        assert way["jitter_ms"] >= 0
        assert 1 <= way["mos"] <= 4.5
    assert figures["mos"] == min(figures["down"]["mos"], figures["up"]["mos"])


def test_what_the_channel_loses_is_lost_in_its_direction_only(tmp_path: Path) -> None:
    lab = PATH + "[path.down]\nloss = 0.3\n" + CALL + 'interval = "5 ms"\n'
    (record,) = run(tmp_path, lab).records
    assert record["status"] == "done", record["why"]
    down, up = (record["workloads"]["voice"][name] for name in ("down", "up"))
    assert up["lost"] == 0
    assert 0.1 < down["loss"] < 0.5
    assert down["mos"] < up["mos"]


def test_a_call_crosses_a_tunnel_and_passes_proxies(tmp_path: Path) -> None:
    for place, table in enumerate(("[tunnel]\n", "[split]\n")):
        (folder := tmp_path / str(place)).mkdir()
        (record,) = run(folder, PATH + table + CALL + 'time = "500 ms"\n').records
        figures = record["workloads"]["voice"]
        assert figures["down"]["lost"] == figures["up"]["lost"] == 0
        assert figures["down"]["sent"] == 25


@pytest.mark.parametrize(
    "ip",
    [4, pytest.param(6, marks=pytest.mark.long("the same over the other family, 6 s of a real run"))],
)
def test_a_call_crosses_the_gateways_unless_they_leave_it_alone(tmp_path: Path, ip: int) -> None:
    """Of two calls at once the gateways carry one: by its packets each gateway knows it from the other."""
    other = CALL.replace("voice", "other") + 'time = "400 ms"\n'
    lab = (
        PATH.replace("[path]", f"[host]\nip = {ip}\n[path]")
        + '[gateway]\ncarries = ["voice"]\n'
        + CALL
        + 'time = "500 ms"\n'
        + other
    )
    (record,) = run(tmp_path, lab).records
    assert record["gateway"]["near"]["datagrams_sent"] == record["gateway"]["far"]["datagrams_sent"] == 25
    for name, count in (("voice", 25), ("other", 20)):
        figures = record["workloads"][name]
        assert "why" not in figures
        for way in ("down", "up"):
            assert figures[way]["sent"] == count
            assert figures[way]["delay_ms"] >= 30
    assert 0 < record["gateway"]["near"]["datagrams_delivered"] <= 25
    assert 0 < record["gateway"]["far"]["datagrams_delivered"] <= 25


def test_a_call_that_a_tunnel_does_not_carry_is_refused(tmp_path: Path) -> None:
    rtt = '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 3\n'
    with pytest.raises(bentpipe.EngineError, match=r"tunnel.carries: \"voice\" is not in it"):
        run(tmp_path, PATH + '[tunnel]\ncarries = ["rtt"]\n' + rtt + CALL)
