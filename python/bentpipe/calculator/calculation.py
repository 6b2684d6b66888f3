"""`calc`: the answer to a question about one path, by formula and packet by packet."""

from __future__ import annotations

from typing import Unpack

from bentpipe.calculator import advice, transfer
from bentpipe.calculator.answer import Answer
from bentpipe.calculator.limits import (
    ACK_PATH,
    QUEUE,
    Limit,
    beyond_formulas,
    binding,
    limits,
    window_bytes,
)
from bentpipe.calculator.packets import PacketLevel, packet_level
from bentpipe.calculator.question import Options, Question, ask
from bentpipe.calculator.words import render
from bentpipe.words.plain import text

_HOUR_S = 3600.0
_WIDTH = 110
"""Of the words, as of everything that a notebook shows as text."""


class Calculation(Answer):
    """What `calc` returns: the answer. Its repr says it in words."""

    def __repr__(self) -> str:
        return text(render(self, _WIDTH))


def calc(rate: str, rtt: str, *, sim: bool = True, **options: Unpack[Options]) -> Calculation:
    """What one path allows one transfer.

    Args:
        rate: of the link, all IP bytes, with its unit: "20 Mbit/s".
        rtt: base round trip, with its unit: "411 ms".
        sim: whether to simulate the point too. Where no formula holds (`formula_holds`) that is the answer.
        options: of path, hosts and transfer:
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
            program: how the sender writes: "iperf3", "long" (sendfile of a web server, or writes of
                megabytes) or "short" (64 KiB each time the socket is writable, with TCP_NODELAY: curl's
                upload).

    Raises:
        LabError: for an invalid or impossible value, naming the option.
    """
    asked = ask(rate, rtt, **options)
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
