"""What the terminal's table and the page's say of a cell, in the same words."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.charts.wording import digits
from bentpipe.results.cells import Cell, counts
from bentpipe.results.statistics import Estimate


def headers(found: Sequence[Cell], keys: Sequence[str]) -> dict[str, str]:
    """Column to header, in order; the unit is on a line of its own."""
    titles = short_names(keys)
    if len({c.workload for c in found}) > 1 or not keys:
        titles |= {"workload": "workload"}
    titles |= {"ours": "ours\nMbit/s"}
    if any(c.goodput_mbit_s and c.goodput_mbit_s.count > 1 for c in found):
        titles |= {"interval": "interval\nMbit/s"}
    if any(c.published for c in found):
        titles |= {"published": "published\nMbit/s", "ratio": "ratio"}
    titles |= {"retransmits": "retr.\nsegm."}
    if any(c.ping_ms for c in found):
        titles |= {"ping": "ping\nms"}
    return titles | {"reliable": "reliable"}


def row(cell: Cell, titles: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    values = {key: value(cell.point.get(key, "")) for key in keys} | {
        "workload": cell.workload,
        "ours": goodput(cell),
        "interval": interval(cell.goodput_mbit_s),
        "published": digits(cell.published.goodput_mbit_s) if cell.published else "–",
        "ratio": digits(cell.ratio) if cell.ratio is not None else "–",
        "retransmits": median(cell.retransmits),
        "ping": "–" if cell.ping_ms is None else digits(cell.ping_ms.median, 4),
        "reliable": mark(cell),
    }
    return [values[column] for column in titles]


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """A dotted key's last word, or the whole key where two would be the same."""
    last = [key.rpartition(".")[2] for key in keys]
    return {key: word if last.count(word) == 1 else key for key, word in zip(keys, last, strict=True)}


def value(of: Any) -> str:
    """A swept value as the lab has it."""
    return of if isinstance(of, str) else str(of)


def goodput(cell: Cell) -> str:
    """Ours in Mbit/s; in brackets where all of the cell's runs are left out."""
    if cell.goodput_mbit_s is None and cell.doubtful_mbit_s is not None:
        return f"({digits(cell.doubtful_mbit_s.median)})"
    return median(cell.goodput_mbit_s)


def median(of: Estimate | None) -> str:
    return "–" if of is None else digits(of.median)


def interval(of: Estimate | None) -> str:
    return "" if of is None or of.count < 2 else f"{digits(of.low)}–{digits(of.high)}"


def coverage(cells: Sequence[Cell]) -> str:
    """How to read the intervals; empty where there is none."""
    several = [c.goodput_mbit_s for c in cells if c.goodput_mbit_s and c.goodput_mbit_s.count > 1]
    if not several:
        return ""
    least = min(several, key=lambda e: e.coverage)
    return (
        f"Ours is the median of {least.count} or more runs; the interval holds the true median with "
        f"{digits(least.coverage * 100, 2)} % or more."
    )


def mark(cell: Cell) -> str:
    """yes, no, or how many of the runs are reliable."""
    good = len(cell.runs) - len(cell.left_out)
    return "yes" if not cell.left_out else "NO" if not good else f"{good} of {len(cell.runs)}"


def reasons(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """(why, names of the runs) for what failed or is unreliable, in the order of the first of each."""
    grouped: dict[str, list[str]] = {}
    for run in runs:
        if not counts(run):
            why = " ".join(map(_sentence, run.get("why", []))) or "It failed."
            grouped.setdefault(why, []).append(run["run"])
    return list(grouped.items())


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
