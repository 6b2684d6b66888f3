"""`bentpipe explain`: which runs it takes, and what it prints."""

import json
from pathlib import Path

import pytest

from invocation import Command

LAB = """
duration = "3 s"
[path]
rtt = "100 ms"
rate = "10 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
[sweep]
"path.rtt" = ["100 ms", "200 ms"]
[[variant]]
name = "lossy"
set = { "path.down.loss" = 0.01 }
"""


@pytest.fixture
def swept(run: Command, tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(LAB)
    assert run("run", "lab.toml", "--engine", "sim", "--repeat", "2", "--out", "out", "-q").status == 0
    return tmp_path / "out"


def test_runs_are_chosen_by_point_variant_and_number(run: Command, swept: Path) -> None:
    first = run("explain", "out")
    assert first.status == 0
    assert first.stdout.count("download (down)") == 5
    assert "the first 5 of 8 runs" in first.stderr
    assert run("explain", "out", "--most", "8").stdout.count("download (down)") == 8
    chosen = run("explain", "out", "--point", "path.rtt=0.2 s", "--variant", "lossy")
    assert chosen.stdout.count("rtt 200 ms, lossy, seed") == chosen.stdout.count("download (down)") == 2
    one = run("explain", str(sorted(swept.glob("*_seed-1"))[0]))
    assert one.stdout.count("download (down)") == 1


def test_without_a_folder_the_newest_runs_are_explained(run: Command, swept: Path) -> None:
    assert "there are no runs in runs/" in run("explain").stderr
    (swept.parent / "runs").mkdir()
    newest = swept.rename(swept.parent / "runs" / "newest")
    said = run("explain")
    assert said.status == 0
    assert f"The newest runs are in runs/{newest.name}" in said.stderr
    assert said.stdout == run("explain", "runs/newest").stdout


def test_json_is_an_object_per_run_with_the_shares_of_each_transfer(run: Command, swept: Path) -> None:
    said = run("explain", swept.name, "--json")
    assert len(said.objects) == 8
    for each in said.objects:
        (transfer,) = each["transfers"]
        assert sum(finding["share"] for finding in transfer["findings"]) == pytest.approx(1)
        assert all(finding["because"] and finding["evidence"] is not None for finding in transfer["findings"])
        assert each["path"]["rate_mbit_s"] == 10


def test_records_that_do_not_say_their_point_are_explained_and_not_chosen(run: Command, swept: Path) -> None:
    for file in swept.glob("*/run.json"):
        record = json.loads(file.read_text())
        file.write_text(json.dumps({key: record[key] for key in record if key not in ("point", "variant")}))
    assert run("explain", "out").stdout.count("as is, seed") == 5
    said = run("explain", "out", "--point", "path.rtt=200 ms")
    assert (said.status, said.stdout) == (2, "")
    assert "none, since nothing is swept" in said.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--point", "path.rrt=1"], "expected KEY=VALUE with one of the swept keys: path.rtt"),
        (["--point", "path.rtt"], "expected KEY=VALUE"),
        (["--point", "path.rtt=5 ms"], "points: path.rtt = 100 ms, 200 ms"),
        (["--variant", "mine"], "variants here: as is, lossy"),
    ],
)
def test_a_choice_of_no_run_names_those_that_are_there(
    run: Command, swept: Path, options: list[str], says: str
) -> None:
    said = run("explain", swept.name, *options)
    assert (said.status, said.stdout) == (2, "")
    assert says in said.stderr
