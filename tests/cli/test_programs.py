"""A live run whose programs are not installed is refused before anything starts, for all points at once."""

import os
from pathlib import Path

import pytest

from bentpipe.engines import machine
from invocation import PLAIN, Command

LAB = (
    PLAIN
    + """
[[workload]]
name = "download"
kind = "bulk"
size = "1 MB"
[[workload]]
name = "fetch"
kind = "http"
size = "1 MB"
[sweep]
"workload.fetch.connections" = [1, 2]
"""
)


def with_programs(folder: Path, *names: str) -> dict[str, str]:
    """An environment whose PATH has these programs only."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": str(folder)}


def test_every_missing_program_is_named_with_its_workload_and_one_command(
    run: Command, tmp_path: Path
) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    said = run("run", "lab.toml", "--engine", "live", env=with_programs(tmp_path / "programs", "ping"))
    assert (said.status, said.stdout) == (2, "")
    assert "iperf3 (needed by workload download)" in said.stderr
    assert "curl (needed by workload fetch)" in said.stderr
    assert "aria2c (needed by workload fetch)" in said.stderr  # of the sweep's second point
    assert "ping (" not in said.stderr
    assert "sudo apt-get install aria2 curl iperf3" in said.stderr
    assert not (tmp_path / "runs").exists()


def test_one_missing_program_is_one_line_and_its_package(run: Command, tmp_path: Path) -> None:
    said = run("run", "plain.toml", "--engine", "live", env=with_programs(tmp_path / "programs"))
    assert said.status == 2
    assert said.stderr.splitlines() == [
        "bentpipe: program not found: ping (needed by workload rtt)",
        "  to fix it, run:  sudo apt-get install iputils-ping",
    ]


def test_the_simulator_needs_no_programs(run: Command, tmp_path: Path) -> None:
    said = run("run", "plain.toml", "--engine", "sim", env=with_programs(tmp_path / "programs"))
    assert said.status == 0, said.stderr


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ('["no-such-program", "-x"]', "no-such-program (needed by workload try)"),
        ('["./no-such-file"]', "no such executable file"),
        ('["cd", "/tmp"]', '["sh", "-c", "cd ..."]'),
    ],
)
def test_a_command_of_exec_that_is_not_there_is_refused(
    run: Command, tmp_path: Path, command: str, named: str
) -> None:
    lab = f'[path]\nrtt = "1 ms"\n[[workload]]\nname = "try"\nkind = "exec"\ncommand = {command}\n'
    (tmp_path / "lab.toml").write_text(lab)
    said = run("run", "lab.toml", "--engine", "live")
    assert (said.status, said.stdout) == (2, "")
    assert named in said.stderr
    assert "apt-get" not in said.stderr


def test_runs_that_are_there_need_no_programs(run: Command, tmp_path: Path) -> None:
    """A finished sweep is read, not run."""
    programs = with_programs(tmp_path / "programs")
    assert run("run", "plain.toml", "--engine", "sim", "--out", "out").status == 0
    assert run("run", "plain.toml", "--engine", "sim", "--out", "out", env=programs).status == 0


def test_nginx_is_found_where_an_ordinary_user_has_no_path_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sbin").mkdir()
    (tmp_path / "sbin" / "nginx").write_text("")
    (tmp_path / "sbin" / "nginx").chmod(0o755)
    system = {"PATH": f"/nowhere:{tmp_path / 'sbin'}"}
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(machine, "with_system_programs", lambda: system)
    assert machine.program("nginx") == str(tmp_path / "sbin" / "nginx")
    assert machine.program("curl") is None
