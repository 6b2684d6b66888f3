"""An upload is not called a download, whatever the lab calls it; what scripts rely on keeps its name."""

from pathlib import Path
from typing import Any

import pytest

from bentpipe import Lab
from bentpipe.runs.called import called, called_in_all
from bentpipe.sweep.progress_state import outcome

UP_AND_DOWN = """
[path]
rtt = "20 ms"
rate = "10 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
size = "200 kB"
[sweep]
"workload.download.direction" = ["up", "down"]
"""


def record(**directions: str | None) -> dict[str, Any]:
    return {"workloads": {name: {"kind": "bulk", "direction": way} for name, way in directions.items()}}


@pytest.mark.parametrize(
    ("name", "way", "expected"),
    [
        ("download", "up", "upload"),
        ("upload", "down", "download"),
        ("download", "down", "download"),
        ("download", None, "download"),
        ("backup", "up", "backup"),
    ],
)
def test_a_transfer_is_called_by_the_way_that_its_data_went(
    name: str, way: str | None, expected: str
) -> None:
    assert called(record(**{name: way}), name) == expected


def test_beside_a_workload_of_that_name_it_keeps_its_own() -> None:
    assert called(record(download="up", upload="up"), "download") == "download"


def test_runs_of_both_ways_are_transfers() -> None:
    both = [record(download="up"), record(download="down")]
    assert called_in_all(both, "download") == "transfer"
    assert called_in_all(both[:1], "download") == "upload"


def test_the_line_of_an_upload_says_so_and_its_record_and_tables_keep_the_labs_name(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(UP_AND_DOWN)
    results = Lab.load(tmp_path / "lab.toml").run(engine="sim", out=tmp_path / "out")
    said = [outcome(run).split()[1] for run in results.records]
    assert said == ["upload", "download"]
    assert [list(run["workloads"]) for run in results.records] == [["download"]] * 2
    assert set(results.flows["workload"]) == {"download"}
