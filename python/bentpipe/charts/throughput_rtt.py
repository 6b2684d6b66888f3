"""Goodput of the bulk transfers against the path's round trip: ours per variant, published, and the ceiling.

The ceiling is the most that may be in flight, over the RTT: by the buffers, of which the kernel advertises
0.62 of the receiver's and fills 0.67 of the sender's with payload in flight; by what the delay line holds;
by the pipe's rate. Both shares were measured on kernel 6.18; they shift with the offloads, so the line is a
guide and not a bound to the percent.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bentpipe.charts.description import Axis, Chart, Dash, Mark, Panel, Role, Series, Symbol
from bentpipe.charts.wording import digits, duration, listed, plural, rate, size
from bentpipe.results.asked import base_rtt_s, capacity_bit_s
from bentpipe.results.cells import Cell, cells
from bentpipe.results.published import figures
from bentpipe.results.store import Results

RECEIVE_SHARE = 0.62
SEND_SHARE = 0.67
_PAYLOAD_BYTES = 1448
"""Of a full segment at an MTU of 1500, with timestamps."""

_DIRECTIONS = {"down": "Down: server to client", "up": "Up: client to server"}
_STYLES = tuple(zip(Symbol, (Dash.SOLID, Dash.DASHED, Dash.DOTTED, Dash.DASH_DOT), strict=False))


def build(results: Results, log: bool) -> Chart | None:
    """None where fewer than two round trips were measured: a single point is no dependence."""
    everything = [c for c in cells(results.runs) if c.rtt_s and (c.goodput_mbit_s or c.doubtful_mbit_s)]
    if len({c.rtt_s for c in everything}) < 2:
        return None
    measured = [c for c in everything if c.goodput_mbit_s]
    doubtful = [c for c in everything if not c.goodput_mbit_s]
    variants = list(dict.fromkeys(c.variant for c in everything))
    directions = [d for d in _DIRECTIONS if any(c.direction == d for c in everything)]
    key = next((run["published"] for run in results.runs if run.get("published")), "")
    panels = tuple(
        Panel(
            name=direction,
            title=_DIRECTIONS[direction],
            sentence=sentence([c for c in measured if c.direction == direction]),
            y=Axis("goodput", "Mbit/s", log),
            series=(
                *_ours([c for c in measured if c.direction == direction], variants),
                *_unreliable([c for c in doubtful if c.direction == direction], variants),
                *_published(key, direction),
                *_ceilings([c for c in everything if c.direction == direction]),
            ),
        )
        for direction in directions
    )
    ticks = tuple(sorted({_rtt(c) * 1000 for c in everything})) if log else None
    return Chart(
        name=f"throughput-rtt-{'log' if log else 'linear'}",
        title="Goodput against round-trip time",
        sentence=finding(measured) + _warning(doubtful),
        x=Axis("base round-trip time", "ms", log, ticks),
        panels=panels,
        side_by_side=True,
    )


def finding(measured: Sequence[Cell]) -> str:
    """The headline: how far goodput falls for the first variant."""
    if not measured:
        return ""
    plain = [c for c in measured if c.variant == measured[0].variant]
    falls = []
    for direction in _DIRECTIONS:
        line = sorted((c for c in plain if c.direction == direction), key=_rtt)
        if len(line) > 1 and _goodput(line[0]) > 0 and _goodput(line[-1]) > 0:
            times = digits(_goodput(line[0]) / _goodput(line[-1]), 2)
            falls.append((line[0], line[-1], times, direction))
    if not falls:
        return ""
    first, last, times, direction = falls[0]
    text = (
        f"From {duration(_rtt(first))} to {duration(_rtt(last))} of round trip, goodput goes from "
        f"{rate(_goodput(first) * 1e6)} to {rate(_goodput(last) * 1e6)} {direction}, {times} times less"
    )
    if len(falls) > 1:
        first, last, times, direction = falls[1]
        fall = f"{rate(_goodput(first) * 1e6)} to {rate(_goodput(last) * 1e6)} {direction}"
        text += f", and from {fall}, {times} times"
    return text + ("; the path's rate is the same." if _same_rate(plain) else ".")


def sentence(line: Sequence[Cell]) -> str:
    """What one direction shows: the range of each variant, and the ratio to the published figures."""
    parts = []
    for variant in dict.fromkeys(c.variant for c in line):
        ordered = sorted((c for c in line if c.variant == variant), key=_rtt)
        first, last = ordered[0], ordered[-1]
        parts.append(
            f"{variant}: {rate(_goodput(first) * 1e6)} at {duration(_rtt(first))}, "
            f"{rate(_goodput(last) * 1e6)} at {duration(_rtt(last))}"
        )
    ratios = [c.ratio for c in line if c.variant == line[0].variant and c.ratio is not None] if line else []
    text = "; ".join(parts) + "." if parts else ""
    if ratios:
        span = f"{digits(min(ratios), 2)} to {digits(max(ratios), 2)}"
        text += f" {line[0].variant} gives {span} times the published goodput."
    return text


def window_bytes(record: Mapping[str, Any], direction: str) -> float | None:
    """The most payload in flight that the buffers and the delay line allow; None where neither is known."""
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    sysctl = record.get("sysctl", {})
    send = _third(sysctl.get(sender, {}).get("net.ipv4.tcp_wmem"))
    receive = _third(sysctl.get(receiver, {}).get("net.ipv4.tcp_rmem"))
    shares = ((SEND_SHARE, send), (RECEIVE_SHARE, receive), (1.0, _held_by_line(record, direction)))
    return min((share * limit for share, limit in shares if limit is not None), default=None)


def _held_by_line(record: Mapping[str, Any], direction: str) -> float | None:
    """Payload in flight over a whole round trip when the delay line is full; None where it has no limit."""
    propagation = record.get("spec", {}).get("path", {}).get(direction, {}).get("propagation", {})
    limit, delay_ns, rtt_s = propagation.get("limit", {}), propagation.get("delay_ns"), base_rtt_s(record)
    held = limit["packets"] * _PAYLOAD_BYTES if limit.get("unit") == "packets" else limit.get("bytes")
    return held * rtt_s * 1e9 / delay_ns if held and delay_ns and rtt_s else None


def _third(text: str | None) -> float | None:
    """`min default max`, as the sysctl has it."""
    words = (text or "").split()
    return float(words[2]) if len(words) == 3 else None


def _ours(line: Sequence[Cell], variants: Sequence[str]) -> Iterable[Series]:
    for number, variant in enumerate(variants):
        ordered = sorted((c for c in line if c.variant == variant), key=_rtt)
        if not ordered:
            continue
        symbol, dash = _STYLES[number % len(_STYLES)]
        estimates = [c.goodput_mbit_s for c in ordered if c.goodput_mbit_s is not None]
        several = any(e.count > 1 for e in estimates)
        yield Series(
            label=variant,
            x=[_rtt(c) * 1000 for c in ordered],
            y=[e.median for e in estimates],
            role=Role(ordered[0].direction),
            mark=Mark.LINE_AND_POINTS,
            dash=dash,
            symbol=symbol,
            low=[e.low for e in estimates] if several else None,
            high=[e.high for e in estimates] if several else None,
        )


def _unreliable(line: Sequence[Cell], variants: Sequence[str]) -> Iterable[Series]:
    """Not joined to the rest; each with its variant's symbol, hollow."""
    for number, variant in enumerate(dict.fromkeys(c.variant for c in line)):
        own = [c for c in line if c.variant == variant]
        yield Series(
            label="unreliable, not counted",
            x=[_rtt(c) * 1000 for c in own],
            y=[c.doubtful_mbit_s.median for c in own if c.doubtful_mbit_s],
            role=Role(own[0].direction),
            mark=Mark.POINTS,
            symbol=_STYLES[variants.index(variant) % len(_STYLES)][0],
            in_legend=number == 0,
            hollow=True,
        )


