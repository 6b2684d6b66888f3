"""The buffers that the path needs, and the changes. A sysctl is never set below this machine's value."""

from __future__ import annotations

import math
from pathlib import Path

from bentpipe.calculator.limits import window_share
from bentpipe.calculator.question import Question
from bentpipe.engines.linux import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.frozen import frozen
from bentpipe.words import wording

_PROC = Path("/proc/sys/net/ipv4")


@frozen
class Setting:
    """A sysctl of three sizes: least, first and largest of a connection's buffer, in bytes."""

    name: str
    now: tuple[int, int, int]
    here: bool
    """Whether `now` is this machine's, or Linux 6.18's default where this machine has no such setting."""
    wanted: tuple[int, int, int]

    @property
    def is_enough(self) -> bool:
        return self.now == self.wanted

    @property
    def line(self) -> str:
        return f"{self.name} = {' '.join(map(str, self.wanted))}"


def buffer_bdps(asked: Question) -> int:
    """The largest buffer that a connection should be allowed, at each end, in BDPs.

    Two leave room beyond a window of one BDP: that takes 1.6 BDP of receive buffer with an MTU of 1500, and
    1.5 to 1.9 of send buffer. More are needed where less of a receive buffer becomes window.
    """
    return max(2, math.ceil(1 / window_share(asked.mtu_bytes)))


def buffer_bytes(asked: Question) -> int:
    """The same in bytes."""
    return math.ceil(buffer_bdps(asked) * asked.bdp_bytes)


def buffer_source(asked: Question) -> str:
    received = 1 / window_share(asked.mtu_bytes)
    return (
        f"a window of one BDP takes {received:.1f} BDP of receive buffer, and 1.5 to 1.9 of send buffer "
        "(Linux 6.18)"
    )


def settings(asked: Question, proc: Path = _PROC) -> list[Setting]:
    """tcp_rmem of the receiver and tcp_wmem of the sender."""
    return [
        _setting("tcp_rmem", DEFAULT_RMEM, buffer_bytes(asked), proc),
        _setting("tcp_wmem", DEFAULT_WMEM, buffer_bytes(asked), proc),
    ]


def _setting(name: str, default: tuple[int, int, int], wanted_bytes: int, proc: Path) -> Setting:
    found = _read(proc / name)
    least, first, most = found or default
    most_wanted = min(max(most, wanted_bytes), 2**31 - 1)
    return Setting(f"net.ipv4.{name}", (least, first, most), found is not None, (least, first, most_wanted))


def _read(path: Path) -> tuple[int, int, int] | None:
    try:
        least, first, most = (int(word) for word in path.read_text().split())
    except (OSError, ValueError):
        return None
    return least, first, most


@frozen
class Change:
    """One buffer of the question that is too small for the path."""

    buffer: str
    now_bytes: int
    wanted_bytes: int
    setting: Setting

    @property
    def lines(self) -> list[str]:
        """What to do, for a connection that the kernel tunes and for one whose application sets the size."""
        option, most = {
            "receive": ("SO_RCVBUF", "net.core.rmem_max"),
            "send": ("SO_SNDBUF", "net.core.wmem_max"),
        }[self.buffer]
        asks_bytes = math.ceil(self.wanted_bytes / 2)
        return [
            f"Raise the {self.buffer} buffer from {wording.size(self.now_bytes)} to at least "
            f"{wording.size(self.wanted_bytes)}.",
            f"  If the kernel tunes the buffer{self._state}:",
            f"    {self.setting.line}",
            f"  If the application sets {option} (the kernel doubles what it sets):",
            f"    {option} = {asks_bytes}",
            f"    {most} = {asks_bytes}",
        ]

    @property
    def _state(self) -> str:
        return " (this machine allows that already)" if self.setting.is_enough and self.setting.here else ""


def changes(asked: Question, found: list[Setting]) -> list[Change]:
    """The buffers that the question has too small."""
    wanted_bytes = buffer_bytes(asked)
    both = zip(("receive", "send"), (asked.rcvbuf_bytes, asked.sndbuf_bytes), found, strict=True)
    return [Change(name, now, wanted_bytes, setting) for name, now, setting in both if now < wanted_bytes]
