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
_LEAST, _MOST = 1e-9, 1e18
"""Of the number that a command prints."""
_CONNECT_MS = 5000


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
        said = _succeeded(_ended(("sh", "-c", self.words), self.words), self.words)
        lasted_s = time.monotonic() - begun
        number = _number(said)
        if number is None:
            return Figure(lasted_s, "s", less_is_better=True)
        if not _LEAST <= number <= _MOST:
            raise TuneError(
                f"{self.words}: it printed {number:g}; expected a number from {_LEAST:g} to {_MOST:g}"
            )
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
        to = ("-c", self.server, "-p", str(self.port), "--connect-timeout", str(_CONNECT_MS))
        return ("iperf3", "-J", *to, "-t", str(self.seconds), *way)

    @property
    def words(self) -> str:
        return shlex.join(self._command)

    def __call__(self) -> Figure:
        ended = _ended(self._command, self.words)
        rate = _received_bit_s(ended.stdout)
        if rate is None:
            from bentpipe.engines.workloads.iperf3 import failure  # noqa: PLC0415 - only a failure needs it

            raise TuneError(f"{self.words}: {failure(ended.stdout or ended.stderr)}")
        if rate <= 0:
            raise TuneError(f"{self.words}: nothing arrived")
        return Figure(rate, "bit/s", less_is_better=False)


def _received_bit_s(said: str) -> float | None:
    """What iperf3's receiver got; None where the test failed."""
    try:
        document = json.loads(said)
        return None if "error" in document else float(document["end"]["sum_received"]["bits_per_second"])
    except (ValueError, LookupError, TypeError):
        return None


def _number(said: str) -> float | None:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    try:
        return float(lines[-1]) if lines else None
    except ValueError:
        return None


def _ended(command: Sequence[str], words: str) -> "subprocess.CompletedProcess[str]":
    """The command after its end. Its processes end with this call, however it ends."""
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
    return subprocess.CompletedProcess(command, started.returncode, said, complained)


def _succeeded(ended: "subprocess.CompletedProcess[str]", words: str) -> str:
    """What the command printed. Raises TuneError where it failed."""
    if ended.returncode:
        lines = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        why = lines[-1].strip() if lines else f"status {ended.returncode}"
        raise TuneError(f"{words}: {'not found' if ended.returncode == _SHELL_FAILED else 'failed'}: {why}")
    return ended.stdout
