"""Waiting for what another process does, however busy the machine is."""

import time
from collections.abc import Callable

LONG_S = 300
"""How long a test waits before it gives up. A test that passes does not get slower by a long wait."""


def wait_for(condition: Callable[[], bool], seconds: float = LONG_S, every_s: float = 0.01) -> bool:
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every_s)
    return True
