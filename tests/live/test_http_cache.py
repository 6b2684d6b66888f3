"""A real nginx at near as a cache: what it holds does not cross the path again."""

from pathlib import Path
from typing import Any

import pytest
import real_runs
from real_runs import run

from bentpipe.runs.store import Results

pytestmark = real_runs.WEB

WEB = """
until = "done"
duration = "40 s"
[path]
rtt = "60 ms"
rate = "20 Mbit/s"
[near]
rtt = "4 ms"
cache = { size = "10 MB" }
[[workload]]
name = "web"
kind = "http"
"""


def web(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = results.records[0]["workloads"]["web"]
    assert "why" not in found
    return found


def crossed(results: Results) -> int:
    """Payload that came over the path."""
    total: int = results.link.filter(results.link["pipe"] == "down")["goodput_bytes"].sum()
    return total


@pytest.mark.parametrize("ip", [4, 6])
def test_the_second_fetch_of_a_file_is_a_hit_and_does_not_cross_the_path(tmp_path: Path, ip: int) -> None:
    lab = WEB.replace("[path]", f"[host]\nip = {ip}\n[path]") + 'size = "50 kB"\nfetches = 3\n'
    results = run(tmp_path, lab)
    entry = web(results)
    assert entry["cache"] == {"hits": 2, "misses": 1}
    assert [fetch["cache"] for fetch in entry["per_fetch"]] == ["miss", "hit", "hit"]
    assert results.flows["cache"].to_list() == ["miss", "hit", "hit"]
    assert {*results.flows["server"]} == {"near"}
    assert results.flows["ip"].to_list() == [ip] * 3
    assert 50_000 <= crossed(results) < 52_000
    # To near and back, to near and the server and back twice: its connection to the server is a new one.
    assert entry["per_fetch"][0]["first_byte_s"] >= 0.004 + 0.064 + 0.06
    roles = {row["role"]: row["output"] for row in results.tools.to_dicts()}
    assert "proxy_cache objects" in roles["near configuration"]
    assert roles["near access log"].count("HIT") == 2
    assert "X-Cache: HIT" in roles["client trace"]


def test_what_is_not_held_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    fetch = web(run(tmp_path, WEB + 'size = "1 MB"\n'))["per_fetch"][0]
    assert fetch["cache"] == "miss"
    # A megabyte takes 0.4 s at least; what was passed on only when it was whole would begin as late.
    assert fetch["total_s"] - fetch["first_byte_s"] >= 0.3


def test_each_object_of_a_set_is_missed_once(tmp_path: Path) -> None:
    lab = WEB + 'size = "1 kB"\npopularity = { zipf = 1.2, set = 20 }\nfetches = 25\nkeep_alive = true\n'
    results = run(tmp_path, lab)
    asked = results.flows["object"].to_list()
    assert web(results)["cache"] == {"hits": len(asked) - len(set(asked)), "misses": len(set(asked))}


def test_a_range_of_what_is_not_held_asks_the_server_for_the_whole_file(tmp_path: Path) -> None:
    lab = WEB.replace("20 Mbit", "50 Mbit") + 'size = "2 MiB"\nconnections = 2\nfetches = 2\n'
    results = run(tmp_path, lab)
    entry = web(results)
    assert entry["bytes"] == 2 * (2 << 20)
    assert [fetch["cache"] for fetch in entry["per_fetch"]] == ["miss", "hit"]
    roles = {row["role"]: row["output"] for row in results.tools.to_dicts()}
    assert "Range: bytes=1048576-2097151" in roles["client"]
    asked = roles["server access log"].splitlines()
    assert len(asked) >= 2
    assert all('"range":""' in line for line in asked)


def test_an_upload_goes_by_the_cache(tmp_path: Path) -> None:
    results = run(tmp_path, WEB + 'size = "10 kB"\ndirection = "up"\n')
    assert web(results)["cache"] is None
    assert results.flows["server"].to_list() == ["server"]


def test_a_fetch_through_a_cache_that_the_run_end_cuts_keeps_its_bytes(tmp_path: Path) -> None:
    results = run(tmp_path, WEB.replace('"40 s"', '"1 s"') + 'size = "20 MB"\n')
    entry = web(results)
    assert (entry["finished"], entry["completion_s"]) == (0, None)
    assert results.flows["outcome"].to_list() == ["unfinished"]
    assert 0 < entry["bytes"] <= crossed(results)
