"""How much of a core this end's programs used or waited for, over time, while sockets are watched.

The programs are those of a process and its children, or those that hold the watched sockets (`/proc/PID/fd`).
Each thread's time is that of `/proc/PID/task/TID/schedstat`: on a processor, and waiting for one
(Documentation/scheduler/sched-stats.rst). What this user may not read is not known.

A program's share is that of its busiest thread, so threads that wait at once count once. A thread that ends
counts up to the last look at it, and the time from that look to the next one is left out.
"""

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, thread_time

import numpy as np

from bentpipe._core import SocketWatch

_SHORTEST_S = 0.05
_MOST_COST = 0.005
"""Of a core, for looks; and as much for finding the owners of sockets. What costs more is done less often."""
_OWNERS_EVERY_S = 1.0
_OWNER_LOOKS = 2
"""How often the owners of a socket are looked for: one process may accept it and another one serve it."""
_LEAST_LOOKS = 5
"""In a transfer's time, from which on its share is known."""
_MOSTLY = 0.5
"""Least part of a transfer's time in which a thread has to be known."""
_CLOCK_S = 0.02
"""By how much more than the time that passed a thread may seem to have used since it began."""
_MOST_POINTS = 200_000
_MOST_ENDED = 100
"""Threads of a process that ended, which are kept when there are too many points."""
_LONGEST_S = 5.0
"""Most time between two looks for want of room."""


@dataclass
class _ThreadTimes:
    """Time of a core that a thread used or waited for, since it was first seen or began."""

    began_here: bool
    """It began while it was watched, so all of its time is known."""
    times_s: list[float]
    used_s: list[float]
    gone_s: float | None = None
    """The first look at which it was not there."""

    def add(self, time_s: float, used_s: float) -> int:
        """How many points more it has. Of several in a row with the same time, the first and last stay."""
        if len(self.used_s) > 1 and self.used_s[-2] == self.used_s[-1] == used_s:
            self.times_s[-1] = time_s
            return 0
        self.times_s.append(time_s)
        self.used_s.append(used_s)
        return 1

    def thin_out(self) -> int:
        """Drops every second point but the last. Returns how many are left."""
        self.times_s[:-1], self.used_s[:-1] = self.times_s[:-1:2], self.used_s[:-1:2]
        return len(self.times_s)

    def share(self, start_s: float, end_s: float) -> float | None:
        """Of this time. None: too little of it is known."""
        last_s = self.times_s[-1]
        known_from_s = start_s if self.began_here else max(start_s, self.times_s[0])
        known_to_s = end_s if self.gone_s is not None else min(end_s, last_s)
        left_out_s = 0.0
        if self.gone_s is not None:
            left_out_s = max(min(self.gone_s, known_to_s) - max(last_s, known_from_s), 0.0)
        known_s = known_to_s - known_from_s - left_out_s
        if known_s < _MOSTLY * (end_s - start_s):
            return None
        used = np.interp([known_from_s, known_to_s], self.times_s, self.used_s)
        return float(used[1] - used[0]) / known_s


