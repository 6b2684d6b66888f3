"""Which signals end the command line, and when."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from invocation import PLAIN
from waiting import LONG_S

ENDS_WHILE_LOADING = """
import os, sys
class Loading:
    def find_spec(name, path, target=None):
        if name == "bentpipe.cli":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Loading)
from bentpipe.__main__ import main
main()
"""
DRAWS_ON = """
import os, signal, sys
from bentpipe import interruption
interruption.watch()
interruption.clear_display = lambda: None
signal.signal(signal.SIGINT, lambda *_: None)
os.kill(os.getpid(), signal.SIGINT)
while True:
    sys.stderr.write("\\rbar")
    sys.stderr.flush()
"""
"""A bar that is drawn on, by a program that does not end of itself."""
MANY = [
    sys.executable,
    "-m",
    "bentpipe",
    "run",
    "plain.toml",
    "--engine",
    "sim",
    "--repeat",
    "300",
    "--json",
    "-q",
]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_libraries_load_is_an_interruption(by: signal.Signals) -> None:
    program = ENDS_WHILE_LOADING.format(number=int(by))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=LONG_S)
    assert (ended.returncode, ended.stderr) == (130, b"bentpipe: interrupted\n")


def test_no_bar_is_drawn_over_the_last_word_of_an_interrupted_command() -> None:
    ended = subprocess.run([sys.executable, "-c", DRAWS_ON], capture_output=True, check=False, timeout=LONG_S)
    assert ended.returncode == 130
    assert ended.stderr.endswith(b"bentpipe: interrupted\n")


def test_a_sweep_begun_with_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(PLAIN)
    with subprocess.Popen(
        MANY,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # communicate() does not see what readline() has buffered beyond its line
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509 - no threads here
    ) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        os.kill(running.pid, signal.SIGHUP)
        rest, said = running.communicate(timeout=LONG_S)
    assert running.returncode == 0, said
    assert len([first, *rest.splitlines()]) == 300
