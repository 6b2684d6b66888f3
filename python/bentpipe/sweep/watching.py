"""Observers of a sweep's progress."""

from typing import Protocol

from bentpipe.runs.record import Record


class Watcher(Protocol):
    """Told how a sweep goes on."""

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        """`runs` in all, of which `done` are there already; the rest would take about `length_s` one by one,
        and `at_once` of them go on beside each other."""

    def say(self, line: str) -> None:
        """A remark for the observers."""

    def run_begins(self, name: str, length_s: float) -> None: ...

    def run_is_at(self, name: str, seconds: float, detail: str = "") -> None:
        """`seconds` of the run's expected length are over; `detail`: how far it is, in words."""

    def run_ends(self, name: str, record: Record) -> None: ...


class Quiet:
    """A watcher that says nothing."""

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None: ...

    def say(self, line: str) -> None: ...

    def run_begins(self, name: str, length_s: float) -> None: ...

    def run_is_at(self, name: str, seconds: float, detail: str = "") -> None: ...

    def run_ends(self, name: str, record: Record) -> None: ...
