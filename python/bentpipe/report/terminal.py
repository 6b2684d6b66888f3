"""The table on the terminal: a row per cell, ours beside the published; below it, why a run does not count."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.charts.wording import digits
from bentpipe.report import columns
from bentpipe.results.cells import Cell, cells, swept_keys
from bentpipe.results.store import Results

_WHY_SHOWN = 8


def table(results: Results) -> RenderableType:
    """Columns that would hold nothing are left out, so that it fits 80 columns where it can."""
    title = Text(results.runs[0].get("title") or "", style="bold")
    found = cells(results.runs)
    measured = _by_variant(found, swept_keys(results.runs)) if found else [_by_run(results)]
    note = columns.coverage(found)
    return Group(title, *measured, *([Text(note, style="dim")] if note else []), *_why(results))


def _by_variant(found: Sequence[Cell], keys: Sequence[str]) -> list[RenderableType]:
    """A table for each variant under its name, all with the same widths."""
    variants = list(dict.fromkeys(c.variant for c in found))
    headers = _headers(found, keys)
    rows = {id(cell): _row(cell, headers, keys) for cell in found}
    widths = [max(len(line) for line in header.split("\n")) for header in headers.values()]
    for row in rows.values():
        widths = [max(width, len(value)) for width, value in zip(widths, row, strict=True)]
    parts: list[RenderableType] = []
    for number, variant in enumerate(variants):
        if len(variants) > 1:
            parts.append(Text(f"\n{variant}" if number else variant, style="bold"))
        drawn = _table(gap=1 if "interval" in headers else 2, header=number == 0)
        for header, width in zip(headers.values(), widths, strict=True):
            drawn.add_column(header, justify="right", no_wrap=True, min_width=width)
        for cell in found:
            if cell.variant == variant:
                *figures, mark = rows[id(cell)]
                drawn.add_row(*map(Text, figures), Text(mark, style="bold red" if cell.left_out else ""))
        parts.append(drawn)
    return parts


def _headers(found: Sequence[Cell], keys: Sequence[str]) -> dict[str, str]:
    """Column to header, in order."""
    headers = columns.short_names(keys)
    if len({c.workload for c in found}) > 1 or not keys:
        headers |= {"workload": "workload"}
    headers |= {"ours": "ours\nMbit/s"}
    if any(c.goodput_mbit_s and c.goodput_mbit_s.count > 1 for c in found):
        headers |= {"interval": "interval\nMbit/s"}
    if any(c.published for c in found):
        headers |= {"published": "published\nMbit/s", "ratio": "ratio"}
    headers |= {"retransmits": "retr.\nsegm."}
    if any(c.ping_ms for c in found):
        headers |= {"ping": "ping\nms"}
    return headers | {"reliable": "reliable"}


def _row(cell: Cell, headers: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    values = {key: columns.value(cell.point.get(key, "")) for key in keys} | {
        "workload": cell.workload,
        "ours": columns.goodput(cell),
        "interval": columns.interval(cell.goodput_mbit_s),
        "published": digits(cell.published.goodput_mbit_s) if cell.published else "–",
        "ratio": digits(cell.ratio) if cell.ratio is not None else "–",
        "retransmits": columns.median(cell.retransmits),
        "ping": columns.median(cell.ping_ms),
        "reliable": columns.mark(cell),
    }
    return [values[column] for column in headers]


def _table(gap: int, header: bool = True) -> Table:
    """Without lines: at 80 columns each one would cost a digit."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_header=header)


def _by_run(results: Results) -> Table:
    """For a lab without a bulk transfer: every workload's own figures, run by run."""
    drawn = _table(gap=2)
    drawn.add_column("run")
    drawn.add_column("workload")
    for header in ("sent", "lost", "min\nms", "median\nms", "max\nms"):
        drawn.add_column(header, justify="right", no_wrap=True)
    for run in results.runs:
        for name, figures in run.get("workloads", {}).items():
            values = [figures.get(key) for key in ("sent", "lost", "min_ms", "median_ms", "max_ms")]
            shown = ["–" if value is None else digits(float(value), 4) for value in values]
            drawn.add_row(*map(Text, (run["run"], name, *shown)))
    return drawn


def _why(results: Results) -> list[RenderableType]:
    reasons = columns.reasons(results.runs)
    if not reasons:
        return []
    lines: list[RenderableType] = [Text("")]
    for run, why in reasons[:_WHY_SHOWN]:
        lines.append(Text.assemble(("! ", "bold red"), (f"{run}: ", "bold"), " ".join(why) or "it failed"))
    if len(reasons) > _WHY_SHOWN:
        lines.append(
            Text(f"! and {len(reasons) - _WHY_SHOWN} more; the page of `bentpipe report` has them all")
        )
    lines.append(Text("Runs that failed or are unreliable are not in the figures above.", style="dim"))
    return lines
