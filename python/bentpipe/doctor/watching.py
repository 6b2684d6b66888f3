"""A watch over this host's sockets: what is to be watched, for how long, and what was seen.

On systems other than Linux it is refused.
"""

import ipaddress
import json
import os
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

import polars as pl

from bentpipe._core import SocketWatch
from bentpipe.doctor.from_host import HostSeen, largest_remotes, seen
from bentpipe.doctor.host_facts import HostFacts, counters, facts
from bentpipe.doctor.processes import Programs
from bentpipe.errors import EngineError, StoreError
from bentpipe.words.wording import listed, plural, size

_SAID = re.compile(r"(?:(port|pid):|:)?([0-9]+)")
_MOST_PORT = 65535
_LOOK_S = 0.1
MOST_SHARE = 0.05
"""Of a core, for a watch whose interval nobody gave."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Watched:
    """Sockets of which all that is given is true."""

    words: str
    """What is watched, for a reader."""
    addresses: Sequence[Address] = ()
    ports: Sequence[int] = ()
    processes: Sequence[int] = ()
    loopback: bool = True


def watched(what: str | None) -> Watched:
    """`all`, a host's name or address, a port or a process. Raises `StoreError` where it is none of these."""
    if what is None or what == "all":
        return Watched("all connections with other hosts", loopback=False)
    if not what or (":" in what and not _is_address(what.strip("[]")) and not _SAID.fullmatch(what)):
        raise StoreError(f'--watch: found "{what}"; expected a host, port:443, pid:1234 or all')
    if match := _SAID.fullmatch(what):
        return _numbered(what, match[1] or ("port" if what.startswith(":") else None), int(match[2]))
    what = what.strip("[]")
    addresses = _resolved(what, "--watch")
    spelled = listed([str(each) for each in addresses])
    return Watched(f"connections with {what}" + ("" if spelled == what else f" ({spelled})"), addresses)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _numbered(what: str, kind: str | None, number: int) -> Watched:
    is_port = 0 < number <= _MOST_PORT
    if kind is None:
        is_used, is_process = is_port and number in _ports_in_use(), _is_process(number)
        if is_used and is_process:
            raise StoreError(
                f"--watch: found {what}, which is a port in use and a process; "
                f"write port:{number} or pid:{number}"
            )
        kind = "pid" if is_process else "port"
    if kind == "port":
        if not is_port:
            raise StoreError(
                f"--watch: found {what}; expected a port from 1 to {_MOST_PORT}, or a running process"
            )
        return Watched(f"port {number}", ports=[number])
    if not _is_process(number):
        raise StoreError(f"--watch: found {what}, but no such process is running")
    name = _text(f"/proc/{number}/comm").strip()
    _check_process(number, name)
    return Watched(f"process {number} ({name}) and its children", processes=[number])


def _check_process(number: int, name: str) -> None:
    try:
        next(iter(os.scandir(f"/proc/{number}/fd")), None)
        theirs, ours = (Path(f"/proc/{which}/ns/net").readlink() for which in (number, "self"))
    except PermissionError:
        raise StoreError(
            f"--watch: process {number} ({name}) is another user's, so its sockets cannot be seen; "
            "watch as that user or as root, or watch its port"
        ) from None
    except OSError:
        raise StoreError(f"--watch: process {number} has just ended") from None
    if theirs != ours:
        raise StoreError(
            f"--watch: process {number} ({name}) is in another network namespace; watch there:  "
            f"nsenter --net=/proc/{number}/ns/net bentpipe doctor --watch pid:{number}"
        )


def _is_process(number: int) -> bool:
    return Path(f"/proc/{number}").is_dir()


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _ports_in_use() -> set[int]:
    lines = [
        line.split() for file in ("tcp", "tcp6") for line in _text(f"/proc/self/net/{file}").splitlines()
    ]
    ends = [end for line in lines for end in line[1:3] if ":" in end]
    return {int(end.rpartition(":")[2], 16) for end in ends}


def _resolved(host: str, option: str) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(f'{option}: found "{host}", which is no host that can be found: {why}') from None
    addresses = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    return [ipaddress.ip_address(each) for each in addresses]


def first_address(host: str, option: str) -> str:
    """The host's address that is to be tried first. Raises `StoreError` where there is none."""
    return str(_resolved(host, option)[0])


class Watching:
    """A watch that runs from its entry on."""

    def __init__(self, over: Watched, every_s: float, most_share: float | None = None) -> None:
        """`most_share`: of a core, for looks at sockets; those that cost more are taken less often."""
        self._before = counters()
        try:
            self._watch = SocketWatch(
                every_s,
                addresses=over.addresses,
                ports=over.ports,
                processes=over.processes,
                loopback=over.loopback,
                most_share=most_share,
            )
        except OSError as error:
            raise EngineError(f"cannot watch this host's sockets: {error.strerror or error}") from None
        self._programs = Programs(self._watch, over.processes, every_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._programs.start()

    def stop(self) -> None:
        # It asks the watch for its connections, which a watch that is being stopped does not tell.
        self._programs.stop()
        self._watch.stop()

    def report(self) -> dict[str, Any]:
        """What the sampling says of itself (`OwnSocketsReport`)."""
        found: dict[str, Any] = json.loads(self._watch.report())
        return found

    @property
    def programs_processor_s(self) -> float:
        """Processor time of the looks at programs, beside that of the sampling."""
        return self._programs.processor_s

    def so_far(self) -> str:
        """For a line of progress."""
        report = self.report()
        return f"{plural(report['watched'], 'connection')}, {size(report['carried_bytes'])}"

    def seen_so_far(self, pings: pl.DataFrame | None = None) -> HostSeen:
        """What has been seen, without looking at routes and devices. The watch goes on."""
        return seen(self._watch, HostFacts(), pings, used_by=self._programs.used)

    def seen(self, pings: pl.DataFrame | None = None, *, names_it: str = "") -> HostSeen:
        """What was seen. It ends the watch."""
        self.stop()
        host = facts(self._before, largest_remotes(self._watch))
        return seen(self._watch, host, pings, names_it=names_it, used_by=self._programs.used)


def wait(
    watching: Watching,
    seconds: float,
    is_over: Callable[[], bool],
    tell: Callable[[str, float], None] = lambda _so_far, _passed_s: None,
) -> None:
    """Until the time has passed, by the watch's own clock, or it is over. `tell`: what was seen so far."""
    begun = monotonic()
    while (passed := monotonic() - begun) < seconds and not is_over():
        tell(watching.so_far(), passed)
        sleep(min(_LOOK_S, max(seconds - passed, 0)))
