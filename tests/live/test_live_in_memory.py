"""Runs of the live engine are in memory where no folder is asked for."""

import tempfile
from pathlib import Path

import pytest

import bentpipe

pytestmark = pytest.mark.live


def test_live_runs_without_a_folder_are_in_memory_with_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lab = bentpipe.Lab(
        path={"rtt": "20 ms", "rate": "10 Mbit/s"},
        workload=[{"kind": "bulk", "name": "download", "size": "500 kB"}],
    )
    results = lab.run(engine="live", seeds=[5])
    (record,) = results.records
    assert (record["engine"], record["seed"], record["folder"]) == ("live", 5, None)
    assert record["status"] == "done", record["why"]
    assert results.sockets.height > 0
    assert results.link["goodput_bytes"].sum() >= 500_000
    assert list(tmp_path.iterdir()) == []
