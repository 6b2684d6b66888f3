"""A transfer by time: clocks and omitted seconds as iperf3's."""

from pathlib import Path

import pytest
from simulating import LAB

import bentpipe

PAYLOAD_BYTES = 1448


def transfer(folder: Path, *changes: str, time: str = '"10 s"') -> dict[str, object]:
    place = folder / "timed.toml"
    place.write_text(LAB.replace('size = "2 MB"', f"time = {time}"))
    found = bentpipe.Lab.load(place, set=changes).run(engine="sim", out=folder / "out")
    return dict(found.records[0]["workloads"]["download"]) | {"flows": found.flows.to_dicts()}


def test_a_download_is_counted_over_its_time_from_the_first_byte(tmp_path: Path) -> None:
    entry = transfer(tmp_path)
    assert entry["duration_s"] == pytest.approx(10)
    assert len(entry["per_second_mbit_s"]) == 10
    assert entry["completion_s"] is None
    assert sum(entry["per_second_mbit_s"]) / 10 == pytest.approx(entry["goodput_mbit_s"])


def test_an_upload_is_counted_one_round_trip_longer_and_until_the_server_hears_the_end(
    tmp_path: Path,
) -> None:
    entry = transfer(tmp_path, "workload.download.direction=up")
    # The word of the end waits behind the data: up to a full queue of one BDP, another round trip.
    assert 10.1 <= entry["duration_s"] <= 10.21


def test_omitted_seconds_count_for_nothing(tmp_path: Path) -> None:
    entry = transfer(tmp_path, "workload.download.omit=2 s")
    assert entry["duration_s"] == pytest.approx(10)
    assert len(entry["per_second_mbit_s"]) == 10
    (flow,) = entry["flows"]
    assert flow["bytes"] == entry["bytes"]
    assert flow["goodput_bit_s"] == pytest.approx(entry["goodput_mbit_s"] * 1e6)
    assert flow["end_s"] - flow["start_s"] == pytest.approx(12.2, abs=0.02)
