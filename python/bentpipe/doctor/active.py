"""Transfers of our own with an iperf3 server, watched: down and up, with one stream and with several.

A test ends early when two looks a second apart say the same of it, with certainty; and several streams are
not tried where one fills the path.
"""

import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import IO

import polars as pl

from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.evidence import PINGS, Evidence
from bentpipe.doctor.executed import own_children
from bentpipe.doctor.from_host import HostSeen
from bentpipe.doctor.watching import Watching, first_address, wait
from bentpipe.engines.workloads.iperf3 import failure
from bentpipe.errors import EngineError, StoreError
from bentpipe.words.wording import duration, plural, size

DEFAULT_PORT = 5201
DEFAULT_BYTES = 1_000_000_000
STREAMS = 4
TEST_S = 10.0
_PINGS, _PING_EVERY_S, _PING_WAIT_S = 10, 0.2, 2.0
_FIRST_LOOK_S = 3.0
_LOOK_EVERY_S = 1.0
_ROUND_TRIPS = 20
_SURE = 0.7
_MOST_OF_IT = 0.5
_CONNECT_S = 5.0
_ENDS_S = 5.0
"""How long a test may take to end after its time: queues drain, and its figures are exchanged."""
_UNSEEN = "iperf3 ended before its connections were sampled: --bytes allows too little for this path"
_REPLY = re.compile(r"time[=<]([0-9.]+) ms")
_SERVER = re.compile(r"(?:\[([^\]]+)\]|([^:]+)|([0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F:]*))(?::([0-9]+))?")


@dataclass(frozen=True)
class Until:
    """How the caller ends the tests, and is told of them."""

    is_over: Callable[[], bool]
    tell: Callable[[str], None]


@dataclass(frozen=True)
class Server:
    host: str
    address: str
    port: int


@dataclass(frozen=True)
class Test:
    down: bool
    streams: int

    @property
    def direction(self) -> str:
        return "down" if self.down else "up"

    @property
    def words(self) -> str:
        return f"{self.direction}, {plural(self.streams, 'stream')}"


TESTS = (Test(True, 1), Test(False, 1), Test(True, STREAMS), Test(False, STREAMS))


@dataclass
class Findings:
    """What the tests showed, so far."""

    seen: list[HostSeen] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """The tests that were tried and gave no figures."""

    @property
    def transfers(self) -> list[Evidence]:
        return [each for seen in self.seen for each in seen.transfers]


def server(text: str) -> Server:
    """`HOST` or `HOST:PORT`; an IPv6 address with a port stands in brackets. Raises `StoreError`."""
    match = _SERVER.fullmatch(text)
    port = int(match[4]) if match and match[4] else DEFAULT_PORT
    if match is None or not 0 < port < 65536:
        raise StoreError(
            f'--to: found "{text}"; expected SERVER or SERVER:PORT, such as server.example:{DEFAULT_PORT}'
        )
    host = match[1] or match[2] or match[3]
    return Server(host, first_address(host, "--to"), port)


def program() -> str:
    """iperf3. Raises `EngineError` where it is not installed."""
    found = shutil.which("iperf3")
    if found is None:
        raise EngineError("--to needs iperf3, which is not installed", remedy="sudo apt-get install iperf3")
    return found


def announced(to: Server, most_bytes: int) -> str:
    """What will be done, and what it takes at most."""
    most_s = _PINGS * _PING_EVERY_S + len(TESTS) * TEST_S
    return (
        f"Pings {to.host}, then runs iperf3 with its port {to.port}: down and up, one stream, then "
        f"{STREAMS}. At most {duration(most_s)} and {size(most_bytes)}, less where it knows sooner. "
        "Ctrl-C ends it."
    )


def tests(to: Server, most_bytes: int, every_s: float, until: Until) -> Findings:
    """Runs them. Raises `EngineError` where the first cannot be run."""
    iperf3 = program()
    found = Findings()
    until.tell(f"pinging {to.host}")
    pings = _pings(to)
    if pings is None:
        found.remarks.append("There is no program ping here, so the base RTT is from the connections alone.")
    elif pings["rtt_s"].null_count() == pings.height:
        found.remarks.append(f"{to.host} answers no ping, so the base RTT is from the connections alone.")
    left = most_bytes
    full: set[bool] = set()
    todo = list(TESTS)
    while todo and not until.is_over():
        test = todo.pop(0)
        if test.down in full:
            continue
        share = left // (1 + len([each for each in todo if each.down not in full]))
        try:
            seen = _run([iperf3, *_arguments(to, test, share)], test, pings, every_s, until)
        except EngineError as error:
            if until.is_over():
                break
            if not found.seen:
                raise
            found.remarks.append(f"The test {test.words} failed: {error}.")
            found.failed.append(test.words)
            continue
        found.seen.append(seen)
        left -= int(seen.watch["carried_bytes"])
        if test.streams == 1 and any(_fills(each) for each in seen.transfers):
            full.add(test.down)
    if full and not until.is_over():
        ways = " and ".join("down" if down else "up" for down in sorted(full, reverse=True))
        found.remarks.append(f"One stream filled the path {ways}, so several were not tried that way.")
    return found


