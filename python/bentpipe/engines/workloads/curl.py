"""A real curl at the client: one after another or, of a page, several at once; and what it says of each.

Source: curl 7.88, src/tool_cb_dbg.c, src/tool_writeout.c, lib/progress.c; experiments with it.
1. `--write-out '%{json}'` gives each transfer's times from its start. When that was, curl does not say; but
   `--trace-time` stamps the line at which the request was sent, to the microsecond, and `time_pretransfer`
   lies between the two. So a start is known to some ten microseconds, and not from when the program was
   started, which is 5 to 50 ms earlier.
2. Before 8.12 those stamps have the seconds of the wall clock and the microseconds of the monotonic one.
   Whole seconds are therefore taken from when the program was started, and of the two readings the one that
   lies next after it.
3. `--http1.1` and `--parallel-immediate`: else curl opens one connection, and waits to see whether it can
   carry everything, before it opens the others. A browser opens them at once.
4. An upload does not ask for `100 Continue`, as no browser does. curl would, and wait for it.
5. Of a fetch that the run's end cut, curl says nothing more: it began, as near as can be told, when its
   connection was begun or the one before it ended; of a page, when its request was sent.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.engines.bench import Bench, End, Program, Running
from bentpipe.engines.workloads.transfer import FlowOutcome, Item, Transfer

_STAMP = r"(\d\d):(\d\d):(\d\d\.\d{6})"
_ANY = re.compile(_STAMP + r" [*<>{} ]")
_REQUEST = re.compile(_STAMP + r" > (?:GET|PUT) \S+\?(\d+) HTTP")
_CONNECTING = re.compile(_STAMP + r" \* +Trying ")
_HALF_A_DAY_S = 43200


@dataclass(frozen=True)
class Order:
    """What one curl is told to carry, and how."""

    items: Sequence[Item]
    url: Callable[[Item], str]
    upload: Callable[[Item], Path] | None
    lanes: int | None
    """The most at once; None: one after another."""
    keep_alive: bool


def start(bench: Bench, order: Order, folder: Path) -> Running:
    """Start a curl at the client. Its list of URLs is a file in `folder`."""
    listed = folder / f"curl-{order.items[0].number}"
    listed.write_text("".join(_listed(order, item) for item in order.items))
    argv = ["curl", "-q", "-g", "-sS", "-v", "--trace-time", "--http1.1", "--noproxy", "*"]
    if order.lanes is not None:
        argv += ["--parallel", "--parallel-immediate", "--parallel-max", str(order.lanes)]
    if not order.keep_alive and len(order.items) > 1:
        argv += ["-H", "Connection: close"]
    if order.upload:
        argv += ["-H", "Expect:"]
    argv += ["-w", "%{json}\\n", "-K", str(listed)]
    return bench.start("client", argv, env={"TZ": "UTC"})


def _listed(order: Order, item: Item) -> str:
    lines = f'url = "{order.url(item)}"\noutput = "/dev/null"\n'
    if order.upload:
        path = str(order.upload(item)).replace("\\", "\\\\").replace('"', '\\"')
        lines += f'upload-file = "{path}"\n'
    return lines


@dataclass(frozen=True)
class Trace:
    """When, on the run's clock, curl began connections and sent requests."""

    connecting_s: list[float]
    request_s: dict[int, float]


def trace(stderr: str, *, started_s: float, monotonic_to_run_s: float, wall_to_run_s: float) -> Trace:
    """Reads what `-v --trace-time` says. The offsets are what to add to a clock's reading, in seconds (of the
    wall clock: of the day, UTC)."""
    first = _ANY.search(stderr)
    if not first:
        return Trace([], {})
    first_s = _of_day(first)
    # The whole seconds of the monotonic clock are unknown, those of the wall clock but for the day.
    monotonic = monotonic_to_run_s + math.ceil(started_s - first_s - monotonic_to_run_s)
    wall = wall_to_run_s + 86400 * round((started_s - first_s - wall_to_run_s) / 86400)
    late_s = {offset: first_s + offset - started_s for offset in (monotonic, wall)}
    offset = wall if 0 <= late_s[wall] < late_s[monotonic] else monotonic

    def run_s(match: re.Match[str]) -> float:
        of_day = _of_day(match)
        return of_day + offset + (86400 if of_day < first_s - _HALF_A_DAY_S else 0)

    return Trace(
        [run_s(match) for match in _CONNECTING.finditer(stderr)],
        {int(match[4]): run_s(match) for match in _REQUEST.finditer(stderr)},
    )


def _of_day(match: re.Match[str]) -> float:
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])


def said(stdout: str) -> dict[int, dict[str, Any]]:
    """What `%{json}` says of each transfer, by its number."""
    found = {}
    for line in stdout.splitlines():
        try:
            each = json.loads(line)
            found[int(str(each["url"]).rpartition("?")[2])] = each
        except (ValueError, KeyError, TypeError):
            continue
    return found


def transfers(order: Order, program: Program, traced: Trace, *, server: str, port: int) -> list[Transfer]:
    """What became of each item that this curl began."""
    told = said(program.stdout)
    found: list[Transfer] = []
    for place, item in enumerate(order.items):
        sent_s = traced.request_s.get(item.number)
        before_s = found[-1].end_s if found and order.lanes is None else None
        if each := told.get(item.number):
            if sent_s is not None:
                start_s = sent_s - each["time_pretransfer"]
            else:
                start_s = before_s if before_s is not None else program.started_s
            found.append(_transfer(item, each, start_s, server, port, upload=bool(order.upload)))
            continue
        if order.lanes is None:
            begun = [at for at in traced.connecting_s if sent_s is None or at <= sent_s]
            begun_s = max([*begun[-1:], *([before_s] if before_s is not None else [])], default=None)
            under_way = sent_s is not None or place == len(told)
        else:
            begun_s, under_way = sent_s, sent_s is not None or place < order.lanes
        if not under_way:
            continue
        cut = program.end is End.CUT
        found.append(
            Transfer(
                item=item,
                server=server,
                size_bytes=item.size_bytes,
                local_port=None,
                remote_port=port,
                start_s=begun_s if begun_s is not None else program.started_s,
                connected_s=None,
                first_byte_s=None,
                end_s=None,
                bytes=0,
                outcome="unfinished" if cut else "failed",
                why=None if cut else program.fault or _not_understood(program),
            )
        )
    return found


def _transfer(
    item: Item,
    each: Mapping[str, Any],
    start_s: float,
    server: str,
    port: int,
    *,
    upload: bool,
) -> Transfer:
    why = _why(each, upload=upload)
    outcome: FlowOutcome = "failed" if why else "finished"
    answered = each["time_starttransfer"] > 0
    return Transfer(
        item=item,
        server=server,
        size_bytes=item.size_bytes,
        local_port=each["local_port"] or None,
        remote_port=port,
        start_s=start_s,
        connected_s=start_s + each["time_connect"] if each["num_connects"] and each["time_connect"] else None,
        first_byte_s=start_s + each["time_starttransfer"] if answered and not upload else None,
        end_s=start_s + each["time_total"] if not why else None,
        bytes=each["size_upload" if upload else "size_download"],
        outcome=outcome,
        why=why,
        header_bytes=each["size_header"],
    )


def _why(each: Mapping[str, Any], *, upload: bool) -> str | None:
    if each["exitcode"]:
        return f"curl ended with status {each['exitcode']}: {each['errormsg']}"
    if each["response_code"] != (204 if upload else 200):
        return f"nginx answered {each['response_code']}"
    return None


def _not_understood(program: Program) -> str:
    return f"could not parse curl's output: {program.stdout.strip()[:500]!r}"
