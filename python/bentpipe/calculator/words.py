"""The answer as text: a table of limits, which one binds, times, settings, and the simulation's result."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bentpipe.analysis.statistics import Estimate
from bentpipe.calculator import advice, transfer
from bentpipe.calculator.answer import Answer
from bentpipe.calculator.limits import MANY_LOSSES, QUEUE, BeyondFormulas, Limit
from bentpipe.words import wording
from bentpipe.words.digits import digits
from bentpipe.words.plain import Line, Row, Style, table

_NOT_SIMULATED = "not simulated, too many packets or more than a day at that rate"


def render(found: Answer, width: int) -> list[Line]:
    """In lines of that width."""
    head = [*_heading(found), ""]
    if found.beyond_formulas:
        head += [*_packets_alone(found, found.beyond_formulas), ""]
        lines = _buffers(found)
    else:
        lines = [*_binding(found), "", *_times(found), "", *_buffers(found)]
        if found.packet_level:
            lines += ["", *_packets(found)]
    sources = [f"{each.name}: {each.source}." for each in found.limits]
    return [
        *_folded(head[:1], width, "bold"),
        *_folded(head[1:], width),
        *_limits(found, width),
        *_folded(["", *lines, ""], width),
        *_folded(["n: streams.", *sources], width, "dim"),
    ]


def _folded(lines: Sequence[str], width: int, style: Style = "") -> list[Line]:
    return [each for line in lines for each in Line(line, style).folded(width)]


def _heading(found: Answer) -> list[str]:
    asked = found.asked
    streams = wording.plural(asked.streams, "stream")
    loss = f"loss {asked.loss:g}" if asked.loss else "no loss except by a full queue"
    both_ways = f" ({wording.rate(asked.rate_up_bit_s)} for ACKs)" if asked.rate_up_bit_s else ""
    bdp = f"{wording.size(asked.bdp_bytes)}, {digits(asked.bdp_segments)} packets"
    lines = [
        f"{wording.rate(asked.rate_bit_s)}{both_ways}, RTT {wording.duration(asked.rtt_s)}, {loss}; "
        f"{streams}, {asked.congestion_control}",
        f"BDP {bdp} of {asked.mtu_bytes} B: rate x RTT.",
    ]
    if asked.queue_bytes is not None:
        share = digits(asked.queue_bytes / asked.bdp_bytes)
        packets = digits(asked.queue_segments, 3)
        lines.append(f"Queue {wording.size(asked.queue_bytes)}: {share} BDP, {packets} packets.")
    rcvbuf, sndbuf = wording.size(asked.rcvbuf_bytes), wording.size(asked.sndbuf_bytes)
    return [*lines, f"rcvbuf {rcvbuf}, sndbuf {sndbuf} at most for each connection."]


def _limits(found: Answer, width: int) -> list[Line]:
    rows = [Row(("limit", "Mbit/s", "", "formula"), "dim")]
    for each in found.limits:
        binds = each is found.binds and found.formula_holds
        mark = "binds" if binds else found.mark(each) or ("" if each.applies else "not here")
        cells = (each.name, digits(each.goodput_bit_s / 1e6), mark, each.formula)
        rows.append(Row(cells, "bold" if binds else "" if each.applies else "dim"))
    return table(rows, right=(1,), width=width)


def _binding(found: Answer) -> list[str]:
    capacity = found.limits[0]
    next_ = ""
    if found.next and found.headroom:
        next_ = f" The next is {found.next.name}, {digits(found.headroom)} times as much."
    lines = [f"What binds: {found.binds.name}, at {_mbit(found.goodput_bit_s)} of payload.{next_}"]
    if found.binds is not capacity:
        lines.append(
            f"It leaves {wording.percent(1 - found.goodput_bit_s / capacity.goodput_bit_s)} of the link idle."
        )
    lines += _remedy(found, capacity)
    if found.asked.loss > MANY_LOSSES and found.asked.congestion_control in ("reno", "cubic", "hybla"):
        lines.append(
            "With so many losses timeouts dominate. The formulas leave them out: trust the simulation."
        )
    if found.asked.loss and found.asked.congestion_control.startswith("bbr"):
        lines.append("No formula of loss holds for BBR; see the simulation below.")
    return lines


def _remedy(found: Answer, capacity: Limit) -> list[str]:
    """What would lift what binds."""
    one = found.goodput_bit_s / found.asked.streams
    streams = math.ceil(capacity.goodput_bit_s / one)
    if found.binds.is_of_loss:
        return [f"What would help: bbr, which single losses do not slow; or {streams} streams or more."]
    if found.binds.name == QUEUE:
        bdp = wording.size(found.asked.bdp_bytes)
        if found.next and found.next.is_of_loss and found.headroom:
            return [
                "What would help: bbr, which single losses do not slow.",
                f"  A queue of one BDP ({bdp}) alone allows {digits(found.headroom)} times as much: "
                f"then {found.next.name} binds.",
            ]
        return [f"What would help: a queue of one BDP ({bdp}), or bbr."]
    if found.binds is not capacity:
        return [f"What would help: the buffers below; or {streams} streams or more."]
    return []


def _times(found: Answer) -> list[str]:
    lines = [
        f"Slow start: {wording.duration(found.slow_start_s)} until that rate is reached.",
        f"  {transfer.SLOW_START_FORMULA}",
    ]
    if found.binds.name == QUEUE:
        lines = _losses(found)
    if found.average_bit_s is not None and found.asked.time_s is not None:
        lines.append(
            f"The first {wording.duration(found.asked.time_s)}: {_mbit(found.average_bit_s)} of payload, "
            "counted from the first data."
        )
    if found.transfer and found.asked.size_bytes:
        of = found.transfer
        lines += [
            f"{wording.size(found.asked.size_bytes)}: {wording.duration(of.completion_s)}; "
            f"slow start carries {wording.size(of.in_slow_start_bytes)} of it.",
            f"  {transfer.COMPLETION_FORMULA}",
        ]
    return lines


def _losses(found: Answer) -> list[str]:
    """When the queue overflows. Until the second time the long run has not begun."""
    words = [
        f"after {wording.duration(each.after_s)}{' (in slow start)' if each.is_in_slow_start else ''}"
        for each in found.first_losses
    ]
    if not words:
        return ["The queue does not overflow within an hour."]
    return [
        f"The queue overflows {' and then '.join(words)} of sending.",
        "  The rate above holds for the long run after that; --time and --size count from the start.",
    ]


def _buffers(found: Answer) -> list[str]:
    """What to change, where the question's buffers are too small for the path."""
    wanted = advice.buffer_bytes(found.asked)
    lines = [
        f"Buffers to allow: {wording.size(wanted)}, {advice.buffer_bdps(found.asked)} x BDP at both ends.",
        f"  {advice.buffer_source(found.asked)}",
    ]
    changes = advice.changes(found.asked, found.settings)
    if not changes:
        lines.append("  The buffers above are large enough.")
    return lines + [line for each in changes for line in each.lines]


