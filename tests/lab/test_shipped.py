"""The labs that come with bentpipe, the published figures, and the pages written from the models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bentpipe.lab.load import Lab
from bentpipe.lab.published import published, published_keys
from bentpipe.lab.reference import PAGE, SCHEMA, page, schema_text
from bentpipe.lab.schema import json_schema
from bentpipe.lab.shipped import catalogue, shipped_labs
from bentpipe.lab.spec import BulkSpec, ChannelsSpec, HttpSpec, PingSpec

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", shipped_labs())
def test_a_shipped_lab_loads_by_its_name_and_by_its_file(name: str) -> None:
    by_name = Lab.load(name)
    by_file = Lab.load(ROOT / "labs" / f"{name}.toml")
    assert by_name.points() == by_file.points()
    assert (name, by_name.title) in catalogue()


def test_effects_of_latency_has_the_ten_published_cells() -> None:
    points = Lab.load("effects-of-latency", variants=["as is"]).points()
    assert [(point.point["path.rtt"], point.point["workload.download.direction"]) for point in points] == [
        (rtt, direction)
        for rtt in ("0.6 ms", "11 ms", "30 ms", "150 ms", "550 ms")
        for direction in ("up", "down")
    ]
    for point in points:
        ping, bulk = point.spec.workloads
        assert isinstance(ping, PingSpec)
        assert isinstance(bulk, BulkSpec)
        assert (ping.count, ping.interval_ns) == (10, 200_000_000)
        assert ping.start_ns + ping.count * ping.interval_ns + point.spec.path.base_rtt_ns < bulk.start_ns
        assert (bulk.time_ns, bulk.omit_ns, bulk.streams) == (30_000_000_000, 1_000_000_000, 1)
        assert point.spec.client.congestion_control == "cubic"
        # What two virtual machines of the original carried at 0.6 ms.
        assert point.spec.path.down["shaper"] == {"kind": "fixed", "rate_bit_s": 2_500_000_000}


def test_effects_of_latency_compares_the_buffers_of_its_time_and_netems_limit() -> None:
    lab = Lab.load("effects-of-latency", set=["path.rtt=30 ms", "workload.download.direction=up"])
    found = {
        point.variant: (point.spec.server.tcp_rmem, point.spec.path.up["propagation"]["limit"]["unit"])
        for point in lab.points()
    }
    buffers = (4096, 87380, 6291456)
    assert found == {
        "as is": (None, "unlimited"),
        "period buffers": (buffers, "unlimited"),
        "netem limit": (None, "packets"),
        "period buffers and netem limit": (buffers, "packets"),
    }


def test_the_high_latency_lab_is_the_published_one() -> None:
    (point,) = Lab.load("high-latency-lab", variants=["as is"]).points()
    (fetch,) = point.spec.workloads
    assert isinstance(fetch, HttpSpec)
    assert (fetch.size_bytes, fetch.fetches, fetch.connections) == (104857601, 5, 1)
    for pipe in (point.spec.path.down, point.spec.path.up):
        assert pipe["shaper"] == {"kind": "unlimited"}
        assert pipe["channel"]["loss"] == {"model": "bernoulli", "p": 1e-6}
        assert pipe["propagation"]["delay_ns"] == 50_000_000
        assert pipe["propagation"]["limit"] == {"unit": "packets", "packets": 1000}
        assert pipe["propagation"]["jitter"] == {
            "spread_ns": 5_000_000,
            "distribution": "uniform",
            "correlation": 0.25,
            "reorder": True,
        }


def test_intercontinental_tuning_sends_out_of_the_servers_uplink() -> None:
    points = Lab.load("intercontinental-tuning").points()
    assert {point.spec.path.rate_down_bit_s for point in points} == {20_000_000}
    streams = [work.streams for point in points for work in point.spec.workloads if work.kind == "bulk"]
    assert sorted(set(streams)) == [1, 2, 4, 8, 16]
    bdp_bytes = 20_000_000 * 411 // 8000
    rule = next(point.spec.server.tcp_wmem for point in points if point.variant == "buffers of 2 x BDP")
    assert rule is not None
    assert rule[2] == 2 * bdp_bytes


def test_every_cure_stands_beside_the_plain_lab_of_the_same_work() -> None:
    points = Lab.load("cures").points()
    plain = {str(point.point): point.spec for point in points if point.variant == "as is"}
    assert len(plain) == 3 * 4
    for point in points:
        same = plain[str(point.point)]
        assert [work.name for work in point.spec.workloads] == [work.name for work in same.workloads]
    assert {point.variant for point in points if point.point["what"] == "file"} == {
        "as is",
        "tuned buffers",
        "BBR",
        "Hybla",
        "aria2c",
        "cached",
        "tuned + BBR",
        "coded",
        "split",
        "split + coded",
        "gateway",
    }


def test_a_rival_of_a_cure_is_always_plain_cubic() -> None:
    points = Lab.load("cures", set=["what=beside a rival"]).points()
    rivals = [work for point in points for work in point.spec.workloads if work.name == "rival"]
    assert len(rivals) == len(points) == 3 * 12
    assert {(work.congestion_control, work.streams) for work in rivals if work.kind == "bulk"} == {
        ("cubic", 1)
    }


def test_slow_starts_are_compared_alone_and_beside_plain_cubic_on_three_long_paths() -> None:
    points = Lab.load("slow-starts").points()
    assert {point.seed for point in points} == {1, 2, 3, 4, 5}
    slow_starts = set()
    for point in points:
        download, *others = (work for work in point.spec.workloads if isinstance(work, BulkSpec))
        asked = download.congestion_control_parameters.get("slow_start", "hystart")
        slow_starts.add((str(point.point["path_kind"]), len(others), asked))
        assert all(other.congestion_control_parameters == {} for other in others)
    assert slow_starts == {
        (path, rivals, slow_start)
        for path in ("GEO", "LEO", "transoceanic")
        for rivals in (0, 1)
        for slow_start in ("hystart", "hystart++", "search", "standard", "careful-resume")
    }


@pytest.mark.parametrize("key", published_keys())
def test_published_figures_have_a_title_a_source_a_setup_and_columns_of_one_length(key: str) -> None:
    table = published(key)
    assert table["title"]
    assert table["source"]
    assert table["setup"]
    if key == "effects-of-latency":
        assert {len(table[column]) for column in table if column.endswith(("_ms", "_mbit_s", "_retr"))} == {5}


def test_the_reference_page_is_the_models_own() -> None:
    committed = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert committed == page(), "run: python -m bentpipe.lab.reference"


def test_the_page_begins_with_a_lab_that_can_be_run() -> None:
    first, *_ = re.findall(r"```toml\n(.*?)```", page(), flags=re.DOTALL)
    assert {point.variant for point in Lab.loads(first).points()} == {"as is", "bbr"}


def test_every_table_of_a_lab_is_on_the_page() -> None:
    text = page()
    missing = {
        key
        for table in json_schema()["$defs"].values()
        for key in table["properties"]
        if f"| `{key}` |" not in text
    }
    assert missing == set()


def test_the_schema_file_is_the_models_own() -> None:
    committed = (ROOT / "docs" / SCHEMA).read_text(encoding="utf-8")
    assert committed == schema_text(), "run: python -m bentpipe.lab.reference"


def test_every_key_of_the_page_says_what_it_means() -> None:
    schema = json_schema()
    tables = {"the top": schema, **schema["$defs"]}
    silent = [
        (name, key)
        for name, table in tables.items()
        for key, form in table["properties"].items()
        if not form.get("description")
    ]
    assert silent == []


def test_the_schema_has_no_null_which_toml_cannot_say() -> None:
    assert '"null"' not in schema_text()
    assert "null" not in schema_text()


def test_satellite_baselines_has_the_five_published_cells_and_the_empty_link() -> None:
    table = published("satellite-baselines")
    found = []
    for point in Lab.load("satellite-baselines", set=["repeat=1"]).points():
        *clients, download = point.spec.workloads
        assert isinstance(download, BulkSpec)
        assert (download.size_bytes, download.start_ns) == (40_000_000, 12_000_000_000)
        assert point.spec.duration_s == 600
        queue_kb = point.spec.path.down["queue"]["limit"]["bytes"] // 1000
        found.append((sum(work.channels for work in clients if isinstance(work, ChannelsSpec)), queue_kb))
    assert found == [*zip(table["clients"], table["queue_kB"], strict=True), (0, 100)]


def test_the_satellite_labs_have_the_same_clients() -> None:
    """The sizes were calibrated for satellite-baselines."""
    kept = ("size", "servers", "terrestrial_delay", "terrestrial_jitter_ns", "think_ns")
    found = [
        {key: getattr(work, key) for key in kept}
        for name in (
            "satellite-baselines",
            "satellite-queue",
            "satellite-orbits",
            "satellite-redundancy",
            "satellite-coded",
        )
        for point in Lab.load(name, set=["repeat=1"]).points()
        for work in point.spec.workloads
        if isinstance(work, ChannelsSpec)
    ]
    assert all(each == found[0] for each in found)
