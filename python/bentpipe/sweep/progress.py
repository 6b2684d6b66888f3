"""How a sweep goes on, on stderr: a bar with the time left on a terminal, lines elsewhere.

Few runs have a line each; of very many there is a line every few seconds, and one for each of the first that
fail.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from bentpipe import interruption
from bentpipe.runs.called import called
from bentpipe.runs.record import Record
from bentpipe.sweep.watching import Quiet, Watcher
from bentpipe.words.console import SafeConsole
from bentpipe.words.digits import digits
from bentpipe.words.durations import spoken
from bentpipe.words.printable import printable
from bentpipe.words.wording import plural

_LONGEST_WHY = 300
_LINES_EACH = 100
"""Up to so many runs have a line each."""
_BETWEEN_S = 5.0
_SIMULATING_S = 30.0
_RUNNING_S = 300.0
"""Between two lines on a run that is under way: simulated, which is hard to foretell, or live."""
_LONG_S = 60.0
_DAY_S = 86_400.0
_FAILED_LINES = 20
_INTERRUPT_ECHO = 3
"""Columns: `^C` and the cursor."""
_TRUST_S = 5.0
"""The expected lengths weigh as much as so many seconds of measured speed."""


def outcome(record: Record) -> str:
    """One line on how a run ended."""
    word = "done" if record["reliable"] else "unreliable"
    if record["status"] == "failed":
        word = "failed"
    figures = []
    for name, entry in record["workloads"].items():
        if (goodput_mbit_s := entry.get("goodput_mbit_s")) is not None:
            figures.append(f"{called(record, name)} {digits(goodput_mbit_s, 4)} Mbit/s")
        elif (median_ms := entry.get("median_ms")) is not None:
            figures.append(f"{name} {digits(median_ms, 4)} ms")
    why = "; ".join(each.removesuffix(".") for each in record["why"]).replace("\n", " ")
    parts = [word, ", ".join(figures), f"({why[:_LONGEST_WHY]})" if why else ""]
    return "  ".join(part for part in parts if part)


class _State:
    """How far a sweep is, counted the same for the bar and for lines."""

    def __init__(self) -> None:
        self.runs = 0
        self.ended = 0
        self.failed = 0
        self.running: dict[str, float] = {}
        """Seconds that each is in."""
        self.length_s = 1.0
        self._at_once = 1
        self._ended_s = 0.0
        self._lengths_s: dict[str, float] = {}
        self._run_begun_s: dict[str, float] = {}
        self._begun_s = time.monotonic()

    def begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        self.runs, self.ended = runs, done
        self.length_s, self._at_once = max(length_s, 1e-3), at_once
        self._begun_s = time.monotonic()

    def run_begins(self, name: str, length_s: float) -> None:
        self.running[name] = 0.0
        self._lengths_s[name] = length_s
        self._run_begun_s[name] = time.monotonic()

    def run_is_at(self, name: str, seconds: float) -> None:
        self.running[name] = min(seconds, self._lengths_s[name])

    def length_of(self, name: str) -> float:
        """Seconds that the run has taken, or is expected to take if that is more."""
        return max(self._lengths_s[name], time.monotonic() - self._run_begun_s[name])

    def run_ends(self, name: str, record: Record) -> None:
        self._run_begun_s.pop(name, None)
        self.ended += 1
        self.failed += record["status"] == "failed"
        self.running.pop(name, None)
        self._ended_s += self._lengths_s.pop(name, 0.0)

    @property
    def completed_s(self) -> float:
        """Of `length_s`."""
        return self._ended_s + sum(self.running.values())

    @property
    def left_s(self) -> float:
        """By the speed so far, in expected seconds per second."""
        passed_s = time.monotonic() - self._begun_s
        speed = (self.completed_s + _TRUST_S * self._at_once) / (passed_s + _TRUST_S)
        return max(0.0, self.length_s - self.completed_s) / speed

    @property
    def count(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.ended}/{self.runs} done, {len(self.running)} running{failed}"


class Lines:
    """A line per run, or now and then where there are very many."""

    def __init__(self) -> None:
        self._state = _State()
        self._each = True
        self._said_s = time.monotonic()

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        self._state.begins(runs, done, length_s, at_once)
        self._each = runs - done <= _LINES_EACH
        there = f", {done} of them there already" if done else ""
        _say(f"{runs} run{'s' * (runs != 1)}{there}, about {spoken(length_s / at_once)}")
        if warning := _warning(length_s / at_once):
            _say(warning)

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
        if self._each or (record["status"] == "failed" and state.failed <= _FAILED_LINES):
            self._said_s = time.monotonic()
            took = spoken(record["wall_s"] or 0.0)
            _say(f"[{state.ended}/{state.runs}] {name}: {outcome(record)}  {took}")
        elif time.monotonic() > self._said_s + _BETWEEN_S:
            self._said_s = time.monotonic()
            _say(f"[{state.count}] about {spoken(state.left_s)} left")


class Bar:
    """A bar over the whole sweep. Runs that went wrong leave a line above it, as far as they are few."""

    def __init__(self) -> None:
        self._state = _State()
        self._doubtful = 0
        self._progress = _OneLine(
            TextColumn("[bold]{task.fields[count]}", table_column=_whole()),
            BarColumn(bar_width=24),
            _TimeLeft(self._state),
            _Name(),
            console=SafeConsole(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=1.0, count="", name="", start=False)

    def __enter__(self) -> Self:
        interruption.clear_display = self._progress.stop
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        interruption.clear_display = None
        self._progress.stop()

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        self._state.begins(runs, done, length_s, at_once)
        if length_s / at_once >= _LONG_S:
            self._progress.console.print(f"{plural(runs - done, 'run')}, about {spoken(length_s / at_once)}")
        if warning := _warning(length_s / at_once):
            self._progress.console.print(Text(warning, style="yellow"))
        self._show()
        self._progress.start()  # not before: there may have been a question
        self._progress.start_task(self._task)

    def say(self, line: str) -> None:
        self._progress.console.print(Text(f"bentpipe: {line}"))

    def run_begins(self, name: str, length_s: float) -> None:
        self._state.run_begins(name, length_s)
        self._show()

    def run_is_at(self, name: str, seconds: float, detail: str = "") -> None:
        self._state.run_is_at(name, seconds)
        self._show(detail)

    def run_ends(self, name: str, record: Record) -> None:
        self._state.run_ends(name, record)
        self._show()
        if record["status"] == "failed" or not record["reliable"]:
            self._doubtful += 1
            if self._doubtful <= _FAILED_LINES:
                self._progress.console.print(Text(f"{record['folder']}: {outcome(record)}", style="yellow"))

    def _show(self, detail: str = "") -> None:
        state = self._state
        name = next(iter(state.running)) if len(state.running) == 1 else ""
        # What a short run is at would only flicker.
        if detail and name and state.length_of(name) > _TRUST_S:
            name = detail
        self._progress.update(
            self._task, total=state.length_s, completed=state.completed_s, count=state.count, name=name
        )


class _OneLine(Progress):
    """Bars with room beside them for the `^C` that a terminal shows.

    On a full line `^C` would begin another line, and then that one would be erased instead of the bar.
    """

    def get_renderables(self) -> Iterator[RenderableType]:
        for each in super().get_renderables():
            yield _WithRoom(each)


class _WithRoom:
    def __init__(self, drawn: RenderableType) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(
            self._drawn, options.update(width=max(1, options.max_width - _INTERRUPT_ECHO))
        )


class _TimeLeft(ProgressColumn):
    def __init__(self, state: _State) -> None:
        super().__init__(_whole())
        self._state = state

    def render(self, task: Task) -> Text:  # noqa: ARG002 - the state knows more
        left_s = max(1.0, self._state.left_s)  # "0 s left" would be said for a second
        return Text(f"{spoken(left_s)} left" if self._state.runs else "", style="cyan")


class _Name(ProgressColumn):
    """What is running: cut where the terminal is narrow."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["name"], no_wrap=True, overflow="ellipsis")


