"""The bins of a run's pipes while it runs: read from the file that the engine writes, and kept bounded."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

MOST_BINS = 2000
"""Of each pipe. Beyond it two bins become one, as often as needed."""
BIN_S = 0.1
_PIPES = ("down", "up")
_DROPS = ("drops_tail", "drops_aqm", "drops_policer", "drops_ingress", "drops_line")
_LOST = ("drops_channel", "drops_outage")
COLUMNS = ("throughput_mbit_s", "goodput_mbit_s", "queue_kb", "queue_most_kb", "delay_ms", "dropped", "lost")
_MEANS, _MOST = (0, 1, 2, 4), (3,)
Bin = tuple[str, float, list[float]]
"""The pipe, when the bin began, in seconds, and a figure for each of COLUMNS."""


def bin_of(row: Mapping[str, Any], bin_s: float = BIN_S) -> Bin:
    """From a row of the table `link`, whose cells may be texts."""

    def number(name: str) -> float:
        return float(row[name] or 0)

    per_s = 8e-6 / bin_s
    figures = [
        number("throughput_bytes") * per_s,
        number("goodput_bytes") * per_s,
        number("queue_bytes_mean") / 1e3,
        number("queue_bytes_max") / 1e3,
        number("queue_delay_s_mean") * 1e3,
        sum(map(number, _DROPS)),
        sum(map(number, _LOST)),
    ]
    return str(row["pipe"]), number("time_s"), [round(each, 4) for each in figures]


def of_finished(run: Path) -> list[Bin]:
    """All bins of a finished run."""
    names = ["time_s", "pipe", "throughput_bytes", "goodput_bytes", "queue_bytes_mean", "queue_bytes_max"]
    frame = pl.read_parquet(
        run / "link.parquet", columns=[*names, "queue_delay_s_mean", *_DROPS, *_LOST], glob=False
    )
    return [bin_of(row) for row in frame.iter_rows(named=True)]


class Tail:
    """The lines that are added to a CSV file of the table `link`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = 0
        self._rest = b""
        self._header: list[str] = []

    def more(self, most_bytes: int = 1 << 18) -> list[Bin]:
        """What has come since the last call, at most so much of it. Empty where there is no such file."""
        try:
            with self._file.open("rb") as file:
                file.seek(self._at)
                read = file.read(most_bytes)
        except OSError:
            return []
        self._at += len(read)
        *lines, self._rest = (self._rest + read).split(b"\n")
        rows = list(csv.reader(line.decode(errors="replace") for line in lines))
        if not self._header and rows:
            self._header = rows.pop(0)
        return [bin_of(dict(zip(self._header, row, strict=True))) for row in rows if row]


class Series:
    """A run's bins by pipe. Made coarser as it grows, so that its size is bounded."""

    def __init__(self) -> None:
        self.bin_s = BIN_S
        self._bins: dict[str, dict[int, list[float]]] = {pipe: {} for pipe in _PIPES}

    def add(self, bins: Iterable[Bin]) -> None:
        for pipe, at_s, figures in bins:
            of_pipe = self._bins.setdefault(pipe, {})
            place = round(at_s / BIN_S) if self.bin_s == BIN_S else int((at_s + 1e-6) // self.bin_s)
            of_pipe[place] = _joined(of_pipe[place], figures) if place in of_pipe else figures
            if len(of_pipe) > MOST_BINS:
                self._coarsen()

    def since(self, length: Mapping[str, int]) -> dict[str, Any]:
        """The bins of each pipe after the given number of bins; the last one may have changed."""
        found: dict[str, Any] = {}
        for pipe, bins in self._bins.items():
            after = max(length.get(pipe, 0) - 1, 0)
            places = list(bins)[after:]
            columns = [list(each) for each in zip(*(bins[place] for place in places), strict=True)]
            times = [round(place * self.bin_s, 3) for place in places]
            found[pipe] = {"from": after, "time_s": times, "columns": columns}
        return found

    def lengths(self) -> dict[str, int]:
        return {pipe: len(bins) for pipe, bins in self._bins.items()}

    def _coarsen(self) -> None:
        self.bin_s *= 2
        for pipe, bins in self._bins.items():
            coarser: dict[int, list[float]] = {}
            for place, figures in bins.items():
                joined = place // 2
                coarser[joined] = _joined(coarser[joined], figures) if joined in coarser else figures
            self._bins[pipe] = coarser


def _joined(one: Sequence[float], other: Sequence[float]) -> list[float]:
    both = list(zip(one, other, strict=True))
    return [
        (a + b) / 2 if place in _MEANS else max(a, b) if place in _MOST else a + b
        for place, (a, b) in enumerate(both)
    ]
