"""State of a sweep's progress: runs, time left, and a line on each ended run. For the bar and for lines."""

import time

from bentpipe.runs.called import called
from bentpipe.runs.record import Record
from bentpipe.words.digits import digits
from bentpipe.words.durations import spoken

FAILED_LINES = 20
"""Of so many failed runs each has a line."""
TRUST_S = 5.0
"""The expected lengths weigh as much as so many seconds of measured speed."""
_LONGEST_WHY = 300
_DAY_S = 86_400.0


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
        elif (mos := entry.get("mos")) is not None:
            figures.append(f"{name} MOS {digits(mos, 3)}")
        elif (p99_ms := entry.get("p99_ms")) is not None:
            figures.append(f"{name} p99 {digits(p99_ms, 4)} ms")
    why = "; ".join(each.removesuffix(".") for each in record["why"]).replace("\n", " ")
    parts = [word, ", ".join(figures), f"({why[:_LONGEST_WHY]})" if why else ""]
    return "  ".join(part for part in parts if part)


class State:
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
        speed = (self.completed_s + TRUST_S * self._at_once) / (passed_s + TRUST_S)
        return max(0.0, self.length_s - self.completed_s) / speed

    @property
    def count(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.ended}/{self.runs} done, {len(self.running)} running{failed}"


def warning(length_s: float) -> str:
    """Of a sweep that may last for days; "" for any other."""
    if length_s < _DAY_S:
        return ""
    return (
        f"bentpipe: warning: this may take {spoken(length_s)}. Ctrl-C ends it; runs that are done are kept. "
        "A shorter `duration`, smaller sizes or fewer points make it shorter."
    )
