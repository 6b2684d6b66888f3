"""Prints the tables of docs/labs/satellite-*.md and docs/accuracy.md's satellite rows from folders of runs.

    python benches/island baselines DIR ...             a row per cell: ours over the seeds, the published
    python benches/island engines DIR ... --sim DIR     both engines, pairs of the same cell and seed
    python benches/island grid DIR ...                  a sweep over two axes, four figures each

Several folders count as one sweep: `live` cells that ran beside each other have one each. Runs that failed or
are unreliable are counted, named, and in no figure.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from bentpipe.analysis.cells import counts
from bentpipe.analysis.published import figures_for
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits

Record = Mapping[str, Any]
Figure = Callable[[Record], float | None]

CLIENTS, DOWNLOAD = "clients", "download"


def of_work(work: str, *keys: str) -> Figure:
    def value(record: Record) -> float | None:
        found: Any = record["workloads"].get(work)
        for key in keys:
            found = None if found is None else found.get(key)
        return None if found is None else float(found)

    return value


def of_pipe(key: str, scale: float = 1.0) -> Figure:
    return lambda record: record["pipes"]["down"][key] * scale


def queue_ms(record: Record) -> float | None:
    mean_s = record["queue"]["down"]["delay_s_mean"]
    return None if mean_s is None else mean_s * 1e3


def given_s(record: Record) -> float:
    """How long the download could have taken: from its start to the run's end."""
    asked = next(work for work in record["spec"]["workloads"] if work["name"] == DOWNLOAD)
    return float(record["spec"]["duration_ns"] - asked["start_ns"]) / 1e9


def carried_if_not_done(record: Record) -> float | None:
    return None if completion_s(record) is not None else record["workloads"][DOWNLOAD]["bytes"] / 1e6


completion_s = of_work(DOWNLOAD, "completion_s")
throughput = of_pipe("throughput_mbit_s")
goodput = of_pipe("goodput_mbit_s")
small_p50_s = of_work(CLIENTS, "small_flows", "p50_s")
small_p95_s = of_work(CLIENTS, "small_flows", "p95_s")


def values(runs: Sequence[Record], figure: Figure) -> list[float]:
    return [value for value in map(figure, runs) if value is not None]


def span(found: Sequence[float]) -> str:
    """Mean and range."""
    if len(found) < 2:
        return digits(found[0]) if found else ""
    return f"{digits(fmean(found))} ({digits(min(found))} - {digits(max(found))})"


