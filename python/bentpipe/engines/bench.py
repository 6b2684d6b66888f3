"""What a workload of the live engine works with: the two hosts, the run's clock, and programs on both.

Times are seconds on the run's clock. A program has a deadline of its own, so that one that hangs ends its
workload and not the run; and when the run is over, what still runs is interrupted and asked for what it has.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from bentpipe.engines.closings import Closings
from bentpipe.engines.host_process import Exit, HostProcess
from bentpipe.engines.lengths import full_round_trip_s
from bentpipe.engines.ports import server_port
from bentpipe.lab.spec import RunSpec

OUTPUT_LIMIT_BYTES = 64 * 2**20
"""Most that is read of each stream (stdout, stderr) of a lab's command."""
_GRACE_S = 2.0


class End(Enum):
    """Why a program is over."""

    EXITED = "it ended by itself"
    HUNG = "it did not end in time"
    CUT = "the run ended first"


@dataclass(frozen=True)
class Program:
    """A program that is over."""

    argv: Sequence[str]
    end: End
    exit: Exit
    started_s: float
    stdout: str
    stderr: str
    omitted_bytes: Mapping[str, int] = field(default_factory=dict)
    """Of each stream that was cut, how many bytes were left out of its middle."""

    @property
    def fault(self) -> str | None:
        """What went wrong with it as a program, with its stderr; None: nothing."""
        name = self.argv[0]
        if self.exit.error:
            return self.exit.error
        said = f": {self.stderr.strip()[-2000:]}" if self.stderr.strip() else ""
        if self.end is End.HUNG:
            return f"{name} did not end in time and was stopped{said}"
        if self.end is End.CUT:
            return None
        if self.exit.signal:
            return f"{name} was ended by signal {self.exit.signal} ({_signal_name(self.exit.signal)}){said}"
        if self.exit.status:
            return f"{name} ended with status {self.exit.status}{said}"
        return None


