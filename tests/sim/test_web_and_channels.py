"""Fetches and channels in the simulator, from the lab file to the tables."""

from pathlib import Path

import polars as pl
import pytest

from bentpipe import Lab
from bentpipe.runs.store import Results

LAB = """
title = "channels and a page over a satellite"
duration = "20 s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
queue = "100 kB"
[[workload]]
name = "clients"
kind = "channels"
channels = 20
terrestrial = { delay = { distribution = "lognormal", median = "60 ms", sigma = 0.8 }, jitter = "5 ms" }
size = { distribution = "bounded-pareto", shape = 1.2, min = "1.5 kB", max = "50 MB" }
[[workload]]
name = "file"
kind = "http"
size = "100 kB"
fetches = 3
think = "100 ms"
[[workload]]
name = "page"
kind = "http"
objects = ["30 kB", "5 kB", "100 kB", "2 kB"]
"""


def results(tmp_path: Path, name: str, text: str = LAB) -> Results:
    file = tmp_path / "x.toml"
    file.write_text(text, encoding="utf-8")
    return Lab.load(file).run(engine="sim", out=tmp_path / name)


def test_every_fetch_and_every_flow_of_a_channel_is_a_row(tmp_path: Path) -> None:
    found = results(tmp_path, "out")
    (run,) = found.records
    flows = found.flows
    workloads = run["workloads"]
    channels = flows.filter(pl.col("workload") == "clients")
    assert channels.height == workloads["clients"]["flows"] > 100
    finished = channels.filter(pl.col("outcome") == "finished")
    assert (finished["bytes"] == finished["size_bytes"]).all()
    assert channels["client"].n_unique() == 20
    assert set(channels["server"]) <= {f"server-{number}" for number in range(1, 24)}
    assert flows.filter(pl.col("workload") == "file")["connected_s"].null_count() == 0
    assert flows.filter(pl.col("workload") == "page")["size_bytes"].to_list() != []
    fetches = workloads["file"]["per_fetch"]
    assert [fetch["bytes"] for fetch in fetches] == [100_000] * 3
    for fetch in fetches:
        assert 0.55 <= fetch["connect_s"] < fetch["first_byte_s"] < fetch["total_s"]
        assert fetch["first_byte_s"] >= 1.2
    assert workloads["page"]["bytes"] == 137_000


def test_the_same_seed_draws_the_same_flows_on_another_path(tmp_path: Path) -> None:
    slower = LAB.replace("16 Mbit/s", "2 Mbit/s")
    first = [
        found.flows.filter((pl.col("workload") == "clients") & (pl.col("client") == "client-7"))
        .sort("start_s")
        .select("server", "size_bytes")
        .head(3)
        for found in (results(tmp_path, "fast"), results(tmp_path, "slow", slower))
    ]
    assert first[0].equals(first[1])


NEAR = """
title = "a set of objects behind a cache"
until = "done"
[path]
rtt = "200 ms"
rate = "20 Mbit/s"
[near]
rtt = "2 ms"
rate = "1 Gbit/s"
cache = { size = "1 MB" }
[[workload]]
name = "objects"
kind = "http"
size = "20 kB"
fetches = 60
popularity = { zipf = 1.0, set = 20 }
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "100 ms"
"""


def test_a_cache_at_near_answers_what_it_holds(tmp_path: Path) -> None:
    found = results(tmp_path, "near", NEAR)
    (run,) = found.records
    entry = run["workloads"]["objects"]
    flows = found.flows
    assert set(flows["server"]) == {"near"}
    first = flows.group_by("object").agg(pl.col("cache").sort_by("start_s").first())
    assert set(first["cache"]) == {"miss"}
    misses = first.height
    assert entry["cache"] == {"hits": 60 - misses, "misses": misses}
    took_s = {
        found: [fetch["total_s"] for fetch in entry["per_fetch"] if fetch["cache"] == found]
        for found in ("hit", "miss")
    }
    assert max(took_s["hit"]) < 0.05
    # The first one's connection to the server is kept for the others.
    assert took_s["miss"][0] > 0.4
    assert 0.2 < min(took_s["miss"]) < 0.3
    assert set(found.sockets["host"]) == {"client", "near", "server"}
    ends = found.sockets.group_by("role").agg(pl.col("host").unique().sort(), pl.col("flow").n_unique())
    hosts = {role: hosts for role, hosts, _ in ends.rows()}
    assert hosts == {"data": ["client", "near"], "upstream": ["near", "server"]}
    assert found.sockets.filter(pl.col("role") == "upstream")["flow"].null_count() > 0
    assert run["workloads"]["rtt"]["min_ms"] >= 202