@dataclass(eq=False)
class _Process:
    number: int
    name: str = ""
    """The latest: a new process has its maker's at first."""
    threads: dict[str, _ThreadTimes] = field(default_factory=dict)
    ended: list[_ThreadTimes] = field(default_factory=list)

    def look(self, now_s: float, before_s: float | None) -> int | None:
        """How many points more it has. None: the process has ended. `before_s`: the time of the look before,
        if all that the process did since is known."""
        try:
            numbers = _names(f"/proc/{self.number}/task")
            self.name = _read(f"/proc/{self.number}/comm").decode(errors="replace").strip()
        except OSError:
            self._gone(list(self.threads), now_s)
            return None
        points = 0
        for number in numbers:
            used_s = _used_s(f"/proc/{self.number}/task/{number}/schedstat")
            if used_s is None:
                continue
            thread = self.threads.get(number)
            if thread is not None and used_s < thread.used_s[-1]:
                self._gone([number], now_s)
                thread = None
            if thread is None:
                began_here = before_s is not None and used_s <= now_s - before_s + _CLOCK_S
                thread = _ThreadTimes(began_here, [], [])
                self.threads[number] = thread
                if before_s is not None and began_here:
                    points += thread.add(before_s, 0.0)
            points += thread.add(now_s, used_s)
        self._gone(self.threads.keys() - set(numbers), now_s)
        return points

    def _gone(self, numbers: Iterable[str], now_s: float) -> None:
        for number in numbers:
            thread = self.threads.pop(number)
            thread.gone_s = now_s
            self.ended.append(thread)

    def keep_the_busiest(self) -> None:
        """Of the threads that ended: one that ran for a moment says little of a transfer."""
        self.ended = sorted(self.ended, key=lambda thread: -thread.used_s[-1])[:_MOST_ENDED]

    def all_threads(self) -> Iterator[_ThreadTimes]:
        return chain(self.threads.values(), self.ended)


@dataclass(frozen=True)
class Used:
    """What this end's programs did in a transfer's time."""

    shares: Mapping[str, float]
    """By name: the share of a core that the busiest thread used or waited for. Empty: not known."""
    holders: frozenset[str]
    """Those that hold the transfer's sockets. Empty: not known."""


