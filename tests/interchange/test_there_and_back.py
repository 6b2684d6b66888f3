"""Whatever a run's figures are: exported for flent and taken back, they are the same."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from bentpipe.interchange import flent_export
from bentpipe.interchange.folder import Called, take
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import PINGS
from bentpipe.runs.store import Results

figure = st.none() | st.floats(0, 1e12)
count = st.none() | st.integers(0, 2**53)
name = st.text("abcdefgh_", min_size=1, max_size=8)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
bulk = st.fixed_dictionaries(
    {
        "kind": st.just("bulk"),
        "direction": st.sampled_from(["down", "up"]),
        "streams": st.integers(1, 64),
        "goodput_mbit_s": figure,
        "bytes": count,
        "duration_s": figure,
        "completion_s": figure,
        "retransmits": count,
        "per_second": st.none()
        | st.fixed_dictionaries(
            {
                "count": count,
                **dict.fromkeys(("p50_mbit_s", "p5_mbit_s", "p1_mbit_s", "min_mbit_s", "max_mbit_s"), figure),
            }
        ),
        "per_second_mbit_s": st.lists(st.floats(0, 1e6), max_size=5),
    }
)
ping = st.fixed_dictionaries(
    {
        "kind": st.just("ping"),
        "sent": count,
        "lost": count,
        "min_ms": figure,
        "median_ms": figure,
        "p95_ms": figure,
        "p99_ms": figure,
        "max_ms": figure,
        "mean_ms": figure,
    }
)
point = st.dictionaries(name, st.integers(-1000, 1000) | st.floats(-1e6, 1e6) | text, max_size=3)


@settings(max_examples=20)
@given(
    workloads=st.dictionaries(name, bulk | ping, min_size=1, max_size=4),
    round_trips_s=st.lists(st.none() | st.floats(1e-6, 10), max_size=5),
    point=point,
    seed=st.integers(0, 2**31),
    variant=text.filter(bool),
)
def test_figures_point_and_pings_come_back(
    workloads: dict[str, Any],
    round_trips_s: list[float | None],
    point: dict[str, Any],
    seed: int,
    variant: str,
) -> None:
    pings_of = [workload for workload, entry in workloads.items() if entry["kind"] == "ping"]
    rows = [
        (number - 2.5, workload, number + 1, rtt_s)
        for workload in pings_of
        for number, rtt_s in enumerate(round_trips_s)
    ]
    with TemporaryDirectory() as folder:
        here = Path(folder)
        run = RunFolder.create(here / "runs", "001")
        run.write_table("pings", pl.DataFrame(rows, schema=PINGS.schema, orient="row"))
        record = {"lab": "l", "title": "t", "seed": seed, "variant": variant, "point": point}
        asked = [{"name": name, "kind": entry["kind"], "start_ns": 0} for name, entry in workloads.items()]
        run.finish(record | {"workloads": workloads, "spec": {"workloads": asked}, "started": None})
        files = flent_export.write(Results.open(here / "runs"), here / "flent")
        take(files, here / "back", Called())
        back = Results.open(here / "back")
        (found,), pings = back.records, back.pings.drop("run")
    assert found["workloads"] == workloads
    assert {key: found[key] for key in record} == record
    assert found["started"] is None
    assert [row[:3] for row in pings.rows()] == [row[:3] for row in rows]
    for ours, theirs in zip(rows, pings["rtt_s"], strict=True):
        assert (ours[3] is None and theirs is None) or math.isclose(ours[3], theirs, rel_tol=1e-9)
