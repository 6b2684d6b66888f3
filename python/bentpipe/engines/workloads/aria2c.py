"""The real aria2c at the client: one file in several ranges at once, over a connection each.

Source: aria2 1.36's manual (-x, -s, -k) and log; experiments with it.
1. aria2c asks for the whole file first. When the answer's header has told the length, it leaves that answer
   the first range and asks for the others; that takes two round trips. A connection that has its range
   takes half of what another still has to fetch, if that is large enough. So there may be more ranges than
   connections, and one may be left before its end.
2. Ranges are whole pieces of 1 MiB, aria2c's smallest: a file of less than two pieces is one range, and one
   of less than N pieces has fewer than N ranges.
3. Times are from the log, which has microseconds of the wall clock: when a connection was begun, when its
   request was sent, when the answer's header came, when the last piece of the range was whole.
4. The ports are in nginx's log alone; the two logs are joined by the range asked for.
5. Bytes are those of whole pieces: what a connection brought beyond the range it was left is not goodput. Of
   a download that the run's end cut they are what the kernel had.
6. What it fetches goes to /dev/null, by a link in the run's folder: no disk, no memory.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe.engines.bench import Bench, End, Program, Running
from bentpipe.engines.workloads.nginx import Served
from bentpipe.engines.workloads.transfer import FlowOutcome, Item, Transfer

MOST = 16
"""Connections to one server that aria2c allows."""
_PIECE_BYTES = 1 << 20
_LINE = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}) \[[A-Z]+\] \[[^\]]*\] CUID#(\d+) - "
    r"(Connecting to|Requesting:|Response received:|The download for one segment completed)"
)
_RANGE = re.compile(r"Range: (bytes=(\d+)-(\d+))")
_ERROR = re.compile(r"\[ERROR\] (?:\[[^\]]*\] )?(.+)")
# The manual's "EXIT STATUS", as far as a download from one server can end with them.
_STATUS = {
    1: "an unknown error",
    2: "a timeout",
    3: "the file was not found",
    6: "a network problem",
    7: "it was interrupted",
    8: "the server cannot give ranges",
    9: "no space is left",
    22: "the answer's header was bad or not expected",
}


def start(bench: Bench, url: str, *, connections: int, folder: Path) -> Running:
    """Start an aria2c at the client."""
    sink = folder / "aria2c"
    if not sink.exists():
        sink.mkdir()
        (sink / "file").symlink_to("/dev/null")
    argv = ["aria2c", "--no-conf=true", f"-x{connections}", f"-s{connections}", "-k1M"]
    argv += ["--file-allocation=none", "--auto-save-interval=0", "--allow-overwrite=true"]
    argv += ["--enable-dht=false", "--enable-dht6=false", "--no-netrc=true", "--all-proxy="]
    argv += ["--summary-interval=0", "--log=-", "--log-level=info", "-d", str(sink), "-o", "file", url]
    return bench.start("client", argv, env={"TZ": "UTC"})


@dataclass
class Range:
    """What one request asked for. Times on the wall clock."""

    begun_unix_s: float | None = None
    """When its connection was begun; None: there was one."""
    sent_unix_s: float | None = None
    answered_unix_s: float | None = None
    ended_unix_s: float | None = None
    asked: str = ""
    """As its header says; empty: the whole file."""
    first_byte: int = 0
    last_byte: int | None = None
    """None: the whole file was asked for."""
    pieces: int = 0
    """Of it that came whole."""


def ranges(log: str) -> list[Range]:
    """Reads aria2c's log."""
    found: list[Range] = []
    now: dict[str, Range] = {}
    asking: Range | None = None
    for line in log.splitlines():
        match = _LINE.match(line)
        if match is None:
            if asking and (asked := _RANGE.match(line)):
                asking.asked, asking.first_byte, asking.last_byte = asked[1], int(asked[2]), int(asked[3])
            continue
        asking = None
        at_s = datetime.datetime.fromisoformat(f"{match[1]}+00:00").timestamp()
        cuid, said = match[2], match[3]
        current = now.get(cuid)
        if said == "Connecting to" or (said == "Requesting:" and (current is None or current.sent_unix_s)):
            current = now[cuid] = Range()
            found.append(current)
        if current is None:
            continue
        match said:
            case "Connecting to":
                current.begun_unix_s = at_s
            case "Requesting:":
                current.sent_unix_s = at_s
                asking = current
            case "Response received:":
                current.answered_unix_s = at_s
            case _:
                current.ended_unix_s = at_s
                current.pieces += 1
    return found


def transfers(
    item: Item,
    program: Program,
    served: Sequence[Served],
    *,
    server: str,
    port: int,
    wall_minus_run_s: float,
) -> list[Transfer]:
    """What became of each range. `served` are the lines for this file in the log of nginx, which was asked at
    the host `server`."""
    lines = list(served)
    outcome: FlowOutcome = "finished"
    why = fault(program)
    if why:
        outcome = "failed"
    elif program.end is End.CUT:
        outcome = "unfinished"

    def run_s(unix_s: float | None) -> float | None:
        return None if unix_s is None else unix_s - wall_minus_run_s

    asked = ranges(program.stdout)
    last_s = max((each.ended_unix_s for each in asked if each.ended_unix_s), default=None)
    found = []
    for each in asked:
        line = next((line for line in lines if each.sent_unix_s and line.range == each.asked), None)
        if line:
            lines.remove(line)
        start_s = run_s(each.begun_unix_s or each.sent_unix_s)
        found.append(
            Transfer(
                item=item,
                server=server,
                size_bytes=each.last_byte - each.first_byte + 1 if each.last_byte else None,
                local_port=line.port if line else None,
                remote_port=port,
                start_s=start_s if start_s is not None else program.started_s,
                connected_s=run_s(each.sent_unix_s) if each.begun_unix_s else None,
                first_byte_s=run_s(each.answered_unix_s),
                # One that came to nothing before others had all of the file ends with them.
                end_s=run_s(each.ended_unix_s or last_s) if outcome == "finished" else None,
                bytes=min(each.first_byte + each.pieces * _PIECE_BYTES, item.size_bytes) - each.first_byte,
                outcome=outcome,
                why=why,
                header_bytes=line.header_bytes if line else 0,
                cache=line.cache if line else None,
            )
        )
    if not found and why:
        found.append(
            Transfer(
                item=item,
                server=server,
                size_bytes=item.size_bytes,
                local_port=None,
                remote_port=port,
                start_s=program.started_s,
                connected_s=None,
                first_byte_s=None,
                end_s=None,
                bytes=0,
                outcome=outcome,
                why=why,
            )
        )
    return found


def fault(program: Program) -> str | None:
    """What went wrong, in words; None: nothing, or the run's end."""
    if program.end is not End.EXITED or program.exit.status in (0, None):
        return program.fault
    meant = _STATUS.get(program.exit.status or 0, "see its log")
    errors = _ERROR.findall(program.stdout)
    said = (
        f": {errors[-1].strip()}"
        if errors
        else f": {program.stderr.strip()[-500:]}"
        if program.stderr
        else ""
    )
    return f"aria2c ended with status {program.exit.status} ({meant}){said}"
