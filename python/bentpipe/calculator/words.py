"""The answer as a person reads it: a table of limits, which binds, times, settings, and the packets' word."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.calculator import advice, transfer
from bentpipe.calculator.calculation import Calculation
from bentpipe.calculator.limits import MANY_LOSSES, Limit
from bentpipe.calculator.question import MTU_BYTES
from bentpipe.charts import wording
from bentpipe.charts.wording import digits
from bentpipe.results.statistics import Estimate


def render(found: Calculation) -> RenderableType:
    parts: list[RenderableType] = [_heading(found), "", _limits(found), "", *_binding(found), ""]
    parts += [*_times(found), "", *_settings(found)]
    if found.packet_level:
        parts += ["", *_packets(found)]
    return Group(*parts, "", *(Text(f"{each.name}: {each.source}.", style="dim") for each in found.limits))


def _heading(found: Calculation) -> Text:
    asked = found.asked
    streams = wording.plural(asked.streams, "stream")
    loss = f"loss {asked.loss:g}" if asked.loss else "no loss but by a full queue"
    bdp = f"{wording.size(asked.bdp_bytes)}, {digits(asked.bdp_bytes / MTU_BYTES, 5)} packets"
    return Text.assemble(
        (f"{wording.rate(asked.rate_bit_s)}, RTT {wording.duration(asked.rtt_s)}, {loss}; ", "bold"),
        (f"{streams}, {asked.congestion_control}\n", "bold"),
        f"BDP {bdp} of {MTU_BYTES} B: rate x RTT. rcvbuf {wording.size(asked.rcvbuf_bytes)}, ",
        f"sndbuf {wording.size(asked.sndbuf_bytes)} at most for each connection.",
    )


def _limits(found: Calculation) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    drawn.add_column("limit", no_wrap=True)
    drawn.add_column("Mbit/s", justify="right", no_wrap=True)
    drawn.add_column("", no_wrap=True)
    drawn.add_column("formula", no_wrap=True)
    for each in found.limits:
        mark = "binds" if each is found.binds else "" if each.applies else "not here"
        style = "bold" if each is found.binds else "" if each.applies else "dim"
        drawn.add_row(each.name, digits(each.goodput_bit_s / 1e6), mark, each.formula, style=style)
    return drawn


def _binding(found: Calculation) -> list[str]:
    capacity = found.limits[0]
    lines = [
        f"What binds: {found.binds.name}, at {_mbit(found.goodput_bit_s)} of payload. "
        f"The next is {found.next.name}, {digits(found.headroom)} times as much."
    ]
    if found.binds is not capacity:
        lines.append(
            f"It leaves {wording.percent(1 - found.goodput_bit_s / capacity.goodput_bit_s)} of the link idle."
        )
    lines += _remedy(found, capacity)
    if found.asked.loss > MANY_LOSSES and found.asked.congestion_control in ("reno", "cubic", "hybla"):
        lines.append(
            "With so many losses timeouts, which these formulas leave out, rule; believe the packets."
        )
    if found.asked.loss and found.asked.congestion_control.startswith("bbr"):
        lines.append("No formula of loss holds for BBR; the packets below say what is left.")
    return lines


def _remedy(found: Calculation, capacity: Limit) -> list[str]:
    """What would lift what binds."""
    one = found.goodput_bit_s / found.asked.streams
    streams = math.ceil(capacity.goodput_bit_s / one)
    if found.binds.is_of_loss:
        return [f"What would help: bbr, which single losses do not slow; or {streams} streams or more."]
    if found.binds is not capacity:
        return [f"What would help: the buffers below; or {streams} streams or more."]
    return []


def _times(found: Calculation) -> list[str]:
    lines = [
        f"Slow start: {wording.duration(found.slow_start_s)} until that rate is reached.",
        f"  {transfer.SLOW_START_FORMULA}",
    ]
    if found.transfer and found.asked.size_bytes:
        of = found.transfer
        lines += [
            f"{wording.size(found.asked.size_bytes)}: {wording.duration(of.completion_s)}; "
            f"slow start carries {wording.size(of.in_slow_start_bytes)} of it.",
            f"  {transfer.COMPLETION_FORMULA}",
        ]
    return lines


def _settings(found: Calculation) -> list[str]:
    size = wording.size(advice.buffer_bytes(found.asked))
    lines = [f"Buffers to allow: {size}, {advice.BUFFER_FORMULA}.", f"  {advice.BUFFER_SOURCE}"]
    asked_about = (found.asked.rcvbuf_bytes, found.asked.sndbuf_bytes)
    for each, asked_bytes in zip(found.settings, asked_about, strict=True):
        lines.append(f"  {each.line}    # {_state(each, asked_bytes)}")
    return lines


def _state(setting: advice.Setting, asked_bytes: int) -> str:
    """What the setting is now, beside what the question took it to be."""
    whose = "here" if setting.here else "by Linux 6.18's default"
    if not setting.is_enough:
        return f"{whose} {' '.join(map(str, setting.now))}"
    if asked_bytes < setting.now[2]:
        return f"so {whose}; the question was about {wording.size(asked_bytes)}"
    return f"enough as it is {whose}"


def _packets(found: Calculation) -> list[str]:
    level = found.packet_level
    assert level is not None
    ratio = level.goodput_bit_s.median / found.goodput_bit_s
    runs = f"{wording.plural(level.seeds, 'run')} of {digits(level.simulated_s, 4)} s"
    lines = [
        f"Packet by packet (sim, {runs}): {_spread(level.goodput_bit_s, 1e-6)} Mbit/s, "
        f"{_verdict(found.agrees, ratio)}."
    ]
    if level.completion_s and found.transfer:
        ratio = level.completion_s.median / found.transfer.completion_s
        lines.append(
            f"The {wording.size(found.asked.size_bytes or 0)}: {_spread(level.completion_s, 1.0)} s, "
            f"{_verdict(found.completion_agrees, ratio)}."
        )
    elif found.transfer:
        size = wording.size(found.asked.size_bytes or 0)
        lines.append(f"The {size}: not simulated, too many packets or more than a day at that rate.")
    if found.agrees is False:
        lines.append(f"Where they differ, believe the packets{_reason(found)}.")
    return lines


def _reason(found: Calculation) -> str:
    if found.binds.is_of_loss:
        return ": the formula is for losses at equal distances"
    if found.binds.name == "send buffer":
        return ": their bursts are full, and of a buffer of such 0.80 is payload"
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
