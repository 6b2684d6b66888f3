"""What a receiver's buffer holds: what its program has not read, or what waits behind a hole."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from test_findings import PATH, diagnosed

from bentpipe.doctor.claim import Finding
from bentpipe.doctor.diagnosis import Diagnosis, diagnose

WINDOW = {"path": PATH, "client": {"tcp_rmem": [4096, 131072, 131072]}, "duration": "5 s"}
STOPS_S = 3.6


@pytest.fixture(scope="module")
def window() -> Diagnosis:
    """A transfer that a receive window limits, as its receiver samples it."""
    found = diagnosed(WINDOW, "receiver", sample_s=0.02)
    assert found.findings[0].kind == "receiver-window"
    assert found.findings[0].share > 0.85
    return found


def with_held(of: Diagnosis, where: pl.Expr, window_of_its: float) -> Mapping[str, Finding]:
    """Where this holds, three fifths of the buffer's memory are in use, and the window is this share of what
    it was."""
    altered = of.evidence.samples.with_columns(
        unread_bytes=pl.when(where).then(pl.col("rcvbuf_bytes") * 3 // 5).otherwise(0).cast(pl.Int64),
        rwnd_bytes=pl.when(where)
        .then(pl.col("rwnd_bytes") * window_of_its)
        .otherwise("rwnd_bytes")
        .cast(pl.Int64),
    )
    return {each.kind: each for each in diagnose(replace(of.evidence, samples=altered)).findings}


def in_a_third_of_each(period_s: float) -> pl.Expr:
    return pl.col("time_s") % period_s < period_s / 3


def test_a_program_that_stops_reading_when_it_is_done_was_no_slow_reader(window: Diagnosis) -> None:
    found = with_held(window, pl.col("time_s") >= STOPS_S, 0.4)
    ends = (window.evidence.end_s - STOPS_S) / window.evidence.duration_s
    assert found["receiver-application"].share == pytest.approx(ends, abs=0.03)
    fell = found["receiver-application"].evidence
    assert fell["rwnd_bytes"] == pytest.approx(0.4 * fell["rwnd_largest_bytes"], rel=0.01)
    assert found["receiver-window"].share == pytest.approx(window.findings[0].share - ends, abs=0.03)


def test_a_program_that_stops_again_and_again_is_slow(window: Diagnosis) -> None:
    found = with_held(window, in_a_third_of_each(1.0), 0.4)
    assert found["receiver-application"].share > 0.85
    assert "receiver-window" not in found


def test_what_waits_behind_a_hole_leaves_the_window_open_and_is_not_unread(window: Diagnosis) -> None:
    found = with_held(window, in_a_third_of_each(1.0), 0.99)
    assert "receiver-application" not in found
    assert found["receiver-window"].share == pytest.approx(window.findings[0].share, abs=0.02)


def test_long_repairs_without_sack_are_no_slow_reader() -> None:
    """As many holes as round trips: the window falls while they are filled, and opens with the last."""
    lab = {
        "path": PATH,
        "client": {"sack": False, "timestamps": False},
        "duration": "6 s",
    }
    first, *others = diagnosed(lab, "receiver").findings
    assert first.kind == "tcp-options"
    assert first.share > 0.5
    assert "receiver-application" not in {each.kind for each in others}
