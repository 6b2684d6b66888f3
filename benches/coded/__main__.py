"""Prints the tables of the labs' pages on coded, titrated and split links from folders of runs.

    python benches/coded lossy DIR ...         docs/labs/lossy-satellite.md, by loss
    python benches/coded island DIR ...        docs/labs/satellite-coded.md, by queue and channels
    python benches/coded redundancy DIR ...    docs/labs/satellite-redundancy.md, by redundancy

Several folders count as one sweep. Ratios and differences are of pairs of the same point and seed, with the
intervals of `bentpipe compare`. Runs that failed or are unreliable are named, and are in no figure.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from statistics import fmean, median
from typing import Any

from bentpipe.analysis.cells import counts
from bentpipe.analysis.intervals import ratio_of
from bentpipe.analysis.means import differences, log_ratios
from bentpipe.analysis.speed_up import PLAIN
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits

Record = Mapping[str, Any]
Figure = Callable[[Record], float | None]


def of(*keys: str, scale: float = 1.0) -> Figure:
    """A figure of the record by its keys. None where it is not there."""

    def value(run: Record) -> float | None:
        found: Any = run
        for key in keys:
            found = None if found is None else found.get(key)
        return None if found is None else float(found) * scale

    return value


total = of("pipes", "down", "goodput_mbit_s")
queue_ms = of("queue", "down", "delay_s_mean", scale=1e3)
sent = of("tunnel", "down", "redundancy_sent", scale=100)
useless = of("tunnel", "down", "redundancy_useless", scale=100)
for_good = of("tunnel", "down", "residual_loss", scale=100)
small_p50, small_p95 = (of("workloads", "clients", "small_flows", key) for key in ("p50_s", "p95_s"))


def goodput(work: str) -> Figure:
    return of("workloads", work, "goodput_mbit_s")


def values(runs: Sequence[Record], figure: Figure) -> list[float]:
    return [value for run in runs if (value := figure(run)) is not None and isfinite(value)]


def middle(runs: Sequence[Record], figure: Figure, count: int = 3) -> str:
    found = values(runs, figure)
    return digits(median(found), count) if found else ""


def span(runs: Sequence[Record], figure: Figure) -> str:
    """The median and the range."""
    found = values(runs, figure)
    if len(found) < 2:
        return digits(found[0]) if found else ""
    return f"{digits(median(found))} ({digits(min(found))} – {digits(max(found))})"


def paired(
    ours: Sequence[Record], theirs: Sequence[Record], figure: Figure
) -> dict[int, tuple[float, float]]:
    before = {run["seed"]: figure(run) for run in theirs}
    both = {run["seed"]: (before.get(run["seed"]), figure(run)) for run in ours}
    return {seed: (a, b) for seed, (a, b) in both.items() if a is not None and b is not None}


def times(ours: Sequence[Record], theirs: Sequence[Record], figure: Figure) -> str:
    """How many times theirs ours is, with its interval."""
    found = log_ratios({0: paired(ours, theirs, figure)})
    if found is None:
        return ""
    ratio = digits(ratio_of(found.value), 2)
    if found.interval is None:
        return ratio
    low, high = digits(found.interval.exp().low, 2), digits(found.interval.exp().high, 2)
    return ratio if low == high else f"{ratio} ({low} – {high})"


def more(ours: Sequence[Record], theirs: Sequence[Record], figure: Figure) -> str:
    """Ours less theirs, with its interval."""
    found = differences({0: paired(ours, theirs, figure)})
    if found is None:
        return ""
    signed = f"{'+' if found.value > 0 else ''}{digits(found.value, 2)}"
    if found.interval is None:
        return signed
    return f"{signed} ({digits(found.interval.low, 2)} – {digits(found.interval.high, 2)})"


def row(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |")


def head(*columns: str) -> None:
    row(*columns)
    row("---", *["---:"] * (len(columns) - 1))


Cells = Mapping[tuple[str, ...], Mapping[str, list[Record]]]
"""By point, by variant."""


def by_cell(runs: Sequence[Record]) -> Cells:
    found: dict[tuple[str, ...], dict[str, list[Record]]] = {}
    for run in sorted(runs, key=lambda run: int(run["seed"])):
        point = tuple(str(value) for value in run["point"].values())
        found.setdefault(point, {}).setdefault(str(run["variant"]), []).append(run)
    return found


def lossy(runs: Sequence[Record]) -> None:
    """By congestion control: the time by loss with the range, and how many times as fast."""
    seconds, again = of("workloads", "download", "completion_s"), of("workloads", "download", "retransmits")
    found = by_cell(runs)
    losses = list(dict.fromkeys(loss for loss, _ in found))
    for control in dict.fromkeys(control for _, control in found):
        here = {loss: found[loss, control] for loss in losses}
        names = list(dict.fromkeys(name for variants in here.values() for name in variants))
        print(f"\n**{control}: seconds; times as fast**\n")
        head("", *losses)
        for name in names:
            shown = []
            for variants in here.values():
                ours, plain = variants.get(name, []), variants.get(PLAIN, [])
                faster = "" if name == PLAIN else times(plain, ours, seconds)
                shown.append("; ".join(value for value in (span(ours, seconds), faster) if value))
            row(name, *shown)
        print(
            f"\n**{control}: repairs, %; lost for good, %; segments sent again; mean queueing delay, ms**\n"
        )
        head("", *losses)
        for name in names:
            shown = []
            for variants in here.values():
                ours = variants.get(name, [])
                figures = (middle(ours, figure, 2) for figure in (sent, for_good, again, queue_ms))
                shown.append("; ".join(value for value in figures if value))
            row(name, *shown)


def island(runs: Sequence[Record]) -> None:
    found = by_cell(runs)
    names = list(dict.fromkeys(variant for variants in found.values() for variant in variants))
    others = [name for name in names if name != PLAIN]
    large = goodput("large")
    tables: list[tuple[str, Callable[[Sequence[Record], Sequence[Record]], str], Figure]] = [
        ("Goodput of the link, Mbit/s; for variants the difference", more, total),
        ("Goodput of the large flow, Mbit/s; for variants the ratio", times, large),
        ("Median time of small flows, s; for variants the ratio", times, small_p50),
        ("p95 of small flows, s; for variants the ratio", times, small_p95),
    ]
    for title, compared, figure in tables:
        print(f"\n**{title}**\n")
        head("queue, channels", PLAIN, *others)
        for point, variants in found.items():
            plain = variants.get(PLAIN, [])
            rest = (compared(variants.get(name, []), plain, figure) for name in others)
            if values(plain, figure):
                row(", ".join(point), digits(fmean(values(plain, figure))), *rest)
    print("\n**Titrated instead of coded, 10 %: goodput of the link, Mbit/s; of the large flow, times**\n")
    head("queue, channels", "link", "large flow")
    for point, variants in found.items():
        ours, theirs = variants.get("titrated 10 %", []), variants.get("coded 10 %", [])
        if ours and theirs:
            row(", ".join(point), more(ours, theirs, total), times(ours, theirs, large))
    print("\n**Repairs sent, %; useless, %; lost for good, %; mean queueing delay, ms**\n")
    head("queue, channels", *names)
    for point, variants in found.items():
        shown = []
        for name in names:
            here = variants.get(name, [])
            tunnel = (middle(here, figure, 2) for figure in (sent, useless, for_good))
            shown.append("; ".join(value for value in (*tunnel, middle(here, queue_ms, 2)) if value))
        row(", ".join(point), *shown)


def redundancy(runs: Sequence[Record]) -> None:
    """By redundancy, the download's goodput, and the times of the small flows beside it."""
    key = "tunnel.redundancy"
    found: dict[tuple[str, ...], dict[float, list[Record]]] = {}
    for run in runs:
        point = tuple(str(value) for name, value in run["point"].items() if name != key)
        found.setdefault(point, {}).setdefault(float(run["point"][key]), []).append(run)
    ratios = sorted({ratio for cell in found.values() for ratio in cell})
    percent = [f"{digits(100 * ratio)} %" for ratio in ratios]
    for title, figure in (
        ("Goodput of the download, Mbit/s", goodput("download")),
        ("p95 of small flows, s", small_p95),
    ):
        print(f"\n**{title}**\n")
        head("", *percent)
        for point, cell in found.items():
            if any(values(here, figure) for here in cell.values()):
                row(", ".join(point), *(span(cell.get(ratio, []), figure) for ratio in ratios))
    print()
    head("", "best", "from which on at least 90 % of it", "median, Mbit/s")
    for point, cell in found.items():
        medians = {ratio: median(values(here, goodput("download"))) for ratio, here in sorted(cell.items())}
        best = max(medians, key=lambda ratio: medians[ratio])
        enough = next(ratio for ratio in medians if medians[ratio] >= 0.9 * medians[best])
        row(", ".join(point), *(f"{digits(100 * each)} %" for each in (best, enough)), digits(medians[best]))


def that_count(folders: Sequence[str]) -> list[Record]:
    every: list[Record] = [run for folder in folders for run in Results.open(folder).records]
    used = [run for run in every if counts(run)]
    for run in every:
        if not counts(run):
            print(f"left out: {run['folder']}: {' '.join(run['why'])}", file=sys.stderr)
    print(f"{len(used)} of {len(every)} runs count", file=sys.stderr)
    return used


def main() -> int:
    parser = argparse.ArgumentParser(prog="python benches/coded")
    tables = {"lossy": lossy, "island": island, "redundancy": redundancy}
    parser.add_argument("table", choices=tables)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    asked = parser.parse_args()
    tables[asked.table](that_count(asked.folders))
    return 0


if __name__ == "__main__":
    sys.exit(main())
