"""What needs no Linux kernel runs where Linux's own modules, calls and signals are missing, as on Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe

ELSEWHERE = """
import os, signal, sys
import bentpipe.__main__
for module in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "spwd"):
    sys.modules[module] = None
for name in ("sched_getaffinity", "geteuid", "getuid", "fork", "killpg", "O_DIRECTORY", "O_CLOEXEC"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1"):
    delattr(signal, name)
sys.argv[1:] = {arguments!r}
bentpipe.__main__.main()
"""
LAB = """
title = "A short transfer"
duration = "1 s"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["calc", "--rate", "20Mbit/s", "--rtt", "411ms"],
        ["run", "short.toml", "--engine", "sim", "--out", "out"],
        ["labs"],
        ["new", "--rate", "16Mbit/s", "--rtt", "550ms", "--out", "new.toml"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_does_its_work_without_what_only_linux_has(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "short.toml").write_text(LAB)
    program = ELSEWHERE.format(arguments=arguments)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr.count("Traceback")) == (0, 0), ended.stderr


def test_a_page_is_written_without_what_only_linux_has(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(LAB)
    bentpipe.Lab.load(tmp_path / "short.toml").run(engine="sim", out=tmp_path / "out")
    program = ELSEWHERE.format(arguments=["report", "out"])
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "out/report.html").read_text().startswith("<!doctype html>")
