"""Processes that a test has started, wherever they went."""

import time
from collections.abc import Callable
from pathlib import Path


def marked(mark: str) -> dict[int, bytes]:
    """Processes that a test started, found by their environment, and their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"BENTPIPE_TEST={mark}".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes()
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
