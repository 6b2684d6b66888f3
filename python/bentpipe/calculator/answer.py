"""The answer: every limit, which one binds, times, settings, and the result of the simulation."""

from __future__ import annotations

from typing import Any

from bentpipe.analysis.statistics import Estimate
from bentpipe.calculator import advice, packets, transfer
from bentpipe.calculator.limits import QUEUE, BeyondFormulas, Limit
from bentpipe.calculator.packets import PacketLevel
from bentpipe.calculator.question import Question
from bentpipe.calculator.transfer import Loss
from bentpipe.frozen import frozen


@frozen
class Answer:
    """What `calc` found. Rates are of payload, in bit/s; times in seconds."""

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

    @property
    def formula_holds(self) -> bool:
        return self.beyond_formulas is None

    def holds(self, limit: Limit) -> bool:
        """Whether this limit's own formula holds here."""
        return not (limit.name == QUEUE and self._bound_name == QUEUE and self.beyond_formulas)

    def mark(self, limit: Limit) -> str:
        """The remark beside a limit that does not bind; empty for one that applies."""
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


def _as_json(of: Estimate, factor: float) -> dict[str, float]:
    return {"median": of.median * factor, "low": of.low * factor, "high": of.high * factor}
