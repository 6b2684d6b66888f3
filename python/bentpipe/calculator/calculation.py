"""The answer: every limit, which binds, how long it takes, what to set, and what the packets say to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bentpipe.calculator import advice, packets, transfer
from bentpipe.calculator.limits import (
    ACK_PATH,
    QUEUE,
    BeyondFormulas,
    Limit,
    beyond_formulas,
    binding,
    limits,
    window_bytes,
)
from bentpipe.calculator.packets import PacketLevel, packet_level
from bentpipe.calculator.question import DEFAULT_MTU_BYTES, Question, ask
from bentpipe.calculator.transfer import Loss
from bentpipe.results.statistics import Estimate

_HOUR_S = 3600.0


@dataclass(frozen=True, repr=False)
class Calculation:
    """What `calc` found. Rates are of payload, in bit/s; times in seconds. Its repr says it in words."""

    asked: Question
    limits: list[Limit]
    binds: Limit
    next: Limit | None
    """The limit that would bind if `binds` were lifted; None where no formula holds."""
    slow_start_s: float
    transfer: transfer.Transfer | None
    """None where no size was asked for."""
    average_bit_s: float | None
    """From the start on, over the time asked for; None where none was."""
    first_losses: list[Loss]
    """By a full queue, or by chance; the first two of an hour."""
    simulated_bit_s: float | None
    """What the formulas say of the seconds that were simulated. Before the long run it is not what binds."""
    settings: list[advice.Setting]
    packet_level: PacketLevel | None
    """None where it was not asked for."""
    beyond_formulas: BeyondFormulas | None
    """Where this is not None no formula holds, and the packets alone answer."""

    def __repr__(self) -> str:
        from bentpipe.calculator.words import render  # noqa: PLC0415 - which knows this module
        from bentpipe.console import as_text  # noqa: PLC0415 - `calc --json` does without

        return as_text(render(self))

    @property
    def formula_holds(self) -> bool:
        return self.beyond_formulas is None

    def holds(self, limit: Limit) -> bool:
        """Whether this limit's own formula holds here."""
        return not (limit.name == QUEUE and self._bound_name == QUEUE and self.beyond_formulas)

    def mark(self, limit: Limit) -> str:
        """What stands beside a limit that does not bind; empty for one that applies."""
        if not self.holds(limit):
            return "does not hold"
        return "" if limit.applies else limit.note

    @property
    def goodput_bit_s(self) -> float:
        """The answer: what binds, or what the packets carry where no formula holds and they were asked."""
        if self.packet_level and not self.formula_holds:
            return self.packet_level.goodput_bit_s.median
        return self.binds.goodput_bit_s

    @property
    def headroom(self) -> float | None:
        """How many times the next limit is what binds; None where there is no next."""
        return self.next.goodput_bit_s / self.binds.goodput_bit_s if self.next else None

    @property
    def agrees(self) -> bool | None:
        """Whether the packets carry what the formulas say, within 15 %; None where they were not asked, or
        where no formula holds."""
        if self.packet_level is None or self.simulated_bit_s is None or not self.formula_holds:
            return None
        return packets.agrees(self.simulated_bit_s, self.packet_level.goodput_bit_s)

    @property
    def completion_agrees(self) -> bool | None:
        found = self.packet_level and self.formula_holds and self.packet_level.completion_s
        return packets.agrees(self.transfer.completion_s, found) if self.transfer and found else None

    @property
    def average_agrees(self) -> bool | None:
        found = self.packet_level and self.formula_holds and self.packet_level.average_bit_s
        return packets.agrees(self.average_bit_s, found) if self.average_bit_s and found else None

    def as_json(self) -> dict[str, Any]:
        asked = self.asked
        is_unknown = self.packet_level is None and not self.formula_holds
        return {
            "path": {
                "rate_mbit_s": asked.rate_bit_s / 1e6,
                "rate_up_mbit_s": asked.rate_up_bit_s / 1e6 if asked.rate_up_bit_s else None,
                "rtt_ms": asked.rtt_s * 1e3,
                "loss": asked.loss,
                "streams": asked.streams,
                "congestion_control": asked.congestion_control,
                "rcvbuf_bytes": asked.rcvbuf_bytes,
                "sndbuf_bytes": asked.sndbuf_bytes,
                "size_bytes": asked.size_bytes,
                "time_s": asked.time_s,
                "queue_bytes": asked.queue_bytes,
                "mtu_bytes": asked.mtu_bytes,
                "program": asked.program,
            },
            "bdp_bytes": asked.bdp_bytes,
            "limits": [
                {
                    "name": each.name,
                    "goodput_mbit_s": each.goodput_bit_s / 1e6,
                    "applies": each.applies,
                    "binds": each.name == self._bound_name,
                    "holds": self.holds(each),
                    "note": self.mark(each) or None,
                    "formula": each.formula,
                    "source": each.source,
                }
                for each in self.limits
            ],
            "binds": self._bound_name,
            "goodput_mbit_s": None if is_unknown else self.goodput_bit_s / 1e6,
            "formula_holds": self.formula_holds,
            "why_no_formula_holds": self.beyond_formulas.why if self.beyond_formulas else None,
            "next": {"name": self.next.name if self.next else None, "times": self.headroom},
            "slow_start_s": self.slow_start_s if self.formula_holds else None,
            "completion_s": self._completion_s,
            "average_mbit_s": self._average_bit_s / 1e6 if self._average_bit_s else None,
            "buffer_bytes": advice.buffer_bytes(asked),
            "sysctl": [
                {
                    "name": each.name,
                    "now": list(each.now),
                    "now_is_of": "this machine" if each.here else "Linux 6.18",
                    "wanted": list(each.wanted),
                    "enough_now": each.is_enough,
                    "line": each.line,
                }
                for each in self.settings
            ],
            "sim": self._packets_as_json(),
        }

    @property
    def _bound_name(self) -> str:
        return self.beyond_formulas.limit if self.beyond_formulas else self.binds.name

    @property
    def _completion_s(self) -> float | None:
        """The answer, as `goodput_bit_s`."""
        if self.formula_holds:
            return self.transfer.completion_s if self.transfer else None
        found = self.packet_level and self.packet_level.completion_s
        return found.median if found else None

    @property
    def _average_bit_s(self) -> float | None:
        """The answer, as `goodput_bit_s`."""
        if self.formula_holds:
            return self.average_bit_s
        found = self.packet_level and self.packet_level.average_bit_s
        return found.median if found else None

    def _packets_as_json(self) -> dict[str, Any] | None:
        found = self.packet_level
        if found is None:
            return None
        formula_bit_s = self.simulated_bit_s if self.formula_holds else None
        return {
            "goodput_mbit_s": _as_json(found.goodput_bit_s, 1e-6),
            "ratio": found.goodput_bit_s.median / formula_bit_s if formula_bit_s else None,
            "formula_mbit_s": formula_bit_s / 1e6 if formula_bit_s else None,
            "agrees": self.agrees,
            "completion_s": _as_json(found.completion_s, 1.0) if found.completion_s else None,
            "completion_agrees": self.completion_agrees,
            "average_mbit_s": _as_json(found.average_bit_s, 1e-6) if found.average_bit_s else None,
            "average_agrees": self.average_agrees,
            "seeds": found.seeds,
            "simulated_s": found.simulated_s,
        }


