"""A run is compared with what was published where it is what was measured, whatever its variant is called."""

from typing import Any

import pytest
import records

from bentpipe.analysis.cells import Cell, cells


def labels(record: records.Record) -> dict[str, str | None]:
    """Of each kind's cell, the published figure that it is compared with."""
    return {cell.kind.name: cell.published.label if cell.published else None for cell in cells([record])}


def only(record: records.Record) -> Cell:
    (cell,) = cells([record])
    return cell


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "IPv4"),
        ({"ip": 6}, "IPv6"),
        ({"sack": False}, "IPv4, no SACK"),
        ({"sack": False, "dsack": False}, "IPv4, no SACK"),
        ({"dsack": False}, None),
        ({"ip": 6, "sack": False}, None),
        ({"congestion_control": "bbr"}, None),
        ({"jitter": None}, None),
        ({"limit": {"unit": "unlimited"}}, None),
        ({"delay_ns": 60_000_000}, None),
    ],
)
def test_a_fetch_is_compared_where_path_and_hosts_are_the_originals(
    changes: dict[str, Any], label: str | None
) -> None:
    assert labels(records.high_latency_lab(changes, variant="any name")) == {"http": label}


def test_a_fetch_of_another_size_is_compared_with_nothing() -> None:
    record = records.high_latency_lab()
    record["spec"]["workloads"][0]["size_bytes"] = 1_000_000
    assert labels(record) == {"http": None}


def test_fetches_are_compared_by_their_median_and_the_published_range_is_kept() -> None:
    cell = only(records.high_latency_lab())
    assert cell.ours is not None
    assert cell.published is not None
    assert (cell.ours.median, cell.unit) == (30.0, "s")
    assert (cell.published.low, cell.published.median, cell.published.high) == (25.087, 33.120, 38.561)
    assert cell.ratio == pytest.approx(30.0 / 33.120)


@pytest.mark.parametrize(
    ("rmem", "streams", "label"),
    [
        (None, 1, None),
        (327_680, 1, "capped windows"),
        (655_360, 1, "tuned"),
        (12_582_912, 1, "tuned"),
        (33_554_432, 1, None),
        (None, 4, None),
        (None, 8, "8 to 16 streams"),
        (12_582_912, 16, "8 to 16 streams"),
    ],
)
def test_a_transfer_is_compared_by_its_window_and_its_streams(
    rmem: int | None, streams: int, label: str | None
) -> None:
    assert labels(records.intercontinental(rmem, streams)) == {"bulk": label}


def test_a_window_that_does_not_scale_is_the_default_of_then() -> None:
    record = records.intercontinental(None)
    record["spec"]["client"]["window_scaling"] = False
    assert labels(record) == {"bulk": "defaults then"}


def test_bbr_was_not_what_was_published() -> None:
    assert labels(records.intercontinental(12_582_912, congestion_control="bbr")) == {"bulk": None}


def test_a_rate_is_shown_in_the_unit_of_the_publication() -> None:
    cell = only(records.intercontinental(12_582_912))
    assert cell.ours is not None
    assert cell.published is not None
    assert cell.unit == "KiB/s"
    assert cell.ours.median == pytest.approx(8.192e6 / 8 / 1024)
    assert cell.figures["goodput"].median == 8.192
    assert cell.published.median == 982.5


def test_of_the_satellite_the_links_throughput_and_the_downloads_time_are_compared() -> None:
    found = {cell.kind.name: cell for cell in cells([records.satellite(100, 200_000)])}
    shown = {
        name: (cell.measure.name, cell.ours.median, cell.published.median)
        for name, cell in found.items()
        if cell.published and cell.ours
    }
    assert shown == {"bulk": ("completion", 80.0, 340), "pipe": ("throughput", 5.0, 16.0)}


def test_what_else_was_published_of_the_link_stands_there_too() -> None:
    found = {cell.kind.name: cell for cell in cells([records.satellite(20, 200_000)])}["pipe"]
    assert found.published is not None
    assert (found.published.median, found.also_published["goodput"].median) == (4.3, 4.15)


@pytest.mark.parametrize(("clients", "queue"), [(30, 100_000), (50, 200_000), (20, 150_000)])
def test_a_load_and_a_queue_that_nobody_published_are_compared_with_nothing(clients: int, queue: int) -> None:
    assert set(labels(records.satellite(clients, queue)).values()) == {None}
