"""One measurement of a transfer: a command of the user's, or iperf3 with a server.

A command that prints a number as its last line has measured: that number is the figure, and more is better
unless the user says otherwise. Any other command is timed, and less is better.
"""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from bentpipe.errors import TuneError

_LONGEST_S = 900
_SHELL_FAILED = 127


@dataclass(frozen=True)
class Figure:
    value: float
    unit: str
    """"s", "bit/s", or "" for a number that a command printed."""
    less_is_better: bool


class Measurement(Protocol):
    @property
    def words(self) -> str:
        """The command."""

    def __call__(self) -> Figure:
        """Raises TuneError where it fails."""


@dataclass(frozen=True)
class OfCommand:
    """A shell command."""

    words: str
    less_is_better: bool = False

    def __call__(self) -> Figure:
        begun = time.monotonic()
        said = _output(("sh", "-c", self.words), self.words)
        lasted_s = time.monotonic() - begun
        number = _number(said)
        if number is None:
            return Figure(lasted_s, "s", less_is_better=True)
        if number <= 0:
            raise TuneError(f"{self.words}: it printed {number:g}; expected a number above zero")
        return Figure(number, "", self.less_is_better)


@dataclass(frozen=True)
class OfIperf3:
    """A transfer of some seconds by iperf3: what its receiver got."""

    server: str
    receives: bool
    port: int = 5201
    seconds: int = 10

    @property
    def _command(self) -> Sequence[str]:
        way = ("-R",) if self.receives else ()
        return ("iperf3", "-J", "-c", self.server, "-p", str(self.port), "-t", str(self.seconds), *way)

    @property
    def words(self) -> str:
        return shlex.join(self._command)

    def __call__(self) -> Figure:
        said = _output(self._command, self.words)
        try:
            rate = float(json.loads(said)["end"]["sum_received"]["bits_per_second"])
        except (ValueError, LookupError, TypeError) as error:
            raise TuneError(f"{self.words}: could not read what iperf3 printed") from error
        if rate <= 0:
            raise TuneError(f"{self.words}: nothing arrived")
        return Figure(rate, "bit/s", less_is_better=False)


def _number(said: str) -> float | None:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    try:
        return float(lines[-1]) if lines else None
    except ValueError:
        return None


def _output(command: Sequence[str], words: str) -> str:
    """What it printed. Its processes end with this call, however it ends."""
    try:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise TuneError(f"{words}: {error.strerror}") from error
    try:
        said, complained = started.communicate(timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        raise TuneError(f"{words}: it had not ended after {_LONGEST_S} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    if started.returncode:
        lines = (complained.strip() or said.strip()).splitlines()
        why = lines[-1].strip() if lines else f"status {started.returncode}"
        raise TuneError(f"{words}: {'not found' if started.returncode == _SHELL_FAILED else 'failed'}: {why}")
    return said
