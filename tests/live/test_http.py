"""The real curl and nginx over a real path: each fetch with its times, and what is said of one that fails."""

from pathlib import Path
from typing import Any

import pytest
import real_runs
from real_runs import PROGRAMS, run, shadow

from bentpipe.errors import EngineError
from bentpipe.runs.store import Results

pytestmark = real_runs.WEB

PATH = """
until = "done"
duration = "40 s"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
"""
WEB = PATH + '[[workload]]\nname = "web"\nkind = "http"\n'
FILE = WEB + 'size = "50 kB"\n'
PAGE = WEB + 'objects = ["20 kB", "10 kB", "10 kB", "1 kB", "1 kB"]\nconnections = 2\n'


def web(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = results.records[0]["workloads"]["web"]
    return found


@pytest.mark.parametrize("ip", [4, 6])
def test_each_fetch_is_a_connection_of_its_own_and_takes_its_round_trips(tmp_path: Path, ip: int) -> None:
    results = run(tmp_path, FILE.replace("[path]", f"[host]\nip = {ip}\n[path]") + "fetches = 2\n")
    entry = web(results)
    assert "why" not in entry
    assert (entry["fetches"], entry["finished"], entry["bytes"]) == (2, 2, 100_000)
    flows = results.flows.to_dicts()
    assert len({flow["local_port"] for flow in flows}) == 2
    for fetch, flow in zip(entry["per_fetch"], flows, strict=True):
        # A round trip to connect, another to the first byte, and 20 ms for the bytes.
        assert 0.04 <= fetch["connect_s"] < fetch["first_byte_s"] < fetch["total_s"]
        assert fetch["first_byte_s"] >= 0.08
        assert fetch["total_s"] >= 0.1
        assert (flow["ip"], flow["bytes"], flow["outcome"]) == (ip, 50_000, "finished")
        assert flow["end_s"] - flow["start_s"] == pytest.approx(fetch["total_s"])
    assert flows[0]["start_s"] > 0
    assert flows[1]["start_s"] > flows[0]["end_s"]
    assert entry["completion_s"] == pytest.approx(flows[1]["end_s"])


def test_a_connection_that_is_kept_is_not_opened_again(tmp_path: Path) -> None:
    results = run(tmp_path, FILE + "fetches = 3\nkeep_alive = true\n")
    fetches = web(results)["per_fetch"]
    assert [fetch["connect_s"] is None for fetch in fetches] == [False, True, True]
    assert all(fetch["first_byte_s"] >= 0.04 for fetch in fetches)
    starts = [fetch["start_s"] for fetch in fetches]
    # A start is known from when curl wrote a line, which is late where curl waits for a processor.
    assert all(
        after >= before + fetch["total_s"] - 20e-3
        for before, after, fetch in zip(starts, starts[1:], fetches, strict=False)
    )
    assert results.flows["local_port"].n_unique() == 1


@pytest.mark.parametrize("keep_alive", ["true", "false"])
def test_a_page_is_fetched_over_as_many_connections_as_it_may_have(tmp_path: Path, keep_alive: str) -> None:
    results = run(tmp_path, PAGE + f"keep_alive = {keep_alive}\n")
    entry = web(results)
    assert "why" not in entry
    assert (entry["fetches"], entry["finished"], entry["bytes"]) == (1, 1, 42_000)
    flows = results.flows.to_dicts()
    assert sorted(flow["size_bytes"] for flow in flows) == [1000, 1000, 10_000, 10_000, 20_000]
    assert len({flow["local_port"] for flow in flows}) == (2 if keep_alive == "true" else 5)
    instants = sorted(flow["start_s"] for flow in flows)
    # A start is the time of a line in curl's trace less what curl measured. It may lie just before the end
    # that it followed.
    under_way = [sum(f["start_s"] <= at < f["end_s"] - 1e-3 for f in flows) for at in instants]
    assert max(under_way) == 2


def test_an_upload_is_over_when_the_server_has_read_and_answered_it(tmp_path: Path) -> None:
    results = run(tmp_path, FILE + 'direction = "up"\nfetches = 2\n')
    entry = web(results)
    assert "why" not in entry
    assert entry["bytes"] == 100_000
    for flow in results.flows.to_dicts():
        assert flow["direction"] == "up"
        # Connected, then half a round trip and 20 ms for the body, and half a round trip for the answer.
        assert flow["start_s"] + 0.06 <= flow["first_byte_s"] + 0.002
        assert flow["end_s"] - flow["start_s"] >= 0.1
    up = results.link.filter(results.link["pipe"] == "up")
    assert up["goodput_bytes"].sum() >= 100_000


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_server_that_thinks_answers_later(tmp_path: Path, direction: str) -> None:
    results = run(tmp_path, FILE + f'think = "300 ms"\ndirection = "{direction}"\n')
    assert "why" not in web(results)
    (fetch,) = web(results)["per_fetch"]
    assert fetch["total_s"] >= 0.4
    # Apart from transfer by the same definition as in `sim`.
    assert fetch["think_s"] == pytest.approx(0.3)
    assert fetch["transfer_s"] == pytest.approx(fetch["total_s"] - 0.3)
    assert web(results)["transfer_times"]["max_s"] == pytest.approx(fetch["transfer_s"])


def test_both_engines_ask_for_the_same_objects_and_say_the_same_things(tmp_path: Path) -> None:
    lab = FILE.replace("50 kB", "1 kB") + "popularity = { zipf = 0.8, set = 1000 }\nfetches = 6\n"
    lab += "keep_alive = true\n"
    entries, objects = {}, {}
    for engine in ("live", "sim"):
        (folder := tmp_path / engine).mkdir()
        results = run(folder, lab, engine)
        entries[engine] = web(results)
        objects[engine] = results.flows["object"].to_list()
    assert objects["live"] == objects["sim"]
    assert len(set(objects["live"])) > 1
    assert set(entries["live"]) == set(entries["sim"])
    assert set(entries["live"]["per_fetch"][0]) == set(entries["sim"]["per_fetch"][0])


def test_a_file_in_ranges_comes_over_a_connection_each(tmp_path: Path) -> None:
    lab = WEB.replace("[path]", "[host]\nip = 6\n[path]") + 'size = "4 MiB"\nconnections = 4\n'
    results = run(tmp_path, lab.replace("20 Mbit", "50 Mbit"))
    entry = web(results)
    assert "why" not in entry
    assert (entry["connections"], entry["fetches"], entry["finished"]) == (4, 1, 1)
    flows = results.flows.to_dicts()
    assert entry["bytes"] == sum(flow["bytes"] for flow in flows) == 4 << 20
    assert len({flow["local_port"] for flow in flows}) >= 4
    first = min(flows, key=lambda flow: flow["start_s"])
    # The others are begun when the first answer's header has come.
    assert all(flow["start_s"] >= first["first_byte_s"] for flow in flows if flow is not first)
    assert all(flow["retransmits"] is not None for flow in flows)
    assert results.records[0]["versions"]["aria2c"].startswith("aria2 version")


def test_more_ranges_than_aria2c_allows_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="aria2c opens 16"):
        run(tmp_path, FILE + "connections = 17\n")


