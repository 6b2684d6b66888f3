"""Goodput of the bulk transfers against the path's round trip: ours per variant, published, and the ceiling.

The ceiling is window / RTT, with the window that the buffers allow at most: the kernel lets 0.62 of the
receive buffer be advertised and keeps payload in flight of 0.67 of the send buffer. Both shares were measured
on kernel 6.18; they shift with the offloads, so the line is a guide and not a bound to the percent.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bentpipe.charts.description import Axis, Chart, Dash, Mark, Panel, Role, Series, Symbol
from bentpipe.charts.wording import digits, duration, listed, plural, rate
from bentpipe.results.cells import Cell, cells
from bentpipe.results.published import figures
from bentpipe.results.store import Results

RECEIVE_SHARE = 0.62
SEND_SHARE = 0.67

_DIRECTIONS = {"down": "Down: server to client", "up": "Up: client to server"}
_STYLES = tuple(zip(Symbol, (Dash.SOLID, Dash.DASHED, Dash.DOTTED, Dash.DASH_DOT), strict=False))


def build(results: Results, log: bool) -> Chart | None:
    """None where fewer than two round trips were measured: a single point is no dependence."""
    everything = [c for c in cells(results.runs, include_unreliable=True) if c.rtt_s and c.goodput_mbit_s]
    if len({c.rtt_s for c in everything}) < 2:
        return None
    measured = [c for c in cells(results.runs) if c.rtt_s and c.goodput_mbit_s]
    sound = {_key(c) for c in measured}
    doubtful = [c for c in everything if _key(c) not in sound]
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
                *_unreliable([c for c in doubtful if c.direction == direction]),
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
        text += f" Of the published figures, {line[0].variant} is {span} times."
    return text


def window_bytes(record: Mapping[str, Any], direction: str) -> float | None:
    """The most payload in flight that the buffers' ceilings allow; None where the record does not say."""
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    sysctl = record.get("sysctl", {})
    send = _third(sysctl.get(sender, {}).get("net.ipv4.tcp_wmem"))
    receive = _third(sysctl.get(receiver, {}).get("net.ipv4.tcp_rmem"))
    limits = [
        share * value for share, value in ((SEND_SHARE, send), (RECEIVE_SHARE, receive)) if value is not None
    ]
    return min(limits) if limits else None


def _third(text: str | None) -> float | None:
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


def _unreliable(line: Sequence[Cell]) -> Iterable[Series]:
    if line:
        yield Series(
            label="unreliable, not counted",
            x=[_rtt(c) * 1000 for c in line],
            y=[_goodput(c) for c in line],
            role=Role(line[0].direction),
            mark=Mark.POINTS,
            hollow=True,
        )


def _warning(doubtful: Sequence[Cell]) -> str:
    if not doubtful:
        return ""
    verb = "does" if len(doubtful) == 1 else "do"
    return f" {plural(len(doubtful), 'cell')} (hollow) had unreliable runs only and {verb} not count."


def _key(cell: Cell) -> tuple[str, str, str]:
    return (cell.variant, repr(sorted(cell.point.items())), cell.workload)


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
    """One line per window: variants with the same buffers share it."""
    variants: dict[float, list[str]] = {}
    for cell in line:
        window = window_bytes(cell.runs[0], cell.direction)
        if window is not None and cell.variant not in variants.setdefault(window, []):
            variants[window].append(cell.variant)
    rtts = [_rtt(c) for c in line if _rtt(c) > 0]
    everyone = {c.variant for c in line}
    for number, (window, names) in enumerate(variants.items()):
        grid = _spaced(min(rtts), max(rtts), 60)
        of = "" if set(names) == everyone else f", {listed(names)}"
        yield Series(
            label=f"window / RTT{of}",
            x=[rtt * 1000 for rtt in grid],
            y=[window * 8e-6 / rtt for rtt in grid],
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
