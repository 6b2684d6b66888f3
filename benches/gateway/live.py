"""What the gateways do on real sockets: the tables of `live` in docs/gateway.md, on this machine's kernel.

A row has an asterisk for each run that this machine was too busy for. Such a run does not count where another
seed has one that is reliable.
"""

import os
import platform
from collections.abc import Iterator
from statistics import median

import polars as pl
from labs import DOWNLOAD, GEO, KEYS, OBJECTS, PAGE, ceiling_mbit_s, page_bytes_s

from bentpipe import Lab, Results

LOSSES = (0, 0.001, 0.01, 0.05)
LOADED_LOSSES = (0, 0.01)
GATEWAY = "[gateway]\n"


def tables(seeds: int) -> Iterator[str]:
    yield f"`live`: Linux {platform.release()}, {os.cpu_count()} processors; {seeds} seeds, median and range"
    yield from _downloads(seeds)
    yield from _keystrokes(seeds)
    yield from _pages(seeds)


def _run(text: str, seeds: int) -> Results:
    return Lab.loads(text).run(engine="live", seeds=range(1, seeds + 1))


def _reliable(results: Results) -> tuple[list[int], str]:
    """Positions of the runs that count, and an asterisk for each that the machine was too busy for."""
    every = range(len(results.records))
    good = [each for each in every if results.records[each]["reliable"]]
    return good or list(every), "*" * (len(every) - len(good))


def _spread(values: list[float], digits: int) -> str:
    shown = [f"{each:.{digits}f}" for each in (median(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _downloads(seeds: int) -> Iterator[str]:
    yield "\nA download over 16 Mbit/s and 550 ms, 20 s from 4 s on, 3 s after its first byte"
    yield "| loss | Mbit/s | share of the ceiling, % |"
    yield "|---|---|---|"
    for loss in LOSSES:
        lab = GEO.format(seconds=24, loss=loss) + GATEWAY + DOWNLOAD.format(start="0 s")
        results = _run(lab, seeds)
        count, marks = _reliable(results)
        rates = [results.records[each]["workloads"]["download"]["goodput_mbit_s"] for each in count]
        shares = [100 * each / ceiling_mbit_s(loss) for each in rates]
        yield f"| {100 * loss:g} %{marks} | {_spread(rates, 2)} | {_spread(shares, 1)} |"


def _keystrokes(seeds: int) -> Iterator[str]:
    yield "\nKeystrokes in ms, on the idle path and beside a download"
    yield "| loss | idle p50 | idle p99 | loaded p50 | loaded p99 | loaded, most |"
    yield "|---|---|---|---|---|---|"
    keys = KEYS.replace("count = 200", "count = 100")
    for loss in LOADED_LOSSES:
        path = GEO.format(seconds=30, loss=loss) + GATEWAY
        cells, marks = [], ""
        for beside, shares in (("", (0.5, 0.99)), (DOWNLOAD.format(start="0 s"), (0.5, 0.99, 1))):
            results = _run(path + keys + beside, seeds)
            count, more = _reliable(results)
            marks += more
            names = [results.runs["run"][each] for each in count]
            keys_only = pl.col("run").is_in(names) & (pl.col("workload") == "keys")
            delays = results.pings.filter(keys_only)["rtt_s"].drop_nulls().sort().to_list()
            cells += [
                f"{1000 * delays[min(int(share * len(delays)), len(delays) - 1)]:.0f}" for share in shares
            ]
        yield f"| {100 * loss:g} %{marks} | {' | '.join(cells)} |"


def _pages(seeds: int) -> Iterator[str]:
    bytes_s = page_bytes_s()
    yield f"\nA page of {OBJECTS} objects over as many connections; its bytes alone take {bytes_s:.2f} s"
    yield "| loss | s | round trips beside the bytes |"
    yield "|---|---|---|"
    for loss in LOSSES:
        lab = GEO.format(seconds=15, loss=loss) + GATEWAY + PAGE.format(connections=OBJECTS)
        results = _run(lab.replace("duration", 'until = "done"\nduration'), seeds)
        count, marks = _reliable(results)
        times = [results.records[each]["workloads"]["page"]["completion_s"] or 15.0 for each in count]
        trips = [(each - bytes_s) / 0.55 for each in times]
        yield f"| {100 * loss:g} %{marks} | {_spread(times, 2)} | {_spread(trips, 1)} |"
