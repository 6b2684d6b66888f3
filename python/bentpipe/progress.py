"""How a sweep goes on, on stderr: a bar with the time left on a terminal, a line per run elsewhere."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from bentpipe.charts.wording import digits

_LONGEST_WHY = 300


def outcome(record: Mapping[str, Any]) -> str:
    """One line on how a run ended."""
    word = "done" if record["reliable"] else "unreliable"
    if record["status"] == "failed":
        word = "failed"
    figures = []
    for name, entry in record["workloads"].items():
        if entry.get("goodput_mbit_s") is not None:
            figures.append(f"{name} {digits(entry['goodput_mbit_s'], 4)} Mbit/s")
        elif entry.get("median_ms") is not None:
            figures.append(f"{name} {digits(entry['median_ms'], 4)} ms")
    why = "; ".join(record["why"]).replace("\n", " ")
    parts = [word, ", ".join(figures), f"({why[:_LONGEST_WHY]})" if why else ""]
    return "  ".join(part for part in parts if part)


class Lines:
    """A line per run."""

    def __init__(self) -> None:
        self._runs = 0
        self._number = 0
        self._name = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def sweep_begins(self, runs: int, done: int, length_s: float) -> None:
        self._runs, self._number = runs, done
        there = f", {done} of them there already" if done else ""
        _say(f"{runs} run{'s' * (runs != 1)}{there}, about {_duration(length_s)}")

    def run_begins(self, name: str, length_s: float) -> None:  # noqa: ARG002 - a bar wants it
        self._number += 1
        self._name = name

    def run_is_at(self, seconds: float) -> None: ...

    def run_ends(self, record: Mapping[str, Any]) -> None:
        took = _duration(record["wall_s"])
        _say(f"[{self._number}/{self._runs}] {self._name}: {outcome(record)}  {took}")


class Bar:
    """A bar over the whole sweep. Runs that went wrong leave a line above it."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("[bold]{task.fields[count]}"),
            BarColumn(),
            _TimeLeft(),
            TextColumn("{task.fields[name]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=1.0, count="", name="", start=False)
        self._runs = 0
        self._number = 0
        self._before_s = 0.0
        self._length_s = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def sweep_begins(self, runs: int, done: int, length_s: float) -> None:
        self._runs, self._number = runs, done
        self._progress.update(self._task, total=max(length_s, 1e-3), count=f"{done}/{runs}")
        self._progress.start_task(self._task)

    def run_begins(self, name: str, length_s: float) -> None:
        self._number += 1
        self._length_s = length_s
        self._progress.update(self._task, count=f"{self._number}/{self._runs}", name=name)

    def run_is_at(self, seconds: float) -> None:
        self._progress.update(self._task, completed=self._before_s + min(seconds, self._length_s))

    def run_ends(self, record: Mapping[str, Any]) -> None:
        self._before_s += self._length_s
        self._progress.update(self._task, completed=self._before_s)
        if record["status"] == "failed" or not record["reliable"]:
            self._progress.console.print(Text(f"{record['folder']}: {outcome(record)}", style="yellow"))


class _TimeLeft(ProgressColumn):
    """From what the runs are known to take, not from how fast the bar has been: a run takes its time."""

    def render(self, task: Task) -> Text:
        return Text(f"{_duration(max(0.0, (task.total or 0.0) - task.completed))} left", style="cyan")


def watcher() -> Bar | Lines:
    return Bar() if sys.stderr.isatty() else Lines()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
