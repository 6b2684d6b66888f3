"""Processes of bentpipe's own have only what they are given: neither the caller's script nor a Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bentpipe.fresh_process import FreshContext
from invocation import PLAIN, called
from waiting import LONG_S

SCRIPT = """
import bentpipe
from bentpipe.report import drawing

print("begun")
drawing._WORTH_PROCESSES = 2
results = bentpipe.Lab.load("plain.toml").run(keep="out", jobs=2)
print(len(results.records), results.report("page.html"))
"""
PRESSED = """
import multiprocessing, os, signal
from bentpipe.__main__ import main
from bentpipe.report import drawing

drawing._WORTH_PROCESSES = 2
drawing.os.sched_getaffinity = lambda _: {0, 1}
submit = drawing.ProcessPoolExecutor.submit
def submit_and_press(*arguments):
    submit(*arguments)
    if len(multiprocessing.active_children()) == 2:
        os.killpg(0, signal.SIGINT)
drawing.ProcessPoolExecutor.submit = submit_and_press
main()
"""


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """A folder with a lab of three runs."""
    (tmp_path / "plain.toml").write_text("repeat = 3\n" + PLAIN)
    return tmp_path


def test_a_script_that_calls_bentpipe_at_its_top_level_runs_once(repeated: Path) -> None:
    (repeated / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"],
        cwd=repeated,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("begun\n3 page.html\n", "")


def test_a_ctrl_c_while_a_report_begins_its_processes_is_one_line(repeated: Path) -> None:
    assert called(["run", "plain.toml", "--out", "out", "--quiet"], repeated).status == 0
    (repeated / "pressed.py").write_text(PRESSED)
    ended = subprocess.run(
        [sys.executable, "pressed.py", "report", "out"],
        cwd=repeated,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
        start_new_session=True,
    )
    assert (ended.returncode, ended.stderr) == (130, "bentpipe: interrupted\n")
    assert not list((repeated / "out").glob("*report*"))


def test_the_programs_main_module_is_there_again() -> None:
    before = sys.modules["__main__"]
    process = FreshContext().Process(target=print)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert sys.modules["__main__"] is before


def test_a_report_whose_process_is_killed_says_so(repeated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe.report import drawing  # noqa: PLC0415

    assert called(["run", "plain.toml", "--out", "out", "--quiet"], repeated).status == 0
    monkeypatch.setattr(drawing, "_WORTH_PROCESSES", 2)
    monkeypatch.setattr(drawing.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(drawing, "_ready", killed)
    said = called(["report", "out"], repeated)
    assert said.status == 1
    assert said.stderr == (
        "bentpipe: a process that drew runs of the page died; was it killed, or is memory short?\n"
    )
    assert not (repeated / "out/report.html").exists()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
