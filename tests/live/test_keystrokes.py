"""Keystrokes between real hosts: each message's delay, and what has no answer."""

from pathlib import Path

import polars as pl
import pytest
import real_runs
from real_runs import run

pytestmark = real_runs.LIVE

PATH = """
duration = "1200 ms"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
"""
KEYS = '[[workload]]\nname = "keys"\nkind = "interactive"\ninterval = "10 ms"\n'


@pytest.mark.parametrize("ip", [4, 6])
def test_no_answer_is_faster_than_the_path_and_every_message_is_a_row(tmp_path: Path, ip: int) -> None:
    host = f"[host]\nip = {ip}\n"
    results = run(tmp_path, PATH.replace("[path]", f'until = "done"\n{host}[path]') + KEYS + "count = 40\n")
    (record,) = results.records
    assert record["status"] == "done", record["why"]
    figures = record["workloads"]["keys"]
    assert (figures["sent"], figures["unanswered"]) == (40, 0)
    rows = results.pings
    assert rows["sequence"].to_list() == list(range(1, 41))
    assert rows["rtt_s"].min() >= 0.04
    # The first one is written when the handshake is over.
    assert rows["time_s"][0] >= 0.04
    assert results.flows.is_empty()
    sockets = results.sockets
    assert set(sockets.filter(pl.col("workload") == "keys")["host"]) == {"client", "server"}
    assert sockets["workload"].null_count() == 0


def test_messages_are_written_at_the_times_that_sim_draws(tmp_path: Path) -> None:
    lab = PATH + KEYS.replace("10 ms", "20 ms") + 'gaps = "exponential"\ncount = 30\n'
    (tmp_path / "sim").mkdir()
    drawn = run(tmp_path / "sim", lab, engine="sim").pings["time_s"]
    found = run(tmp_path, lab).pings["time_s"]
    assert found.len() == drawn.len() == 30
    # From when the connection is open, and never early; how late is this machine's affair.
    assert (found - (drawn - drawn[0])).min() >= 0.04


def test_what_an_outage_holds_up_is_unanswered_and_what_was_on_the_way_is_left_out(tmp_path: Path) -> None:
    results = run(tmp_path, PATH.replace("[path]", '[path]\noutages = [["600 ms", "60 s"]]') + KEYS)
    (record,) = results.records
    figures = record["workloads"]["keys"]
    assert "why" not in figures
    assert figures["unanswered"] == results.pings["rtt_s"].null_count() > 0
    unanswered = results.pings.filter(pl.col("rtt_s").is_null())
    assert unanswered["time_s"].min() > 0.4
    # A round trip with full queues is 40 ms and what 1 bdp takes, twice.
    assert unanswered["time_s"].max() < 1.1


def test_a_path_that_lets_nothing_through_leaves_nothing_to_measure(tmp_path: Path) -> None:
    (record,) = run(tmp_path, PATH.replace("[path]", "[path]\nloss = 1.0") + KEYS).records
    assert record["workloads"]["keys"]["sent"] == 0
    assert record["workloads"]["keys"]["p50_ms"] is None


@pytest.mark.parametrize(
    "table", ["[split]\n", '[tunnel]\ncarries = ["rtt"]\n'], ids=["split", "beside a tunnel"]
)
def test_messages_cross_proxies_and_beside_a_tunnel(tmp_path: Path, table: str) -> None:
    """A tunnel knows the connection by its port."""
    ping = '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 3\ninterval = "20 ms"\n'
    figures = run(tmp_path, PATH + KEYS + ping + table).records[0]["workloads"]["keys"]
    assert figures["sent"] > 20
    assert figures["unanswered"] == 0
    assert figures["min_ms"] >= 40
