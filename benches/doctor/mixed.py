"""Labs with two limits that are known, each of which binds for a part of the time."""

import math
import random
from collections.abc import Callable

from planted import KINDS, MSS, Path, Planted

_WINDOW_OF_BUFFER = 0.62
_CUBIC = 1.054
_WITH_OUTAGE = ("receiver-window", "send-buffer", "random-loss", "pacing", "tcp-options", "reordering")


def _outage_beside(kind: str) -> Callable[[Path, random.Random], Planted | None]:
    def draw(path: Path, random_: random.Random) -> Planted | None:
        found = KINDS[kind](path, random_)
        if found is None:
            return None
        length_s = random_.uniform(0.2, 0.35) * path.long_s
        outage = [f"{path.long_s * 0.4:.2f} s", f"{length_s:.2f} s"]
        lab = {**found.lab, "path": {**found.lab["path"], "outages": [outage]}}
        without = [found.lab]
        if found.lifted is not None:
            without.append({**found.lifted, "path": {**found.lifted["path"], "outages": [outage]}})
        return Planted(kind, lab, also="outage", most_used=0.8, without_one=tuple(without))

    return draw


def _window_and_loss(path: Path, random_: random.Random) -> Planted | None:
    """A window at which loss leaves cwnd below it for a good part of the time, and not always."""
    window = random_.uniform(0.1, 0.4) * path.bdp / MSS
    if window < 20:
        return None
    share = max(1.5 / window**2, path.rtt_s / (window / _CUBIC) ** (4 / 3)) * random_.uniform(0.5, 1.0)
    if share > 0.02 or share * window / path.rtt_s * path.long_s < 10:
        return None
    lab = path.lab(loss=round(share, 9))
    most = int(window * MSS / _WINDOW_OF_BUFFER)
    client = {"tcp_rmem": [4096, min(131072, most), most]}
    without = (lab, {**path.lab(), "client": client})
    return Planted(
        "receiver-window",
        {**lab, "client": client},
        also="random-loss",
        most_used=0.8,
        without_one=without,
    )


def _slow_start_and_window(path: Path, random_: random.Random) -> Planted | None:
    """A file of some round trips after slow start has filled a window."""
    window = random_.uniform(0.1, 0.4) * path.bdp
    if window < 40 * MSS:
        return None
    rounds = math.log2(window / (10 * MSS))
    size = int(window * random_.uniform(0.5, 2.0) * rounds)
    if path.rtt_s * rounds < 0.5:
        return None
    work = [{"name": "download", "kind": "http", "size": f"{size} B"}]
    without = {**path.lab(), "workload": work, "until": "done"}
    most = int(window / _WINDOW_OF_BUFFER)
    lab = {**without, "client": {"tcp_rmem": [4096, min(131072, most), most]}}
    return Planted("slow-start", lab, also="receiver-window", most_used=0.7, without_one=(without,))


MIXTURES: dict[str, Callable[[Path, random.Random], Planted | None]] = {
    **{f"{kind} + outage": _outage_beside(kind) for kind in _WITH_OUTAGE},
    "receiver-window + random-loss": _window_and_loss,
    "slow-start + receiver-window": _slow_start_and_window,
}
