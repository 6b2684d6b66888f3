"""Processes that start fresh (`spawn`), with only the data that they are given.

A fork would inherit the data frames' threads as locks that nobody holds. The new processes of multiprocessing
load the program's main module first: a script that calls bentpipe outside `if __name__ == "__main__"` would
run once more in each.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType

_beginning = threading.Lock()


class FreshProcess(SpawnProcess):
    """Begins without the program's main module, and with Ctrl-C kept back (see `ignore_ctrl_c`)."""

    def start(self) -> None:
        with _beginning, _ctrl_c_kept_back(), _no_main_module():
            super().start()


class FreshContext(SpawnContext):
    """What multiprocessing makes pools and pipes with; its processes are these."""

    Process = FreshProcess


def ignore_ctrl_c() -> None:
    """For a process that was begun so. Ctrl-C reaches the whole group; the parent ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _ctrl_c_kept_back() -> Iterator[None]:
    """A process that is begun meanwhile begins with it kept back too: before it can ignore a Ctrl-C it loads
    libraries, and would say where it was. Here the Ctrl-C comes afterwards. Windows has no such mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _no_main_module() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
