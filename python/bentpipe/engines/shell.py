"""`bentpipe shell`: a shell or one command at the client of a live path, in this terminal.

The lab's workloads do not run; its path and hosts are there until the command ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bentpipe.engines.base import EngineError, EngineOptions
from bentpipe.engines.host_process import Exit, HostDiedError, HostProcess
from bentpipe.engines.live import setup
from bentpipe.lab import Point


def run(point: Point, command: Sequence[str]) -> int:
    """Run `command`, or the user's shell; its exit status (128 and the signal's number, as shells do)."""
    try:
        ended = asyncio.run(_run(point, list(command) or [os.environ.get("SHELL") or "/bin/sh"]))
    except HostDiedError as died:
        raise EngineError(str(died), what="host process") from died
    finally:
        _take_terminal_back()
    if ended.error:
        raise EngineError(ended.error, what="command")
    return ended.status if ended.status is not None else 128 + (ended.signal or 0)


async def _run(point: Point, argv: list[str]) -> Exit:
    with tempfile.TemporaryDirectory(prefix="bentpipe-shell-") as folder:
        spool = Path(folder)
        host = await HostProcess.launch(None)
        try:
            await host.ask("setup", "ready", **setup(point, EngineOptions(), spool))
            await host.ask("start", "started", zero_in_ns=0)
            if sys.stdin.isatty():
                rtt_ms = point.spec.base_rtt_ns / 1e6
                near = " Between you and the path is `near`." if point.spec.near else ""
                print(
                    f"You are the client of a path with a round trip of {rtt_ms:g} ms. Its other end is "
                    f"called `server`.{near} The path ends with what you started here.",
                    file=sys.stderr,
                )
            exiting = host.spawn(
                "shell",
                host="client",
                argv=argv,
                env={"BENTPIPE": "client"},
                stdout=None,
                stderr=None,
                stdin=None,
                cwd=str(Path.cwd()),
                tty=True,
            )
            return await exiting
        finally:
            await host.close()


def _take_terminal_back() -> None:
    """The command had the terminal's foreground; whoever has it when we print must be us."""
    if not sys.stdin.isatty():
        return
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
    finally:
        signal.signal(signal.SIGTTOU, before)