def _whole() -> Column:
    """A column that keeps its width: where the terminal is narrow the others give way."""
    return Column(no_wrap=True)


@contextmanager
def watcher(*, quiet: bool) -> Iterator[Watcher]:
    if quiet:
        yield Quiet()
    elif sys.stderr.isatty():
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
    count = TextColumn("{task.fields[count]}", markup=False, table_column=_whole())
    columns = (count, BarColumn(), TimeRemainingColumn(elapsed_when_finished=True, table_column=_whole()))
    with _OneLine(*columns, console=SafeConsole(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None, count=before)
        interruption.clear_display = progress.stop
        done = 0

        def told(more: int) -> None:
            nonlocal done
            done += more
            progress.update(task, total=total, completed=done, count=f"{done}/{total} {what}")

        try:
            yield told
        finally:
            interruption.clear_display = None


def _counted_lines(what: str, total: int) -> Callable[[int], None]:
    done, said_s = 0, time.monotonic()

    def told(more: int) -> None:
        nonlocal done, said_s
        done += more
        if time.monotonic() > said_s + _BETWEEN_S:
            said_s = time.monotonic()
            _say(f"[{done}/{total}] {what}")

    return told


def _warning(length_s: float) -> str:
    """Of a sweep that may last for days; "" for any other."""
    if length_s < _DAY_S:
        return ""
    return (
        f"bentpipe: warning: this may take {spoken(length_s)}. Ctrl-C ends it; runs that are done are kept. "
        "A shorter `duration`, smaller sizes or fewer points make it shorter."
    )


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
