"""Prints the tables of docs/labs/cures.md from a folder of runs of the lab `cures`, of either engine.

    bentpipe run cures --engine sim --repeat 5 --out DIR
    python benches/cures DIR            prints them
    python benches/cures DIR --page     and writes them into the page

Of *as is* it prints the median over the seeds. Of each other variant it prints how many times as fast it is:
the geometric mean over pairs of the same seed with its 95 % interval, as `bentpipe report` and `compare` do.
A figure of an unreliable run, or one that is compared with such a run, stands in [square brackets]. Two more
tables have medians over the seeds, without unreliable runs: what tunnels sent, and the objects of the page.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bentpipe.analysis.cells import Cell, cells, counts
from bentpipe.analysis.speed_up import PLAIN, speed_up
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits

PAGE = Path(__file__).parent.parent.parent / "docs" / "labs" / "cures.md"
PATHS = ("transoceanic", "GEO", "LEO")
TABLES = (
    # What is swept, the workload, the measure of *as is*, its unit.
    ("file", "file", "fetch", "s"),
    ("file by iperf3", "transfer", "goodput", "Mbit/s"),
    ("page", "page", "fetch", "s"),
)
Record = Mapping[str, Any]
Cells = Mapping[tuple[str, str, str, str], Cell]
"""By path, by what is carried, by workload and by variant."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python benches/cures")
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--page", action="store_true", help="write them into docs/labs/cures.md")
    asked = parser.parse_args()
    records = Results.open(asked.folder).records
    found = {
        (str(cell.point["path_kind"]), str(cell.point["what"]), cell.workload, cell.variant): cell
        for cell in cells(records)
    }
    parts = {what: "\n".join(_speed_ups(found, *rest)) for what, *rest in _with_key(TABLES)}
    parts["beside a rival"] = "\n".join(_beside_a_rival(found))
    for what, table in parts.items():
        print(f"{what}\n{table}\n")
        if asked.page:
            _put(what, table)
    counting = [run for run in records if counts(run)]
    print("\n".join(_medians("repairs per packet down, %", counting, _repairs)), end="\n\n")
    print("\n".join(_medians("times of the page's objects, s: median, p95", counting, _objects)))
    return 0


def _repairs(run: Record) -> list[float]:
    tunnel = run.get("tunnel")
    return [100 * tunnel["down"]["redundancy_sent"]] if tunnel else []


def _objects(run: Record) -> list[float]:
    times = run["workloads"].get("page", {}).get("object_times")
    return [times["p50_s"], times["p95_s"]] if times else []


def _medians(
    title: str, runs: Sequence[Record], figures: Callable[[Record], Sequence[float]]
) -> Iterator[str]:
    """By variant and path, over the seeds. A variant without such figures has no row."""
    found: dict[tuple[str, str], dict[str, list[Sequence[float]]]] = {}
    for run in runs:
        if of_run := figures(run):
            row = found.setdefault((str(run["variant"]), str(run["point"]["what"])), {})
            row.setdefault(str(run["point"]["path_kind"]), []).append(of_run)
    if not found:
        return
    yield title
    yield f"| variant | | {' | '.join(PATHS)} |"
    yield "|---" * (2 + len(PATHS)) + "|"
    for (variant, what), row in found.items():
        shown = [
            ", ".join(digits(median(each)) for each in zip(*row.get(path, []), strict=True)) for path in PATHS
        ]
        yield f"| {variant} | {what} | {' | '.join(shown)} |"


def _with_key(tables: tuple[tuple[str, str, str, str], ...]) -> Iterator[tuple[str, str, str, str, str]]:
    return ((what, what, workload, measure, unit) for what, workload, measure, unit in tables)


def _speed_ups(found: Cells, what: str, workload: str, measure: str, unit: str) -> Iterator[str]:
    yield f"| variant | {' | '.join(PATHS)} |"
    yield "|---" * (1 + len(PATHS)) + "|"
    for variant in _variants(found, what, workload):
        here = [found.get((path, what, workload, variant)) for path in PATHS]
        plain = [found.get((path, what, workload, PLAIN)) for path in PATHS]
        if variant == PLAIN:
            shown = [_median(cell, measure, f" {unit}") for cell in here]
        else:
            shown = [_times_as_fast(*pair) for pair in zip(here, plain, strict=True)]
        yield f"| {variant} | {' | '.join(shown)} |"


def _beside_a_rival(found: Cells) -> Iterator[str]:
    what = "beside a rival"
    yield "| variant | path | cured Mbit/s | rival Mbit/s | ping ms | sent again % |"
    yield "|---" * 6 + "|"
    for path in PATHS:
        for variant in _variants(found, what, "cured"):
            cured, rival = (found.get((path, what, work, variant)) for work in ("cured", "rival"))
            if cured and rival:
                again = _median(cured, "sent again", least=2)
                ping_ms = digits(cured.ping_ms.median) if cured.ping_ms else ""
                figures = (_median(cured, "goodput"), _median(rival, "goodput"), ping_ms, again)
                yield f"| {variant} | {path} | {' | '.join(figures)} |"


def _variants(found: Cells, what: str, workload: str) -> list[str]:
    """In the order of the lab."""
    return list(dict.fromkeys(key[3] for key in found if key[1:3] == (what, workload)))


def _median(cell: Cell | None, measure: str, unit: str = "", least: int = 3) -> str:
    if cell is None:
        return ""
    if measure in cell.figures:
        return f"{digits(cell.figures[measure].median, least)}{unit}"
    if measure in cell.doubtful:
        return f"[{digits(cell.doubtful[measure].median, least)}{unit}]"
    return ""


def _times_as_fast(cell: Cell | None, plain: Cell | None) -> str:
    if cell is None or plain is None:
        return ""
    if gain := speed_up(cell, plain):
        ratio = _ratio(gain.ratio)
        ends = (_ratio(gain.interval.low), _ratio(gain.interval.high)) if gain.interval else (ratio, ratio)
        return ratio if ends[0] == ends[1] else f"{ratio} ({ends[0]} – {ends[1]})"
    ours, theirs = cell.ours or cell.ours_doubtful, plain.ours or plain.ours_doubtful
    if ours is None or theirs is None:
        return ""
    ratio = ours.median / theirs.median if cell.measure.more_is_better else theirs.median / ours.median
    return f"[{_ratio(ratio)}]"


def _ratio(of: float) -> str:
    return digits(of, 2 if of < 100 else 3)


def _put(mark: str, table: str) -> None:
    begin, end = f"<!-- benches/cures: {mark} begin -->", f"<!-- benches/cures: {mark} end -->"
    before, found_begin, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        sys.exit(f"{PAGE}: expected the marks {begin} and {end}")
    PAGE.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