class Programs:
    """Looks at this end's programs in a thread of its own, from `start` until `stop`."""

    def __init__(self, sockets: SocketWatch, processes: Sequence[int], every_s: float) -> None:
        """`sockets`: a watch that began just now; times are on its clock. `processes`: the programs are they
        and their children, but not this process itself; none: the programs are the sockets' owners."""
        self._zero_s = monotonic()
        self._sockets = sockets
        self._family = dict.fromkeys(processes)
        self._follows_family = bool(processes)
        self._interval_s = max(every_s, _SHORTEST_S)
        self._looks_s: list[float] = []
        self._present: dict[int, _Process] = {}
        self._ended: list[_Process] = []
        self._owners: dict[int, list[_Process]] = {}
        self._owner_looks: dict[int, int] = {}
        self._find_at_s = self._find_soon_at_s = 0.0
        self._watched = 0
        self._points = 0
        self._lock = Lock()
        self.processor_s = 0.0
        """Processor time that it took itself."""
        self._over = Event()
        self._thread = Thread(target=self._run, name="programs", daemon=True)

    def start(self) -> None:
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """Ends it, after a last look."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def used(self, inodes: Iterable[int], start_s: float, end_s: float) -> Used:
        """Of the programs, or of those that hold these sockets, in this time."""
        found: dict[str, float] = {}
        with self._lock:
            owners = [*chain.from_iterable(self._owners.get(each, ()) for each in set(inodes))]
            holders = frozenset(each.name for each in owners)
            if bisect_right(self._looks_s, end_s) - bisect_left(self._looks_s, start_s) < _LEAST_LOOKS:
                return Used(found, holders)
            every = chain(self._present.values(), self._ended)
            for process in every if self._follows_family else owners:
                shares = (thread.share(start_s, end_s) for thread in process.all_threads())
                known = [share for share in shares if share is not None]
                if known:
                    found[process.name] = max(*known, found.get(process.name, 0.0))
        return Used(found, holders)

    def _run(self) -> None:
        wait_s = self._interval_s
        while not self._over.wait(wait_s):
            wait_s = max(self._interval_s, self._look() / _MOST_COST)
        self._look()

    def _look(self) -> float:
        """Returns the processor time of the look itself."""
        begun_s = thread_time()
        self._find_owners_if_due()
        found_s = thread_time()
        with self._lock:
            before_s = self._looks_s[-1] if self._looks_s else None
            if self._follows_family:
                self._find_children()
            for process in list(self._present.values()):
                # Of an owner that was found just now it is not known what it did before.
                is_known = self._follows_family or process.threads
                points = process.look(monotonic() - self._zero_s, before_s if is_known else None)
                if points is None:
                    self._ended.append(self._present.pop(process.number))
                self._points += points or 0
            self._looks_s.append(monotonic() - self._zero_s)
            if self._points > _MOST_POINTS:
                self._thin_out()
        took_s = thread_time() - found_s
        self.processor_s += thread_time() - begun_s
        return took_s

    def _thin_out(self) -> None:
        """Keeps every second look, and of the threads of each process that ended the busiest."""
        everyone = [*self._present.values(), *self._ended]
        for each in everyone:
            each.keep_the_busiest()
        self._points = sum(thread.thin_out() for each in everyone for thread in each.all_threads())
        self._looks_s[:-1] = self._looks_s[:-1:2]
        self._interval_s = min(2 * self._interval_s, _LONGEST_S)

    def _find_children(self) -> None:
        """A child whose parent has ended stays one."""
        unseen = list(self._family)
        while unseen:
            for child in _children(unseen.pop()):
                if child not in self._family:
                    self._family[child] = None
                    unseen.append(child)
        for number in list(self._family):
            if number in self._present or number == os.getpid():
                continue
            if Path(f"/proc/{number}").exists():
                self._present[number] = _Process(number)
            else:
                del self._family[number]

    def _find_owners_if_due(self) -> None:
        now_s = monotonic()
        if now_s < self._find_soon_at_s:
            return
        watched = json.loads(self._sockets.report())["watched"]
        if now_s < self._find_at_s and watched == self._watched:
            return
        self._watched = watched
        begun_s = thread_time()
        self._find_owners()
        self._find_soon_at_s = now_s + (thread_time() - begun_s) / _MOST_COST
        self._find_at_s = max(self._find_soon_at_s, now_s + _OWNERS_EVERY_S)

    def _find_owners(self) -> None:
        connections = json.loads(self._sockets.connections())
        wanted = {each["inode"] for each in connections if each["inode"] and not each["closed"]}
        wanted = {each for each in wanted if self._owner_looks.get(each, 0) < _OWNER_LOOKS}
        if not wanted:
            return
        for each in wanted:
            self._owner_looks[each] = self._owner_looks.get(each, 0) + 1
        with suppress(OSError):
            names = map(str, [*self._present]) if self._follows_family else _names("/proc")
            for name in filter(str.isdigit, names):
                if held := _socket_inodes(name) & wanted:
                    self._holds(int(name), held)

    def _holds(self, number: int, inodes: Iterable[int]) -> None:
        with self._lock:
            process = self._present.setdefault(number, _Process(number))
            for inode in inodes:
                owners = self._owners.setdefault(inode, [])
                if process not in owners:
                    owners.append(process)


def _names(folder: str) -> list[str]:
    """Raises `OSError` where there is no such folder, or it may not be seen."""
    with os.scandir(folder) as entries:
        return [each.name for each in entries]


def _read(file: str) -> bytes:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(descriptor, 65536), b""))
    finally:
        os.close(descriptor)


def _used_s(schedstat: str) -> float | None:
    """None: the thread has ended, has not run yet, or the kernel does not count it."""
    try:
        ran_ns, waited_ns, turns = map(int, _read(schedstat).split())
    except (OSError, ValueError):
        return None
    return (ran_ns + waited_ns) / 1e9 if turns else None


def _children(process: int) -> list[int]:
    """Of all its threads."""
    found: list[int] = []
    with suppress(OSError):
        for thread in _names(f"/proc/{process}/task"):
            with suppress(OSError):
                found += map(int, _read(f"/proc/{process}/task/{thread}/children").split())
    return found


def _socket_inodes(process: str) -> set[int]:
    """Empty where its descriptors may not be seen."""
    found = set()
    with suppress(OSError):
        for descriptor in _names(f"/proc/{process}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{process}/fd/{descriptor}")  # noqa: PTH115 - there are many
                if target.startswith("socket:["):
                    found.add(int(target[8:-1]))
    return found
