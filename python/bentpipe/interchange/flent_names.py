"""The names of flent's series, and which of them have a place in a run.

Source: the tests and data files of flent 2.3 (flent/tests, unittests/test_data).
1. `TCP download BE`, `BE2`, `BE3` and `TCP upload::1`, `::2` are streams of one transfer; `TCP upload CUBIC`
   and `TCP upload BBR` are two.
2. Averages, sums, totals and fairness are computed from the others, and left aside.
3. `NAME::tcp_cwnd` and the like repeat what the raw values of NAME have.
"""

import re
from dataclasses import dataclass
from typing import Literal

from bentpipe.words.direction import Direction

_COMPUTED = re.compile(r"(^| )(avg|sum|totals|fairness|total|average)$|::tcp_\w+$")
_STREAM = re.compile(
    r"^TCP (?P<way>download|upload)(?: (?P<rest>.*?))??(?:::(?P<nth>\d+)|(?<=[A-Za-z])\d+)?$"
)
_PING = re.compile(r"^Ping \(ms\)(?: (?P<rest>.+))?$")
PAGE = "HTTP latency"


@dataclass(frozen=True)
class Series:
    """`workload` is None for what is computed from others or has no place in a run."""

    kind: Literal["bulk", "ping", "http", "computed", "other"]
    workload: str | None = None
    direction: Direction | None = None


def understood(name: str) -> Series:
    if _COMPUTED.search(name):
        return Series("computed")
    if stream := _STREAM.match(name):
        direction = Direction.DOWN if stream["way"] == "download" else Direction.UP
        return Series("bulk", _joined(stream["way"], stream["rest"]), direction)
    if ping := _PING.match(name):
        return Series("ping", _joined("ping", ping["rest"]))
    return Series("http", "page") if name == PAGE else Series("other")


def _joined(*words: str | None) -> str:
    """A workload's name, which may be a part of a dotted one."""
    return "_".join(re.sub(r"\W+", "_", word).strip("_") for word in words if word) or "series"
