"""The most that a bulk transfer's link, buffers and delay line allow at each round trip, by the formulas of
`bentpipe calc` (calculator/limits.py), with the path and the hosts of a run's record.

1. Streams are taken to share the rate and the line evenly.
2. A delay line holds what it holds over a whole round trip, of which the pipe's delay is a part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.calculator.limits import CAPACITY, RECEIVE_WINDOW, SEND_BUFFER, link_and_buffers
from bentpipe.calculator.question import DEFAULT_MTU_BYTES, HEADER_BYTES, Question
from bentpipe.runs.asked import base_rtt_s, capacity_bit_s, host, pipe, workload_spec
from bentpipe.words.direction import Direction
from bentpipe.words.wording import plural, size

_NO_BUFFER_BYTES = 2**40
"""Where a record does not say how large a buffer may be: so large that it does not limit."""
_NO_RATE_BIT_S = 10**15


@dataclass(frozen=True)
class Ceiling:
    """What bounds a transfer of one run, at any round trip."""

    record: Mapping[str, Any]
    workload: str
    direction: Direction

    @property
    def is_known(self) -> bool:
        return bool(self._sndbuf or self._rcvbuf or self._held_bytes)

    def goodput_bit_s(self, rtt_s: float) -> float:
        return min(self._limits(rtt_s).values())

    def words(self, rtt_s: float) -> str:
        """Which of them is the lowest at this round trip."""
        found = self._limits(rtt_s)
        match min(found, key=lambda name: found[name]):
            case "capacity":
                return "the rate"
            case "receive window":
                return f"the receive buffer, {size(self._rcvbuf or 0)}"
            case "send buffer":
                return f"the send buffer, {size(self._sndbuf or 0)}"
            case line:
                return line

    def _limits(self, rtt_s: float) -> dict[str, float]:
        """Payload of all streams, by what allows no more."""
        limits = link_and_buffers(self.question(rtt_s))
        found = {limit.name: limit.goodput_bit_s for limit in limits}
        assert set(found) == {CAPACITY, RECEIVE_WINDOW, SEND_BUFFER}
        held_bytes = self._held_bytes
        return found | ({self._line: held_bytes * 8 / rtt_s} if held_bytes else {})

    def question(self, rtt_s: float) -> Question:
        """As `bentpipe calc` is asked."""
        spec = workload_spec(self.record, self.workload)
        rate_bit_s = capacity_bit_s(self.record, self.direction)
        control = spec.get("congestion_control") or self._sender.get("congestion_control") or "cubic"
        return Question(
            rate_bit_s=round(rate_bit_s or _NO_RATE_BIT_S),
            rate_up_bit_s=None,
            rtt_s=rtt_s,
            loss=0.0,
            rcvbuf_bytes=self._rcvbuf or _NO_BUFFER_BYTES,
            sndbuf_bytes=self._sndbuf or _NO_BUFFER_BYTES,
            streams=spec.get("streams") or 1,
            congestion_control=str(control),
            size_bytes=None,
            time_s=None,
            queue_bytes=self._queue_bytes(rate_bit_s, rtt_s),
            mtu_bytes=self._mtu_bytes,
        )

    def _queue_bytes(self, rate_bit_s: float | None, rtt_s: float) -> int | None:
        """None where it is not known, or unlimited."""
        limit = pipe(self.record, self.direction).get("queue", {}).get("limit", {})
        unit, held = limit.get("unit"), 0.0
        if unit == "bytes":
            held = limit.get("bytes")
        elif unit == "packets":
            held = (limit.get("packets") or 0) * self._mtu_bytes
        elif unit == "bdp" and rate_bit_s:
            held = (limit.get("multiple") or 0) * rate_bit_s * rtt_s / 8
        elif unit == "delay" and rate_bit_s:
            held = (limit.get("delay_ns") or 0) * rate_bit_s / 8e9
        return int(held or 0) or None

    @property
    def _sender(self) -> Mapping[str, Any]:
        return host(self.record, self.direction.sender)

    @property
    def _mtu_bytes(self) -> int:
        return int(self.record.get("spec", {}).get("path", {}).get("mtu") or DEFAULT_MTU_BYTES)

    @property
    def _sndbuf(self) -> int | None:
        return _third(self.record, self.direction.sender, "net.ipv4.tcp_wmem")

    @property
    def _rcvbuf(self) -> int | None:
        return _third(self.record, self.direction.receiver, "net.ipv4.tcp_rmem")

    @property
    def _held_bytes(self) -> float | None:
        """Payload in flight when the delay line is full; None where it has no limit. The line's part of the
        round trip is the same at every round trip."""
        propagation = pipe(self.record, self.direction).get("propagation", {})
        limit, delay_ns = propagation.get("limit", {}), propagation.get("delay_ns")
        rtt_s = base_rtt_s(self.record)
        held = limit.get("bytes")
        if limit.get("unit") == "packets":
            held = (limit.get("packets") or 0) * (self._mtu_bytes - HEADER_BYTES)
        return held * rtt_s * 1e9 / delay_ns if held and delay_ns and rtt_s else None

    @property
    def _line(self) -> str:
        limit = pipe(self.record, self.direction)["propagation"]["limit"]
        held = plural(limit["packets"], "packet") if limit["unit"] == "packets" else size(limit["bytes"])
        return f"the delay line, {held}"


def _third(record: Mapping[str, Any], at: str, sysctl: str) -> int | None:
    """The largest of `min default max`, as the sysctl has it."""
    words = str(record.get("sysctl", {}).get(at, {}).get(sysctl) or "").split()
    return int(words[2]) if len(words) == 3 and words[2].isdecimal() and int(words[2]) else None
