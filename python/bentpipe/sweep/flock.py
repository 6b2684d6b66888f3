"""A lock that the kernel releases when its holder ends for any reason: flock(2). Windows has none."""

import time
from types import ModuleType

_fcntl: ModuleType | None
try:
    import fcntl

    _fcntl = fcntl
except ImportError:
    _fcntl = None

EXISTS = _fcntl is not None
"""Whether this system can lock."""

_POLL_S = 0.05


def locked(descriptor: int, within_s: float) -> bool:
    """Lock an open file or folder. False: another process holds the lock, or the system cannot lock."""
    if _fcntl is None:
        return False
    give_up_s = time.monotonic() + within_s
    while True:
        try:
            _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_s:
                return False
            time.sleep(_POLL_S)
        else:
            return True