def _packets(found: Answer) -> list[str]:
    level = found.packet_level
    assert level is not None
    said = found.simulated_bit_s or found.goodput_bit_s
    ratio = level.goodput_bit_s.median / said
    runs = f"{wording.plural(level.seeds, 'run')} of {digits(level.simulated_s, 4)} s"
    lines = [
        f"Packet by packet (sim, {runs}): {_spread(level.goodput_bit_s, 1e-6)} Mbit/s, "
        f"{_verdict(found.agrees, ratio)}."
    ]
    if said != found.goodput_bit_s:
        lines.append(
            f"  From second {digits(level.omit_s)} to {digits(level.simulated_s, 4)}; "
            f"the formula says {_mbit(said)} for these."
        )
    if level.average_bit_s and found.average_bit_s and found.asked.time_s:
        ratio = level.average_bit_s.median / found.average_bit_s
        lines.append(
            f"The first {wording.duration(found.asked.time_s)}: {_spread(level.average_bit_s, 1e-6)} Mbit/s, "
            f"{_verdict(found.average_agrees, ratio)}."
        )
    if level.completion_s and found.transfer:
        ratio = level.completion_s.median / found.transfer.completion_s
        lines.append(
            f"The {wording.size(found.asked.size_bytes or 0)}: {_spread(level.completion_s, 1.0)} s, "
            f"{_verdict(found.completion_agrees, ratio)}."
        )
    elif found.transfer:
        size = wording.size(found.asked.size_bytes or 0)
        lines.append(f"The {size}: {_NOT_SIMULATED}.")
    if False in (found.agrees, found.average_agrees, found.completion_agrees):
        lines.append(f"If they differ, trust the simulation{_reason(found)}.")
    return lines


def _packets_alone(found: Answer, beyond: BeyondFormulas) -> list[str]:
    """Where no formula holds: what the simulation says, and why it alone does."""
    level, asked = found.packet_level, found.asked
    reasons = [
        f"No formula holds here: {beyond.why}.",
        "  The rows below leave that out.",
        f"What would help: {beyond.remedy}.",
    ]
    if level is None:
        return [*reasons, "Only a simulation answers, and none was asked for."]
    seconds = f"seconds {digits(level.omit_s)} to {digits(level.simulated_s, 4)}"
    runs = f"{wording.plural(level.seeds, 'run')}, {seconds}"
    lines = [f"Packet by packet (sim, {runs}): {_spread(level.goodput_bit_s, 1e-6)} Mbit/s of payload."]
    if level.average_bit_s and asked.time_s:
        lines.append(
            f"The first {wording.duration(asked.time_s)}: {_spread(level.average_bit_s, 1e-6)} Mbit/s."
        )
    if asked.size_bytes:
        took = f"{_spread(level.completion_s, 1.0)} s" if level.completion_s else _NOT_SIMULATED
        lines.append(f"The {wording.size(asked.size_bytes)}: {took}.")
    return [*lines, *reasons]


def _reason(found: Answer) -> str:
    if found.agrees is not False:
        return ""
    if found.binds.is_of_loss:
        return ": the formula is for losses at equal distances"
    if found.binds.name == "send buffer":
        return ": the formula leaves out when a program's blocks end between two segments"
    return ""


def _verdict(agrees: bool | None, ratio: float) -> str:
    more = "more" if ratio > 1 else "less"
    apart = f"{digits(abs(ratio - 1) * 100, 2)} % {more}"
    return f"agrees ({apart})" if agrees else f"does not agree: {apart}"


def _spread(of: Estimate, factor: float) -> str:
    median = digits(of.median * factor)
    return median if of.count == 1 else f"{median} ({digits(of.low * factor)} to {digits(of.high * factor)})"


def _mbit(bit_s: float) -> str:
    return f"{digits(bit_s / 1e6)} Mbit/s"
