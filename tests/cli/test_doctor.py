"""`bentpipe doctor` on the command line."""

import json
from pathlib import Path

import pytest

import bentpipe
from invocation import Command

LAB = """
duration = "8 s"
[path]
rtt = "100 ms"
rate = "20 Mbit/s"
[client]
tcp_rmem = [4096, 131072, 131072]
[[workload]]
name = "download"
kind = "bulk"
"""


@pytest.fixture
def folder(run: Command, tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(LAB)
    assert run("run", "lab.toml", "--engine", "sim", "--out", "out", "-q").status == 0
    return tmp_path / "out"


def test_a_run_is_diagnosed_in_words_and_as_json(run: Command, folder: Path) -> None:
    said = run("doctor", folder.name)
    assert said.status == 0
    assert "receiver-window: the receive window, 80.5 kB, was full" in said.stdout.replace("\xa0", " ")
    found = json.loads(run("doctor", folder.name, "--json").stdout)
    assert found["source"] == "run"
    transfer = found["transfers"][0]
    assert (transfer["name"], transfer["direction"], transfer["seen_from"]) == ("download", "down", "sender")
    assert {"kind", "share", "certainty", "because", "evidence"} <= set(transfer["findings"][0])
    assert set(found["path"]) >= {"rtt_s", "rate_mbit_s", "queue_bytes", "loss"}


def test_an_expectation_that_is_missed_is_the_exit_status(run: Command, folder: Path) -> None:
    assert run("doctor", folder.name, "--expect", "goodput_mbit_s < 15").status == 0
    missed = run("doctor", folder.name, "--expect", "goodput_mbit_s > 15")
    assert missed.status == 1
    assert "expected goodput_mbit_s > 15" in missed.stderr
    wrong = run("doctor", folder.name, "--expect", "goodput is fine")
    assert wrong.status == 2
    assert "expected a figure and a bound" in wrong.stderr


def test_the_lab_of_the_path_as_seen_can_be_run(run: Command, folder: Path, tmp_path: Path) -> None:
    assert run("doctor", folder.name, "--lab", "seen.toml").status == 0
    seen = bentpipe.simulate(tmp_path / "seen.toml")
    assert seen.record["workloads"]["transfer"]["goodput_mbit_s"] == pytest.approx(6.2, rel=0.1)