def _arguments(to: Server, test: Test, most_bytes: int) -> Iterator[str]:
    yield from ("--client", to.address, "--port", str(to.port), "--json")
    yield from ("--connect-timeout", str(int(_CONNECT_S * 1e3)))
    yield from ("--bytes", str(max(most_bytes, 1)), "--parallel", str(test.streams))
    if test.down:
        yield "--reverse"


def _run(
    command: Sequence[str], test: Test, pings: pl.DataFrame | None, every_s: float, until: Until
) -> HostSeen:
    with (
        tempfile.TemporaryFile() as said,
        Watching(own_children(), every_s) as watching,
        # In a session of its own: a Ctrl-C is for us, and we end it.
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        ) as iperf3,
    ):
        knows = _Knows(watching, test, pings)

        def ends() -> bool:
            return until.is_over() or iperf3.poll() is not None or knows()

        def tell(so_far: str, passed_s: float) -> None:
            until.tell(f"{test.words}: {passed_s:.0f} s, {so_far}")

        try:
            wait(watching, TEST_S, ends, tell)
        finally:
            _end(iperf3)
        seen = watching.seen(pings)
        own = [each for each in seen.transfers if each.direction == test.direction][:1]
        if not own:
            raise EngineError(_why(said, ended_well=iperf3.returncode == 0))
        return replace(seen, transfers=[replace(each, name=test.words) for each in own])


@dataclass
class _Knows:
    """Whether two looks, one after another, were certain of the same."""

    watching: Watching
    test: Test
    pings: pl.DataFrame | None
    look_at: float = field(default_factory=lambda: monotonic() + _FIRST_LOOK_S)
    last: str = ""

    def __call__(self) -> bool:
        if monotonic() < self.look_at:
            return False
        self.look_at = monotonic() + _LOOK_EVERY_S
        before, self.last = self.last, _sure_of(self.watching, self.test, self.pings)
        return bool(self.last) and self.last == before


def _sure_of(watching: Watching, test: Test, pings: pl.DataFrame | None) -> str:
    """The kind of the first finding, where it is certain; else nothing."""
    so_far = watching.seen_so_far(pings).transfers
    transfer = next((each for each in so_far if each.direction == test.direction), None)
    if transfer is None:
        return ""
    found = diagnose(transfer)
    first = found.findings[0]
    lasted = transfer.duration_s >= max(_FIRST_LOOK_S, _ROUND_TRIPS * (found.view.base_rtt_s or 0.0))
    passing = first.kind in {"unknown", "slow-start"}
    return (
        first.kind
        if lasted and not passing and first.certainty >= _SURE and first.share >= _MOST_OF_IT
        else ""
    )


def _fills(transfer: Evidence) -> bool:
    first = diagnose(transfer).findings[0]
    return first.kind == "capacity" and first.certainty >= _SURE and first.share >= _MOST_OF_IT


def _end(iperf3: "subprocess.Popen[bytes]") -> None:
    """Asks it to end, which it tells the server; then makes it."""
    if iperf3.poll() is None:
        iperf3.send_signal(signal.SIGINT)
    try:
        iperf3.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        iperf3.kill()
        iperf3.wait()


def _why(said: IO[bytes], *, ended_well: bool) -> str:
    said.seek(0)
    text = said.read().decode(errors="replace")
    return failure(text, _UNSEEN) if ended_well else failure(text)


def _pings(to: Server) -> pl.DataFrame | None:
    """By the program `ping`. None: there is none."""
    ping = shutil.which("ping")
    if ping is None:
        return None
    command = [ping, "-n", "-c", str(_PINGS), "-i", str(_PING_EVERY_S), "-W", str(_PING_WAIT_S)]
    done = subprocess.run(
        [*command, to.address],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    times = [float(match[1]) / 1e3 for match in map(_REPLY.search, done.stdout.splitlines()) if match]
    rtts = [*times, *[None] * (_PINGS - len(times))]
    return pl.DataFrame(
        {"time_s": [number * _PING_EVERY_S for number in range(_PINGS)], "rtt_s": rtts}, schema=PINGS
    )
