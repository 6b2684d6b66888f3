"""Progress of a sweep on stderr: a bar with the time left on a terminal, otherwise lines.

Few runs have a line each; of very many there is a line every few seconds, and one for each of the first that
fail. The bar is loaded where there is a terminal.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bentpipe.runs.record import Record
from bentpipe.sweep.progress_state import FAILED_LINES, State, outcome, warning
from bentpipe.sweep.watching import Quiet, Watcher
from bentpipe.words.durations import spoken
from bentpipe.words.printable import printable

_LINES_EACH = 100
"""Up to so many runs have a line each."""
_BETWEEN_S = 5.0
_SIMULATING_S = 30.0
_RUNNING_S = 300.0
"""Between two lines on a run that is under way: simulated, which is hard to foretell, or live."""


class Lines:
    """A line per run, or now and then where there are very many."""

    def __init__(self) -> None:
        self._state = State()
        self._each = True
        self._said_s = time.monotonic()

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        self._state.begins(runs, done, length_s, at_once)
        self._each = runs - done <= _LINES_EACH
        there = f", {done} of them there already" if done else ""
        _say(f"{runs} run{'s' * (runs != 1)}{there}, about {spoken(length_s / at_once)}")
        if words := warning(length_s / at_once):
            _say(words)

    def say(self, line: str) -> None:
        _say(f"bentpipe: {line}")

    def run_begins(self, name: str, length_s: float) -> None:
        self._state.run_begins(name, length_s)

    def run_is_at(self, name: str, seconds: float, detail: str = "") -> None:
        self._state.run_is_at(name, seconds)
        if time.monotonic() > self._said_s + (_SIMULATING_S if detail else _RUNNING_S):
            self._said_s = time.monotonic()
            at = detail or f"running for {spoken(seconds)}"
            _say(f"{name}: {at}, about {spoken(self._state.left_s)} left")

    def run_ends(self, name: str, record: Record) -> None:
        state = self._state
        state.run_ends(name, record)
        if self._each or (record["status"] == "failed" and state.failed <= FAILED_LINES):
            self._said_s = time.monotonic()
            took = spoken(record["wall_s"] or 0.0)
            _say(f"[{state.ended}/{state.runs}] {name}: {outcome(record)}  {took}")
        elif time.monotonic() > self._said_s + _BETWEEN_S:
            self._said_s = time.monotonic()
            _say(f"[{state.count}] about {spoken(state.left_s)} left")


@contextmanager
def watcher(*, quiet: bool) -> Iterator[Watcher]:
    if quiet:
        yield Quiet()
    elif sys.stderr.isatty():
        from bentpipe.sweep.progress_bar import Bar  # noqa: PLC0415 - slow to load

        with Bar() as bar:
            yield bar
    else:
        yield Lines()


@contextmanager
def counting(before: str, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """How far something of `total` parts is: a bar, or a line every few seconds. Tell it of each step.

    `before` is what goes on until the first step. What is told can be 0, or negative if
    steps are repeated.
    """
    if not sys.stderr.isatty():
        yield _counted_lines(what, total)
        return
    from bentpipe.sweep.progress_bar import counted  # noqa: PLC0415 - slow to load

    with counted(before, what, total) as told:
        yield told


def _counted_lines(what: str, total: int) -> Callable[[int], None]:
    done, said_s = 0, time.monotonic()

    def told(more: int) -> None:
        nonlocal done, said_s
        done += more
        if time.monotonic() > said_s + _BETWEEN_S:
            said_s = time.monotonic()
            _say(f"[{done}/{total}] {what}")

    return told


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
