"""`bentpipe shell`: a shell or one command at a host of a live path, in this terminal.

The lab's workloads do not run. Its path, hosts and servers at the other end are there until the command ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bentpipe.engines import programs, shell_listeners
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.bench import Bench
from bentpipe.engines.host_process import Exit, HostDiedError, HostProcess
from bentpipe.engines.live import setup
from bentpipe.engines.shell_listeners import Listener
from bentpipe.engines.shell_prompt import Start, interactive
from bentpipe.errors import EngineError
from bentpipe.lab.point import Point
from bentpipe.lab.units import format_rate

Host = Literal["client", "near", "server"]


def run(
    point: Point, command: Sequence[str], *, host: Host = "client", listen: Sequence[Listener] | None = None
) -> int:
    """Run `command`, or the user's shell; its exit status (128 and the signal's number, as shells do).

    `listen`: the servers at the other end; None: all whose programs are installed.
    """
    if host == "near" and not point.spec.has_near:
        raise EngineError("--host near: the lab has no near host; expected client or server", what="near")
    if command:
        programs.refuse_missing({command[0]: "the command to run"})
    listeners = shell_listeners.chosen(listen)
    try:
        ended = asyncio.run(_run(point, command, host, listeners))
    except HostDiedError as died:
        raise EngineError(str(died), what="host process") from died
    finally:
        _take_terminal_back()
    if ended.error:
        raise EngineError(ended.error, what="command")
    return ended.status if ended.status is not None else 128 + (ended.signal or 0)


async def _run(point: Point, command: Sequence[str], at: Host, listeners: Sequence[Listener]) -> Exit:
    with tempfile.TemporaryDirectory(prefix="bentpipe-shell-") as folder:
        raw_folder = Path(folder)
        # A shell may stay open for hours.
        options = EngineOptions(keep_awake=bool(command))
        host = await HostProcess.launch(None)
        try:
            ready = await host.ask("setup", "ready", **setup(point, options, raw_folder))
            started = await host.ask("start", "started", zero_in_ns=0)
            zero_ns = started["zero_monotonic_ns"]
            bench = Bench(
                host, point.spec, raw_folder, seed=point.seed, zero_ns=zero_ns, hosts=ready["hosts"]
            )
            other = "client" if at == "server" else "server"
            uses = await asyncio.gather(*(shell_listeners.start(name, other, bench) for name in listeners))
            start = Start(list(command)) if command else _shell(raw_folder, at, point.lab)
            if sys.stdin.isatty() and not command:
                _say_where(point, at, other, uses)
            exiting = host.spawn(
                "shell",
                host=at,
                argv=start.argv,
                env={"BENTPIPE": at, **start.env},
                stdout=None,
                stderr=None,
                stdin=None,
                cwd=str(Path.cwd()),
                tty=True,
            )
            return await exiting
        finally:
            await host.close()


def _shell(folder: Path, host: Host, lab: str) -> Start:
    shell = os.environ.get("SHELL") or "/bin/sh"
    return interactive(shell, folder, host=host, lab=lab) if sys.stdin.isatty() else Start([shell])


def _say_where(point: Point, at: Host, other: str, uses: Sequence[str]) -> None:
    path = point.spec.path
    rates = [("down", path.rate_down_bit_s), ("up", path.rate_up_bit_s)]
    said = ", ".join(f"{format_rate(round(rate))} {way}" for way, rate in rates if rate)
    near = " Between client and path is `near`." if point.spec.has_near else ""
    lines = [
        f"You are at `{at}` of the lab {point.lab}. The other end is `{other}`.{near}",
        f"The path: round trip {path.base_rtt_ns / 1e6:g} ms, {said or 'no rate limit'}.",
    ]
    if uses:
        lines.append(f"Servers are running at {other}. Try:")
        lines += [f"  {use}" for use in uses]
    lines.append("`exit` ends the shell and the path.")
    print("\n".join(lines), file=sys.stderr, flush=True)


def _take_terminal_back() -> None:
    """Takes the terminal's foreground back from the command, because only its holder may print."""
    if not sys.stdin.isatty():
        return
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
    finally:
        signal.signal(signal.SIGTTOU, before)
