"""The comparison as a page: every cell, the worst first."""

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from compare import Comparison

BEGIN, END = "<!-- make validate: begin -->", "<!-- make validate: end -->"


def write(
    found: Sequence[Comparison], reasons: Mapping[str, str], machine: str, cells: int, file: Path
) -> str:
    """Put the page between the marks in `file`; returns the summary's lines."""
    summary = _summary(found, machine, cells)
    text = file.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = "\n\n".join([summary, _table(found, reasons)])
    file.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")
    return summary


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _summary(found: Sequence[Comparison], machine: str, cells: int) -> str:
    lines = [
        f"{len(found)} of {cells} cells, {sum(each.live.runs for each in found)} live runs on {machine}.",
        "",
        "| | goodput error, median | 95th percentile | worst | bias |",
        "|---|---|---|---|---|",
        _row("all", found),
        "| aim | 5 % | 15 % | | |",
    ]
    for control in dict.fromkeys(each.cell.congestion_control for each in found):
        lines.append(_row(control, [each for each in found if each.cell.congestion_control == control]))
    for name, chosen in (
        ("no chance", [each for each in found if not each.cell.by_chance]),
        ("random loss", [each for each in found if each.cell.loss]),
        ("reordering", [each for each in found if each.cell.jitter_ms]),
        ("split or coded", [each for each in found if each.cell.link != "plain"]),
    ):
        if chosen:
            lines.append(_row(name, chosen))
    return "\n".join(lines)


def _row(name: str, found: Sequence[Comparison]) -> str:
    errors = [abs(each.goodput_error) for each in found]
    bias = fmean(each.goodput_error for each in found)
    return (
        f"| {name} ({len(found)}) | {median(errors):.1%} | {percentile(errors, 0.95):.1%} "
        f"| {max(errors):.1%} | {bias:+.1%} |"
    )


def _table(found: Sequence[Comparison], reasons: Mapping[str, str]) -> str:
    lines = [
        "Each cell: live, then sim. ± is the standard deviation of one live run over their mean.",
        "",
        "| cell | Mbit/s | ± | error | retransmits | queue kB | cwnd apart | reason |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in sorted(found, key=lambda each: -abs(each.goodput_error)):
        live, sim = each.live, each.sim
        spread = f"{live.goodput_spread:.1%}" if live.goodput_spread is not None else ""
        why = next(
            (text for pattern, text in reasons.items() if fnmatch.fnmatch(each.cell.name, pattern)), ""
        )
        apart = f"{each.cwnd_distance:.0%}" if each.cwnd_distance is not None else ""
        lines.append(
            f"| {each.cell.name} | {live.goodput_mbit_s:.4g} {sim.goodput_mbit_s:.4g} | {spread} "
            f"| {each.goodput_error:+.1%} | {live.retransmits:.0f} {sim.retransmits:.0f} "
            f"| {live.queue_kb:.3g} {sim.queue_kb:.3g} | {apart} | {why} |"
        )
    return "\n".join(lines)