class Bench:
    def __init__(
        self,
        host: HostProcess,
        spec: RunSpec,
        raw_folder: Path,
        *,
        seed: int,
        zero_ns: int,
        hosts: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """`zero_ns`: the run's time zero on the monotonic clock; `hosts`: what `ready` said of each."""
        self.spec = spec
        self.seed = seed
        self.ended = asyncio.Event()
        """Set at the run's end, for tasks that still work."""
        self.closings = Closings(raw_folder / "closed.csv", is_split=spec.split is not None)
        self._host = host
        self.raw_folder = raw_folder
        """Where a workload may put files for the time of the run."""
        self._zero_ns = zero_ns
        self._hosts = hosts
        self._numbers = itertools.count()

    @property
    def now_s(self) -> float:
        return self.run_s(time.monotonic_ns())

    @property
    def wall_minus_run_s(self) -> float:
        """What to take from a wall-clock time stamp to have it on the run's clock."""
        return time.time() - self.now_s

    @property
    def full_round_trip_s(self) -> float:
        """A round trip when the queues of all pipes are full."""
        return full_round_trip_s(self.spec)

    @property
    def patience_s(self) -> float:
        """How much longer than its own time a program may take: twenty such round trips, and time to start on
        a busy machine."""
        return 10.0 + 20.0 * self.full_round_trip_s

    def addresses(self, host: str, congestion_control: str | None = None) -> Mapping[int, str]:
        """Of a host, by IP version. A path narrower than 1280 bytes has no IPv6. With a congestion control,
        those whose connections use it, at both ends."""
        said = self._hosts[host]
        found = said["extra_addresses"][congestion_control] if congestion_control else said["addresses"]
        return {6 if ":" in each else 4: each for each in found}

    def address(self, host: str, ip: int, congestion_control: str | None = None) -> str:
        return self.addresses(host, congestion_control)[ip]

    def folder(self, name: str) -> Path:
        """A folder of the run's own, which goes with it. Both hosts' programs may use it."""
        place = self.raw_folder / name
        place.mkdir()
        return place.resolve()

    def run_s(self, monotonic_ns: int) -> float:
        """An instant of the monotonic clock on the run's."""
        return (monotonic_ns - self._zero_ns) / 1e9

    def monotonic_ns(self, at_s: float) -> int:
        """An instant of the run's clock on the monotonic one."""
        return self._zero_ns + round(at_s * 1e9)

    def port(self, workload: str) -> int:
        """Of a workload's server."""
        return server_port(self.spec, workload)

    async def sleep_until(self, at_s: float) -> None:
        """Returns at `at_s`, or when the run has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), max(0.0, at_s - self.now_s))

    async def channels(self, workload: str) -> Exit:
        """Run a workload of the setup's `channels` to the run's end."""
        exiting = self._host.channels(workload)
        ended = asyncio.ensure_future(self.ended.wait())
        try:
            watched: set[asyncio.Future[Any]] = {exiting, ended}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if not exiting.done():
            self._host.signal(workload, signal.SIGINT)
        return await exiting

    def start(
        self,
        host: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        sandbox: bool = False,
        preparation: bool = False,
    ) -> "Running":
        """Start a program at `host`; what it prints goes to files of its own. With `sandbox` it reaches only
        what a command of a lab may (docs/live.md), and at most `OUTPUT_LIMIT_BYTES` of each of its streams
        are read. What a `preparation` waits for a processor is not reported."""
        name = f"{next(self._numbers)}-{Path(argv[0]).name}"
        stdout, stderr = self.raw_folder / f"{name}.out", self.raw_folder / f"{name}.err"
        started_s = self.now_s
        exiting = self._host.spawn(
            name,
            host=host,
            argv=list(argv),
            env=dict(env) if env is not None else None,
            stdout=str(stdout),
            stderr=str(stderr),
            stdin=None,
            cwd=str(cwd) if cwd else None,
            tty=False,
            sandbox=sandbox,
            preparation=preparation,
        )
        output = {"stdout": stdout, "stderr": stderr}
        limit = OUTPUT_LIMIT_BYTES if sandbox else None
        return Running(self, self._host, name, argv, started_s, exiting, output, limit)


@dataclass(frozen=True)
class Running:
    """A program that has been started."""

    _bench: Bench
    _host: HostProcess
    _name: str
    _argv: Sequence[str]
    _started_s: float
    _exiting: asyncio.Future[Exit]
    _output: Mapping[str, Path]
    _output_limit_bytes: int | None

    @property
    def has_ended(self) -> bool:
        return self._exiting.done()

    def signal(self, number: signal.Signals) -> None:
        """To it and what it started."""
        self._host.signal(self._name, number)

    async def over_first(self, other: "Running") -> None:
        """Wait until one of the two is over."""
        await asyncio.wait({self._exiting, other._exiting}, return_when=asyncio.FIRST_COMPLETED)

    async def over(self, deadline_s: float | None, *, cut: bool = True) -> Program:
        """Wait until it is over. Past `deadline_s` it is stopped. With `cut` false the end of the run does
        not touch it, only the deadline does."""
        end = await self._watch(deadline_s, cut=cut)
        if end is not End.EXITED:
            await self._stop()
        texts: dict[str, str] = {}
        omitted: dict[str, int] = {}
        for stream, file in self._output.items():
            texts[stream], left_out = read_output(file, self._output_limit_bytes)
            if left_out:
                omitted[stream] = left_out
        return Program(self._argv, end, await self._exiting, self._started_s, **texts, omitted_bytes=omitted)

    async def _watch(self, deadline_s: float | None, *, cut: bool) -> End:
        timeout = None if deadline_s is None else max(0.0, deadline_s - self._bench.now_s)
        ended = asyncio.ensure_future(self._bench.ended.wait())
        watched: set[asyncio.Future[Any]] = {self._exiting, ended} if cut else {self._exiting}
        try:
            done, _ = await asyncio.wait(watched, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._exiting in done:
            return End.EXITED
        return End.CUT if ended in done else End.HUNG

    async def _stop(self) -> None:
        """Interrupts a measuring tool, so that it can print its results, and then kills it."""
        for number in (signal.SIGINT, signal.SIGKILL):
            self._host.signal(self._name, number)
            done, _ = await asyncio.wait({self._exiting}, timeout=_GRACE_S)
            if done:
                return


def read_output(file: Path, limit_bytes: int | None) -> tuple[str, int]:
    """What a program printed to a file, and how many bytes of it were left out. Of a file above the limit
    the first and the last half of the limit are read, with a line about the rest between them."""
    try:
        with file.open("rb") as stream:
            size_bytes = os.fstat(stream.fileno()).st_size
            if limit_bytes is None or size_bytes <= limit_bytes:
                return _text(stream.read(limit_bytes)), 0
            half = limit_bytes // 2
            begin = stream.read(half)
            stream.seek(size_bytes - half)
            end = stream.read(half)
    except FileNotFoundError:
        return "", 0
    omitted = size_bytes - 2 * half
    note = f"\n[bentpipe: {omitted} bytes are left out here: the limit is {limit_bytes} bytes]\n"
    return _text(begin) + note + _text(end), omitted


def _text(raw: bytes) -> str:
    """With the line endings of Python's text files."""
    return raw.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "unknown"
