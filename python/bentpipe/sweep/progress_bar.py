"""The bar of a sweep and of a long count, on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from bentpipe import interruption
from bentpipe.runs.record import Record
from bentpipe.sweep.progress_state import FAILED_LINES, TRUST_S, State, outcome, warning
from bentpipe.words.console import SafeConsole
from bentpipe.words.durations import spoken
from bentpipe.words.wording import plural

_LONG_S = 60.0
_INTERRUPT_ECHO = 3
"""Columns: `^C` and the cursor."""


class Bar:
    """A bar over the whole sweep. Runs that went wrong leave a line above it, as far as they are few."""

    def __init__(self) -> None:
        self._state = State()
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
        if words := warning(length_s / at_once):
            self._progress.console.print(Text(words, style="yellow"))
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
            if self._doubtful <= FAILED_LINES:
                self._progress.console.print(Text(f"{record['folder']}: {outcome(record)}", style="yellow"))

    def _show(self, detail: str = "") -> None:
        state = self._state
        name = next(iter(state.running)) if len(state.running) == 1 else ""
        # What a short run is at would only flicker.
        if detail and name and state.length_of(name) > TRUST_S:
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
    def __init__(self, state: State) -> None:
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
def counted(before: str, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """As `counting` of progress.py, as a bar."""
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