def test_what_was_retransmitted_is_counted_to_the_last_segment(tmp_path: Path) -> None:
    lab = FILE.replace("[path]", "[path.down]\nloss = 0.1\n[path]") + "fetches = 5\n"
    results = run(tmp_path, lab)
    entry = web(results)
    assert entry["retransmits"] == results.flows["retransmits"].sum() > 0
    assert [fetch["retransmits"] for fetch in entry["per_fetch"]] == results.flows["retransmits"].to_list()


def test_a_fetch_that_the_run_end_cuts_keeps_its_bytes(tmp_path: Path) -> None:
    results = run(tmp_path, WEB.replace('"40 s"', '"1 s"') + 'size = "20 MB"\n')
    assert results.records[0]["status"] == "done"
    entry = web(results)
    assert (entry["fetches"], entry["finished"], entry["completion_s"]) == (1, 0, None)
    flow = results.flows.to_dicts()[0]
    assert (flow["outcome"], flow["end_s"], flow["why"]) == ("unfinished", None, None)
    assert flow["local_port"] is not None
    down = results.link.filter(results.link["pipe"] == "down")
    assert 0 < entry["bytes"] <= down["goodput_bytes"].sum()


def test_the_programs_words_and_versions_are_kept(tmp_path: Path) -> None:
    results = run(tmp_path, FILE)
    roles = {(row["tool"], row["role"]): row["output"] for row in results.tools.to_dicts()}
    assert "time_total" in roles["curl", "client"]
    assert "GET /web/1/50000?0" in roles["nginx", "server access log"]
    assert "listen" in roles["nginx", "server configuration"]
    versions = results.records[0]["versions"]
    assert versions["nginx"].startswith("nginx version")
    assert versions["curl"].startswith("curl ")


@pytest.mark.parametrize(
    ("program", "script", "named"),
    [
        ("nginx", "echo cannot be >&2; exit 5", "cannot be"),
        ("nginx", "kill -9 $$", "SIGKILL"),
        ("curl", "echo nonsense", "nonsense"),
    ],
)
def test_a_program_that_does_not_do_its_work_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, script: str, named: str
) -> None:
    shadow(tmp_path, program, script, monkeypatch)
    results = run(tmp_path, FILE)
    assert results.records[0]["status"] == "failed"
    assert program in web(results)["why"]
    assert named in web(results)["why"]


def test_an_nginx_that_dies_in_mid_run_ends_the_fetches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow(tmp_path, "nginx", f'PATH={PROGRAMS} nginx "$@" & sleep 2; kill -9 -$$', monkeypatch)
    results = run(tmp_path, WEB + 'size = "20 MB"\nfetches = 100\n')
    assert results.records[0]["status"] == "failed"
    entry = web(results)
    assert "nginx" in entry["why"]
    assert entry["fetches"] < 100
    assert results.flows["outcome"].to_list()[-1] == "failed"
    assert "curl ended with status" in results.flows["why"].to_list()[-1]
