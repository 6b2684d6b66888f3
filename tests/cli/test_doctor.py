"""`bentpipe doctor` on the command line."""

import json
from pathlib import Path

import pytest

import bentpipe
from bentpipe.cli.doctor_sources import Diagnosed
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


def test_what_the_ends_did_not_agree_on_is_a_remark(run: Command, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB.replace("[client]", "[client]\ntimestamps = false"))
    assert run("run", "lab.toml", "--engine", "sim", "--out", "out", "-q").status == 0
    remark = "download: time stamps were not agreed: the receiver did not offer them."
    said = run("doctor", "out", "--seen-from", "receiver", "--no-cures", "--html", "page.html")
    assert said.stdout.splitlines()[-1].strip() == remark
    assert remark in (tmp_path / "page.html").read_text()
    found = json.loads(run("doctor", "out", "--seen-from", "receiver", "--no-cures", "--json").stdout)
    assert found["remarks"] == [remark]


def test_an_expectation_that_is_missed_is_the_exit_status(run: Command, folder: Path) -> None:
    assert run("doctor", folder.name, "--expect", "goodput_mbit_s < 15").status == 0
    missed = run("doctor", folder.name, "--expect", "goodput_mbit_s > 15")
    assert missed.status == 1
    assert "expected goodput_mbit_s > 15" in missed.stderr
    wrong = run("doctor", folder.name, "--expect", "goodput is fine")
    assert wrong.status == 2
    assert "expected a figure and a bound" in wrong.stderr


def test_a_test_that_failed_meets_no_expectation(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Diagnosed("to", "server", [], failed=["up, 1 stream"])
    monkeypatch.setattr("bentpipe.cli.doctor_sources.of_server", lambda *_: iter([of]))
    assert run("doctor", "--to", "server").status == 0
    missed = run("doctor", "--to", "server", "--expect", "goodput_mbit_s >= 0")
    assert missed.status == 1
    assert "server: up, 1 stream: expected goodput_mbit_s >= 0; the test failed" in missed.stderr


@pytest.mark.parametrize("source", [["--watch"], ["--to", "server"], ["seen.pcap"]])
def test_only_a_run_is_seen_from_an_end_of_choice(run: Command, tmp_path: Path, source: list[str]) -> None:
    (tmp_path / "seen.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    said = run("doctor", *source, "--seen-from", "receiver")
    assert said.status == 2
    assert said.stderr.startswith("bentpipe: --seen-from needs a run: ")


def test_the_lab_of_the_path_as_seen_can_be_run(run: Command, folder: Path, tmp_path: Path) -> None:
    assert run("doctor", folder.name, "--lab", "seen.toml").status == 0
    seen = bentpipe.simulate(tmp_path / "seen.toml")
    assert seen.record["workloads"]["transfer"]["goodput_mbit_s"] == pytest.approx(6.2, rel=0.1)
