"""The settings that tune can change: sysctls, the root queue of a device, initial windows of routes.

Each kind of setting has a name, and a value as a line of text that can be read and written. Two values of a
kind can be compared: `same`. Writing is one system call or one netlink message, so a process that is killed
leaves either the value before or the value after.

- A sysctl's value is its file's text.
- A device's queue is "KIND HANDLE". Handle `0:` is the kernel's own choice; any other was set by
  somebody.
- A route's value is its line of `ip route show`, without the flags of its state.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bentpipe.errors import TuneError

PROC = Path("/proc/sys")
OUR_HANDLE = "b17:"
"""Of the queues that tune sets, so that they can be told from others."""
_STATE_FLAGS = frozenset({"linkdown", "dead", "offload", "rt_offload", "trap", "rt_trap", "unresolved"})
_LONGEST_S = 20
HELD: set[int] = set()
"""Descriptors that `ip` and `tc` inherit. The lock is one: it lasts until a program ends whose starter was
killed, so nothing is taken back while that program may still change something."""


class Setting(Protocol):
    """One thing that can be read, and written as it was."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    def read(self) -> str | None:
        """None where this kernel or this network namespace has it not."""

    def write(self, value: str) -> None:
        """Raises TuneError where the kernel refuses it."""

    def same(self, one: str, other: str) -> bool: ...


@dataclass(frozen=True)
class Sysctl:
    name: str
    proc: Path = PROC
    kind: str = "sysctl"

    @property
    def _file(self) -> Path:
        return self.proc / self.name.replace(".", "/")

    def read(self) -> str | None:
        try:
            return self._file.read_text(encoding="ascii").rstrip("\n")
        except OSError:
            return None

    def write(self, value: str) -> None:
        try:
            with self._file.open("w", encoding="ascii") as file:
                file.write(value)
        except OSError as error:
            raise TuneError(f"{self.name}: cannot set {plainly(value)}: {error.strerror}") from error

    def same(self, one: str, other: str) -> bool:
        return one.split() == other.split()


@dataclass(frozen=True)
class RootQueue:
    """The root queueing discipline of a device."""

    name: str
    """The device."""
    kind: str = "qdisc"

    def read(self) -> str | None:
        try:
            listed = programs_output(("tc", "qdisc", "show", "dev", self.name))
        except TuneError:
            return None
        for line in listed.splitlines():
            words = line.split()
            if words[:1] == ["qdisc"] and "root" in words[3:4]:
                return f"{words[1]} {words[2]}"
        return None

    def write(self, value: str) -> None:
        kind, handle = value.split()
        if handle != "0:":
            programs_output(("tc", "qdisc", "replace", "dev", self.name, "root", "handle", handle, kind))
            return
        if (now := self.read()) is not None and not self.same(now, value):
            programs_output(("tc", "qdisc", "del", "dev", self.name, "root"))
            if (now := self.read()) is None or not self.same(now, value):
                raise TuneError(f"{self.name}: the kernel chose the queue {now} instead of {value}")

    def same(self, one: str, other: str) -> bool:
        return one == other


@dataclass(frozen=True)
class Route:
    """The windows at the start of connections over one route of the main table."""

    name: str
    """"-4" or "-6", and the words of the line that identify the route: prefix, tos, device, metric."""
    kind: str = "route"

    def read(self) -> str | None:
        family = self.name.split()[0]
        return next((line for line in route_lines(family) if route_name(family, line) == self.name), None)

    def write(self, value: str) -> None:
        programs_output(("ip", self.name.split()[0], "route", "change", *value.split()))

    def same(self, one: str, other: str) -> bool:
        return one.split() == other.split()


def made(kind: str, name: str) -> Setting:
    """The setting that a journal names. Raises TuneError for one that this version does not know."""
    if kind == "sysctl" and name.startswith("net.") and "/" not in name and ".." not in name:
        return Sysctl(name)
    if kind == "qdisc":
        return RootQueue(name)
    if kind == "route" and name[:3] in ("-4 ", "-6 "):
        return Route(name)
    raise TuneError(f"the journal names {kind} {name}, which this version of tune does not know")


def route_lines(family: str) -> list[str]:
    """The routes of the main table that have one next hop, a line each."""
    try:
        listed = programs_output(("ip", family, "route", "show", "table", "main")).splitlines()
    except TuneError:
        return []
    several = {number - 1 for number, line in enumerate(listed) if line[:1].isspace()}
    whole = (line for number, line in enumerate(listed) if number not in several and not line[:1].isspace())
    return [" ".join(word for word in line.split() if word not in _STATE_FLAGS) for line in whole]


def route_name(family: str, line: str) -> str:
    words = line.split()
    named = [family, words[0]]
    for key in ("tos", "dev", "metric"):
        if key in words[:-1]:
            named += [key, words[words.index(key) + 1]]
    return " ".join(named)


def with_first_windows(line: str, segments: int) -> str:
    """The route's line with both first windows of at least so many segments."""
    words = line.split()
    most = {"initcwnd": segments, "initrwnd": segments}
    for key in most:
        if key in words[:-1]:
            place = words.index(key)
            most[key] = max(segments, int(words[place + 1]))
            del words[place : place + 2]
    return " ".join([*words, *(f"{key} {value}" for key, value in most.items())])


def programs_output(command: Sequence[str]) -> str:
    """What `ip` or `tc` printed. Raises TuneError where it cannot be started or fails."""
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
            pass_fds=tuple(HELD),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TuneError(f"{' '.join(command)}: {getattr(error, 'strerror', None) or error}") from error
    if ended.returncode:
        said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        raise TuneError(f"{' '.join(command)}: {said[0] if said else f'status {ended.returncode}'}")
    return ended.stdout


def plainly(value: str) -> str:
    return " ".join(value.split())