def _warning(doubtful: Sequence[Cell]) -> str:
    if not doubtful:
        return ""
    verb = "does" if len(doubtful) == 1 else "do"
    return f" {plural(len(doubtful), 'cell')} (hollow) had unreliable runs only and {verb} not count."


def _published(key: str, direction: str) -> Iterable[Series]:
    found = [f for f in figures(key) if f.direction == direction]
    if found:
        yield Series(
            label="published",
            x=[f.rtt_s * 1000 for f in found],
            y=[f.goodput_mbit_s for f in found],
            role=Role.PUBLISHED,
            mark=Mark.POINTS,
            symbol=Symbol.DIAMOND,
        )


def _ceilings(line: Sequence[Cell]) -> Iterable[Series]:
    """One line per window and rate: variants that have the same share it."""
    variants: dict[tuple[float, float], list[str]] = {}
    for cell in line:
        window = window_bytes(cell.runs[0], cell.direction)
        rate_bit_s = capacity_bit_s(cell.runs[0], cell.direction) or math.inf
        if window is not None:
            names = variants.setdefault((float(f"{window:.4g}"), rate_bit_s), [])
            names += [cell.variant] if cell.variant not in names else []
    everyone = {c.variant for c in line}
    rtts = _spaced(min(map(_rtt, line)), max(map(_rtt, line)), 60) if variants else []
    for number, ((window, rate_bit_s), names) in enumerate(variants.items()):
        of = "" if set(names) == everyone else f", {listed(names)}"
        yield Series(
            label=f"{size(window)} / RTT{of}",
            x=[rtt * 1000 for rtt in rtts],
            y=[min(window * 8 / rtt, rate_bit_s) / 1e6 for rtt in rtts],
            role=Role.CEILING,
            dash=_STYLES[number % len(_STYLES)][1],
            sets_range=False,
            faint=True,
        )


def _spaced(low: float, high: float, count: int) -> list[float]:
    step = math.log(high / low) / (count - 1)
    return [low * math.exp(step * i) for i in range(count)]


def _rtt(cell: Cell) -> float:
    return cell.rtt_s or 0.0


def _goodput(cell: Cell) -> float:
    return cell.goodput_mbit_s.median if cell.goodput_mbit_s else 0.0


def _same_rate(line: Sequence[Cell]) -> bool:
    paths = [c.runs[0].get("spec", {}).get("path", {}) for c in line]
    shapers = {repr([path.get(pipe, {}).get("shaper") for pipe in _DIRECTIONS]) for path in paths}
    return len(shapers) == 1 and "None" not in shapers.pop()
