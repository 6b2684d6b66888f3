"""The same lab and seed give the same tables, however many runs go on at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from simulating import Simulate

import bentpipe
from bentpipe.runs.schema import TABLES
from waiting import LONG_S

LOSSY = ("path.loss=0.01", "path.jitter={spread='5 ms'}")


def tables(results: bentpipe.Results) -> list[pl.DataFrame]:
    return [results.scan(name).collect() for name in TABLES]


def test_the_same_seed_gives_the_same_bits_and_another_does_not(simulate: Simulate) -> None:
    first, again, other = (
        simulate(*LOSSY, out=name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    rename = pl.lit("run").alias("run")
    for one, two in zip(tables(first), tables(again), strict=True):
        assert one.with_columns(rename).equals(two.with_columns(rename))
    assert first.flows["end_s"].to_list() != other.flows["end_s"].to_list()


def test_several_at_once_find_what_one_after_another_does(lab: Path, tmp_path: Path) -> None:
    the_lab = bentpipe.Lab.load(lab, set=LOSSY, repeat=4)
    alone = the_lab.run(engine="sim", out=tmp_path / "alone")
    together = the_lab.run(engine="sim", out=tmp_path / "together", jobs=2)
    assert [run["seed"] for run in together.records] == [1, 2, 3, 4]
    for one, two in zip(tables(alone), tables(together), strict=True):
        assert one.equals(two)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_long_run_and_leaves_none_half_written(lab: Path, tmp_path: Path, jobs: int) -> None:
    lab.write_text(lab.read_text().replace("10 Mbit/s", "1 Gbit/s").replace("2 MB", "900 GB"))
    argv = [sys.executable, "-m", "bentpipe", "run", str(lab), "--repeat", "2", "--jobs", str(jobs)]
    argv += ["--engine", "sim", "--out", "out"]
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as running:
        while not any((tmp_path / "out").glob(".*/link.parquet")) and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        try:
            _, said = running.communicate(timeout=LONG_S)
        finally:
            running.kill()
    assert running.returncode == 130
    assert b"interrupted" in said
    assert b"Traceback" not in said
    assert not (tmp_path / "out").exists(), "no run was finished, so the folder belongs to no lab"


def test_from_python_a_lab_is_simulated_unless_told_otherwise(lab: Path, tmp_path: Path) -> None:
    (record,) = bentpipe.Lab.load(lab).run(out=tmp_path / "out").records
    assert (record["engine"], record["reliable"]) == ("sim", True)