def calc(
    rate: str,
    rtt: str,
    *,
    loss: float | str = 0.0,
    rcvbuf: str | None = None,
    sndbuf: str | None = None,
    streams: int = 1,
    cc: str = "cubic",
    size: str | None = None,
    time: str | None = None,
    queue: str | None = None,
    rate_up: str | None = None,
    mtu: int = DEFAULT_MTU_BYTES,
    program: str = "iperf3",
    sim: bool = True,
) -> Calculation:
    """What one path allows one transfer.

    Args:
        rate: of the link, all IP bytes, with its unit: "20 Mbit/s".
        rtt: base round trip, with its unit: "411 ms".
        loss: probability that a packet is lost, besides what a full queue drops.
        rcvbuf: most that a receive buffer may have (tcp_rmem's third); default Linux 6.18's 32 MiB.
        sndbuf: most that a send buffer may have (tcp_wmem's third); default Linux 6.18's 4 MiB.
        streams: connections at once, each with its own buffers and its own congestion control.
        cc: congestion control: reno, cubic, bbr, bbr3 or hybla.
        size: bytes to carry, for the completion time.
        time: how long to send, for the mean rate from the start on.
        queue: what the bottleneck's queue holds: "100 kB", "250 packets", "60 ms" or "1 bdp".
        rate_up: of the link the other way, which carries the ACKs; default as `rate`.
        mtu: largest IP packet in bytes.
        program: how the sender writes: "iperf3", "long" (sendfile of a web server, or writes of megabytes) or
            "short" (64 KiB each time the socket is writable, with TCP_NODELAY: curl's upload).
        sim: whether to simulate the point too. Where no formula holds (`formula_holds`) that is the answer.

    Raises:
        LabError: for an invalid or impossible value, naming the option.
    """
    asked = ask(
        rate,
        rtt,
        loss=loss,
        rcvbuf=rcvbuf,
        sndbuf=sndbuf,
        streams=streams,
        cc=cc,
        size=size,
        time=time,
        queue=queue,
        rate_up=rate_up,
        mtu=mtu,
        program=program,
    )
    found = limits(asked)
    binds, following = binding(found)
    beyond = beyond_formulas(asked, found)
    acks_drop = beyond is not None and beyond.limit == ACK_PATH
    level = packet_level(asked, binds.goodput_bit_s, acks_drop=acks_drop) if sim else None
    most_bytes = transfer.largest_window_bytes(asked, window_bytes(asked))
    return Calculation(
        asked=asked,
        limits=found,
        binds=binds,
        next=None if beyond else following,
        slow_start_s=transfer.slow_start_s(asked, binds.goodput_bit_s),
        transfer=None if asked.size_bytes is None else transfer.transfer(asked, asked.size_bytes, most_bytes),
        average_bit_s=None
        if asked.time_s is None
        else transfer.average_bit_s(asked, 0.0, asked.time_s, most_bytes),
        first_losses=transfer.first_losses(asked, most_bytes, _HOUR_S) if asked.queue_bytes else [],
        simulated_bit_s=_over(asked, binds, level, most_bytes) if level else None,
        settings=advice.settings(asked),
        packet_level=level,
        beyond_formulas=beyond,
    )


def _over(asked: Question, binds: Limit, level: PacketLevel, most_bytes: float) -> float:
    """What the formulas say of the seconds that were simulated."""
    if binds.name != QUEUE:
        return binds.goodput_bit_s
    # The first data leave with the request, a round trip after the connection was asked for.
    from_s = max(level.omit_s - asked.rtt_s, 0.0)
    return transfer.average_bit_s(asked, from_s, from_s + level.time_s, most_bytes)


def _as_json(of: Estimate, factor: float) -> dict[str, float]:
    return {"median": of.median * factor, "low": of.low * factor, "high": of.high * factor}