def download(runs: Sequence[Record]) -> str:
    """Median and range of the times; what was not done by the run's end is longer than that."""
    times = sorted((completion_s(run) or given_s(run), completion_s(run) is None) for run in runs)

    def shown(time: tuple[float, bool]) -> str:
        return f"> {digits(time[0])}" if time[1] else digits(time[0])

    middle = times[(len(times) - 1) // 2 : len(times) // 2 + 1]
    centre = (fmean(time for time, _ in middle), any(late for _, late in middle))
    if len(times) == 1:
        return shown(times[0])
    return f"{shown(centre)} ({shown(times[0])} - {shown(times[-1])})"


def cells(runs: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for run in sorted(runs, key=lambda run: int(run["seed"])):
        found.setdefault(", ".join(map(str, run["point"].values())), []).append(run)
    return found


def published(run: Record, kind: str, subject: str, measure: str) -> float | None:
    figures = figures_for(run, kind, subject)
    return next((figure.median for figure in figures if figure.measure == measure), None)


def baselines(runs: Sequence[Record]) -> None:
    head = ("cell", "runs", "throughput, Mbit/s", "published", "goodput, Mbit/s", "published")
    row(*head, "download, s", "published", "small flows p50, p95, s")
    row(*["---"] * 9)
    for name, of_cell in cells(runs).items():
        first = of_cell[0]
        theirs = [
            published(first, "pipe", "down", "throughput"),
            published(first, "pipe", "down", "goodput"),
            published(first, "bulk", DOWNLOAD, "completion"),
        ]
        shown = ["" if value is None else digits(value) for value in theirs]
        small = [digits(fmean(found)) for f in (small_p50_s, small_p95_s) if (found := values(of_cell, f))]
        ours = [span(values(of_cell, throughput)), span(values(of_cell, goodput)), download(of_cell)]
        both = [each for pair in zip(ours, shown, strict=True) for each in pair]
        row(name, str(len(of_cell)), *both, ", ".join(small))


COMPARED: Mapping[str, Figure] = {
    "throughput, Mbit/s": throughput,
    "mean queue, kB": of_pipe("queue_bytes_mean", 1e-3),
    "small flows p50, s": small_p50_s,
    "p95, s": small_p95_s,
    "40 MB, s": completion_s,
    "carried of it if not done, MB": carried_if_not_done,
}


def engines(live: Sequence[Record], sim: Sequence[Record]) -> None:
    """Means over the pairs, and how far pairs are apart."""
    ours = {(str(run["point"]), run["seed"]): run for run in sim}
    differences: dict[str, list[float]] = {}
    row("cell", "pairs", *(f"{name}: `live`, `sim`" for name in COMPARED), "largest difference of a pair")
    row(*["---"] * (len(COMPARED) + 3))
    for name, of_cell in cells(live).items():
        pairs = [(run, ours[key]) for run in of_cell if (key := (str(run["point"]), run["seed"])) in ours]
        shown, worst = [], (0.0, "")
        for what, figure in COMPARED.items():
            both = [(a, b) for x, y in pairs if (a := figure(x)) is not None and (b := figure(y)) is not None]
            means = [digits(fmean(side), 4) for side in zip(*both, strict=True)]
            few = f" ({len(both)} of {len(pairs)})" if 0 < len(both) < len(pairs) else ""
            shown.append(", ".join(means) + few)
            apart = [abs(b / a - 1) for a, b in both if a]
            differences.setdefault(what, []).extend(apart)
            worst = max([worst, *((each, what) for each in apart)])
        row(name, str(len(pairs)), *shown, f"{digits(100 * worst[0], 2)} %, {worst[1].partition(',')[0]}")
    print("\nOf the pairs, in percent:")
    for what, each in differences.items():
        apart = f"median difference {digits(100 * median(each), 2)}, largest {digits(100 * max(each), 2)}"
        print(f"{what}: {apart}, {len(each)} pairs")
    late = [run["engine_error"]["lateness_us_p99"] for run in live]
    cpu_s = [run["engine_error"]["cpu_s"] for run in live]
    print(f"Lateness p99 {min(late)} to {max(late)} us.")
    print(f"CPU time of the datapath: {min(cpu_s):.0f} to {max(cpu_s):.0f} s a run.")


def grid(runs: Sequence[Record]) -> None:
    """Medians over the seeds, as the heat map's."""
    keys = list(runs[0]["point"])
    axes = {key: list(dict.fromkeys(str(run["point"][key]) for run in runs)) for key in keys}
    if len(axes) != 2:
        sys.exit("grid wants a sweep over two axes")
    across, down = sorted(keys, key=lambda key: len(axes[key]))
    if len(axes[across]) == len(axes[down]):
        across, down = keys[1], keys[0]
    figures = ("download s", "small p95 s", "queue ms", "Mbit/s")
    row("", *(f"{value}: {figure}" for value in axes[across] for figure in figures))
    row(*["---"] * (1 + 4 * len(axes[across])))
    for value in axes[down]:
        shown = []
        for other in axes[across]:
            here = [r for r in runs if str(r["point"][down]) == value and str(r["point"][across]) == other]
            shown.append(download(here).partition(" (")[0])
            rest = (small_p95_s, queue_ms, throughput)
            shown += [digits(median(values(here, figure))) for figure in rest]
        row(value, *shown)


def row(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |")


def that_count(folders: Sequence[str]) -> list[Record]:
    every: list[Record] = [run for folder in folders for run in Results.open(folder).records]
    for run in every:
        if not counts(run):
            print(f"left out: {run['folder']}: {' '.join(run['why'])}", file=sys.stderr)
    used = [run for run in every if counts(run)]
    print(f"{len(used)} of {len(every)} runs count", file=sys.stderr)
    return used


def main() -> int:
    parser = argparse.ArgumentParser(prog="python benches/island")
    parser.add_argument("table", choices=("baselines", "engines", "grid"))
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--sim", nargs="+", metavar="DIR", help="of `engines`: the other engine's runs")
    asked = parser.parse_args()
    runs = that_count(asked.folders)
    if asked.table == "engines":
        if not asked.sim:
            parser.error("engines wants --sim DIR")
        engines(runs, that_count(asked.sim))
    else:
        {"baselines": baselines, "grid": grid}[asked.table](runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