def test_a_near_host_without_a_cache_forwards(tmp_path: Path) -> None:
    plain = NEAR.replace('cache = { size = "1 MB" }', "")
    found = results(tmp_path, "forwarding", plain)
    (run,) = found.records
    assert set(found.flows["server"]) == {"server"}
    assert found.flows["cache"].null_count() == found.flows.height
    assert run["workloads"]["objects"]["cache"] is None
    assert set(found.sockets["host"]) == {"client", "server"}
    assert run["workloads"]["rtt"]["min_ms"] >= 202


def test_what_a_server_thinks_and_a_client_pauses_is_apart_from_transfer(tmp_path: Path) -> None:
    thinking = LAB.replace("servers = 23", "") + 'think = "300 ms"\nfetches = 2\n'
    thinking = thinking.replace("channels = 20\n", 'channels = 20\nthink = "1 s"\n')
    (run,) = results(tmp_path, "thinking", thinking).records
    file, page, clients = (run["workloads"][name] for name in ("file", "page", "clients"))
    for fetch in file["per_fetch"]:
        assert fetch["think_s"] == pytest.approx(0.1)
        assert fetch["transfer_s"] == pytest.approx(fetch["total_s"] - 0.1)
    assert file["think_s"] == pytest.approx(0.3)
    assert file["transfer_times"]["p50_s"] == pytest.approx(file["fetch_times"]["p50_s"] - 0.1)
    # Four objects over as many connections wait at once, apart from what one of them carries meanwhile.
    for fetch in page["per_fetch"]:
        assert 0 < fetch["think_s"] <= 0.3
    assert page["object_times"]["count"] == 8
    assert page["object_times"]["max_s"] <= page["fetch_times"]["max_s"]
    assert file["object_times"] is None
    assert file["pause_s"] == pytest.approx(0, abs=1e-6)
    # A channel pauses a second after each flow.
    pauses = clients["finished"] / 20
    assert pauses - 1 < clients["pause_s"] < pauses + 0.5


def test_every_kind_of_work_keeps_its_percentiles_and_the_largest(tmp_path: Path) -> None:
    more = '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 100\ninterval = "100 ms"\n'
    more += '[[workload]]\nname = "long"\nkind = "bulk"\n'
    (run,) = results(tmp_path, "kinds", LAB + more).records
    work = run["workloads"]
    flows = work["clients"]["flow_times"]
    assert flows["count"] > 100
    assert 0 < flows["p50_s"] < flows["p95_s"] < flows["p99_s"] < flows["max_s"]
    small = work["clients"]["small_flows"]
    assert small["p50_s"] < small["p95_s"] < small["max_s"] <= flows["max_s"]
    assert work["rtt"]["median_ms"] <= work["rtt"]["p95_ms"] <= work["rtt"]["p99_ms"] <= work["rtt"]["max_ms"]
    seconds = work["long"]["per_second"]
    assert seconds["min_mbit_s"] <= seconds["p50_mbit_s"] <= seconds["max_mbit_s"]
    assert (seconds["count"], seconds["p1_mbit_s"]) == (len(work["long"]["per_second_mbit_s"]), None)
    fetches = work["file"]["fetch_times"]
    assert (fetches["count"], fetches["p95_s"]) == (3, None)
    assert fetches["max_s"] == max(fetch["total_s"] for fetch in work["file"]["per_fetch"])
