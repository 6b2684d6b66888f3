"""A Ctrl-C ends the command line in time, whatever it is doing.

Python looks at signals between two instructions of its own: a long call into a library, such as millions of
rows being written, would put the end off. Its C handler writes the signal's number to a descriptor at once
(`signal.set_wakeup_fd`); a thread waits there, gives the orderly end its time, and then ends the process.
What a run has started dies with the process: the kernel sees to that (engines/host_process.py).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

INTERRUPTED = 130
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end the process; Windows has no SIGHUP."""

_ORDERLY_S = 1.4
_CLEARING_S = 0.2
_CLEAR_LINE = "\r\x1b[2K\x1b[?25h"
"""Erases the bar's line and shows the cursor."""


def _nothing() -> str:
    return ""


how_to_go_on: Callable[[], str] = _nothing
"""What to say beside "interrupted": what is kept, and how to go on."""


clear_display: Callable[[], None] | None = None
"""Takes a progress bar off the terminal and shows the cursor again."""


unfinished: set[Path] = set()
"""Folders that are removed where the process ends before they are finished."""


def watch() -> None:
    """From here on SIGINT, SIGTERM and SIGHUP end the process within some 1.5 s. For the main thread."""
    if sys.platform == "win32":  # there the descriptor must be a socket's
        import socket  # noqa: PLC0415

        ends = socket.socketpair()
        ends[1].setblocking(False)
        read, writable = ends[0].recv, ends[1].detach()
    else:
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        read = partial(os.read, readable)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(read,), name="interruption", daemon=True).start()


@contextmanager
def put_off() -> Iterator[threading.Event]:
    """Within it the first SIGINT or SIGTERM only sets the event; a second ends the work at once. For the main
    thread."""
    asked = threading.Event()
    wakeup = signal.set_wakeup_fd(-1)

    def hear(_number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)


def said() -> str:
    more = how_to_go_on()
    return f"bentpipe: interrupted: {more}" if more else "bentpipe: interrupted"


def _wait(read: Callable[[int], bytes]) -> None:
    while read(1)[0] not in ENDING:
        pass
    time.sleep(_ORDERLY_S)
    with suppress(Exception):
        for folder in tuple(unfinished):
            import shutil  # noqa: PLC0415 - whoever makes such a folder has loaded it

            shutil.rmtree(folder, ignore_errors=True)
        cleared = _clear()
        _say_last(("" if cleared else _CLEAR_LINE) + f"{said()}\n")
    os._exit(INTERRUPTED)


def _say_last(text: str) -> None:
    """Whatever other threads write to stderr from now on is lost: a bar drawn after the text would stay."""
    terminal = os.dup(sys.stderr.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stderr.fileno())
    os.write(terminal, text.encode(sys.stderr.encoding, sys.stderr.errors or "replace"))


def _clear() -> bool:
    """In a thread of its own: who holds the display's lock may be in a long call. False: it did not end."""
    if not clear_display:
        return True
    clearing = threading.Thread(target=clear_display, daemon=True)
    clearing.start()
    clearing.join(_CLEARING_S)
    return not clearing.is_alive()
