"""The files that `bentpipe doctor` writes: checked before anything else, and written before it prints."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from invocation import Command, started
from waiting import LONG_S

LAB = """
duration = "3 s"
[path]
rtt = "40 ms"
rate = "20 Mbit/s"
[client]
tcp_rmem = [4096, 65536, 65536]
[[workload]]
name = "download"
kind = "bulk"
"""
_NOTHING = ("--watch=port:9", "--for", "20ms", "--every", "10ms")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "lab.toml").write_text(LAB)
    said = started(
        ["run", "lab.toml", "--engine", "sim", "--out", "out", "-q", "--repeat", "2", "--pcap", "server"],
        folder,
    )
    assert said.status == 0, said.stderr
    shutil.copy(next((folder / "out").rglob("*.pcap*")), folder / "seen.pcapng")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_all_are_written_though_nobody_reads_what_is_printed(folder: Path) -> None:
    files = ["lab", "prometheus", "html"]
    command = [sys.executable, "-m", "bentpipe", "doctor", "seen.pcapng", "--no-cures"]
    command += [word for each in files for word in (f"--{each}", f"seen.{each}")]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as doctor:
        assert doctor.stdout is not None
        doctor.stdout.close()
        doctor.wait(LONG_S)
    for each in files:
        assert (folder / f"seen.{each}").stat().st_size > 100


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--html", "gone/x.html"], "--html gone/x.html: there is no folder gone"),
        (["--prometheus", "out"], "--prometheus out: found a folder"),
        (["--html", "x", "--lab", "./x"], "--html x: --lab writes to the same file"),
        (["--html", "seen.pcapng"], "--html seen.pcapng: this is the file to read"),
        (["--lab", "lab.toml"], "--lab lab.toml: found a file that `doctor --lab` did not write"),
    ],
)
def test_what_would_destroy_a_file_or_cannot_be_written_is_refused(
    run: Command, folder: Path, options: Sequence[str], why: str
) -> None:
    before = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    said = run("doctor", "seen.pcapng", "--no-cures", *options)
    assert (said.status, said.stdout) == (2, "")
    assert why in said.stderr
    assert {file: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_a_lab_that_the_doctor_wrote_is_written_anew_and_its_run_is_named(run: Command, folder: Path) -> None:
    for _ in range(2):
        said = run("doctor", "out", "--no-cures", "--lab", "seen.toml")
        assert said.status == 0
        assert said.stderr == "Written: seen.toml: the path of 001_as-is_seed-1, download\n"
    assert (folder / "seen.toml").read_text().startswith('title = "The path as download saw it"')


@on_linux
@pytest.mark.parametrize(
    ("option", "value"), [("--html", "gone/x.html"), ("--expect", "goodput > 3"), ("--lab", "gone/x.toml")]
)
def test_a_command_does_not_run_for_a_request_that_is_wrong(
    run: Command, tmp_path: Path, option: str, value: str
) -> None:
    said = run("doctor", option, value, "--exec", "--", "touch", "ran")
    assert said.status == 2
    assert not (tmp_path / "ran").exists()


@on_linux
def test_without_a_transfer_no_expectation_holds_and_no_lab_is_written(run: Command, tmp_path: Path) -> None:
    said = run("doctor", *_NOTHING, "--expect", "goodput_mbit_s >= 0", "--lab", "x.toml")
    assert said.status == 1
    assert "port:9: expected goodput_mbit_s >= 0; found no transfer" in said.stderr
    assert "--lab x.toml: no transfer was sampled, so nothing was written" in said.stderr
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.usefixtures("folder")
def test_a_missed_expectation_names_its_run(run: Command) -> None:
    said = run("doctor", "out", "--no-cures", "--expect", "goodput_mbit_s > 1000")
    assert said.status == 1
    for seed in (1, 2):
        assert f"001_as-is_seed-{seed}: download: expected goodput_mbit_s > 1000; found" in said.stderr


@on_linux
def test_a_name_that_is_no_utf_8_is_escaped_wherever_it_is_written(run: Command, folder: Path) -> None:
    name = os.fsdecode(b"bad\xff.pcapng")
    shutil.copy(folder / "seen.pcapng", folder / name)
    said = run("doctor", name, "--no-cures", "--prometheus", "x.prom", "--html", "x.html")
    assert said.status == 0
    for text in (said.stdout, (folder / "x.prom").read_text(), (folder / "x.html").read_text()):
        assert "bad\\xff.pcapng" in text.replace("\\\\", "\\")


def test_a_stream_without_no_break_spaces_has_plain_ones(folder: Path) -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    said = started(["doctor", "seen.pcapng", "--no-cures"], folder, env=plain)
    assert said.status == 0, said.stderr
    assert "Mbit/s for" in said.stdout
    assert "\\" not in said.stdout
