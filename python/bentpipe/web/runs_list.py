"""The runs in a folder of folders, in pages: read in a thread, and only where a folder has changed."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.errors import StoreError
from bentpipe.runs.layout import LAB, RECORD
from bentpipe.runs.store import Results
from bentpipe.words.printable import printable

_DEEPEST = 3
_OLD_S = 2.0
MOST_ROWS = 500
SHOWN = {
    "run": pl.String(),
    "title": pl.String(),
    "lab": pl.String(),
    "engine": pl.String(),
    "variant": pl.String(),
    "seed": pl.Int64(),
    "status": pl.String(),
    "reliable": pl.Boolean(),
    "started": pl.Datetime("us"),
    "wall_s": pl.Float64(),
}
_GOODPUT = "goodput_mbit_s"
SCHEMA = {"id": pl.String(), "folder": pl.String(), **SHOWN, "point": pl.String(), _GOODPUT: pl.Float64()}
_NEWEST = "started"


@dataclass(frozen=True)
class _Read:
    """A folder's runs as they were when it was written last."""

    changed_ns: int
    frame: pl.DataFrame


@dataclass
class RunsList:
    """The runs below a folder."""

    root: Path
    _read: dict[Path, _Read] = field(default_factory=dict)
    _table: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))
    _faults: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _looked_s: float = float("-inf")
    version: int = 0
    """Counts up when there are other runs."""

    @property
    def is_old(self) -> bool:
        return time.monotonic() > self._looked_s + _OLD_S and not self._lock.locked()

    def refresh(self) -> None:
        """Read the folders that have changed. For a thread: it may take seconds of many runs."""
        with self._lock:
            faults: list[str] = []
            read: dict[Path, _Read] = {}
            changed = False
            for folder in _folders(self.root, _DEEPEST):
                try:
                    changed_ns = folder.stat().st_mtime_ns
                    known = self._read.get(folder)
                    if known is None or known.changed_ns != changed_ns:
                        known, changed = _Read(changed_ns, _frame(self.root, folder)), True
                    read[folder] = known
                except (StoreError, OSError, pl.exceptions.PolarsError) as error:
                    faults.append(printable(str(error)))
            if changed or read.keys() != self._read.keys() or faults != self._faults or not self.version:
                frames = [each.frame for each in read.values() if each.frame.height]
                table = pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)
                self._read, self._faults, self._table = read, faults, table
                self.version += 1
            self._looked_s = time.monotonic()

    def page(
        self,
        first: int,
        count: int,
        *,
        sort: str = _NEWEST,
        down: bool = True,
        text: str = "",
        folder: str = "",
    ) -> dict[str, Any]:
        """Rows from the `first` on, of those that have the text."""
        table, version = self._table, self.version
        if folder:
            table = table.filter(pl.col("folder") == folder)
        for word in text.lower().split():
            columns = ("folder", "run", "title", "lab", "engine", "status", "point")
            every = pl.concat_str([pl.col(each) for each in columns], separator=" ", ignore_nulls=True)
            table = table.filter(every.str.to_lowercase().str.contains(word, literal=True))
        if sort in SCHEMA:
            table = table.sort([sort, "id"], descending=[down, False], nulls_last=True)
        rows = table.slice(max(first, 0), min(max(count, 0), MOST_ROWS))
        return {
            "version": version,
            "reading": version == 0,
            "total": table.height,
            "all": self._table.height,
            "first": first,
            "rows": [_shown(row) for row in rows.iter_rows(named=True)],
            "faults": self._faults[:20],
        }

    def folders(self) -> list[dict[str, Any]]:
        """The folders of runs, the newest first."""
        grouped = self._table.group_by("folder").agg(
            pl.len().alias("runs"),
            pl.col("lab").first(),
            pl.col("engine").first(),
            pl.col("started").max(),
            pl.col("variant").n_unique().alias("variants"),
        )
        rows = grouped.sort("started", descending=True, nulls_last=True).iter_rows(named=True)
        return [_shown({"id": row["folder"], **row}) for row in rows]

    def path(self, identity: str) -> Path:
        """Of a run or a folder of runs, by what the list calls it. Raises StoreError for anything else."""
        column = self._table["id"]
        known = (column == identity).any() or (self._table["folder"] == identity).any()
        if not known or Path(identity).is_absolute() or ".." in Path(identity).parts:
            raise StoreError(f"{printable(identity)!r} is no run and no folder of runs in {self.root}")
        return self.root / identity


def _folders(folder: Path, deepest: int) -> Iterator[Path]:
    """The folders of runs in a folder, or itself."""
    if (folder / LAB).is_file() or (folder / RECORD).is_file():
        yield folder
        return
    if not deepest or not folder.is_dir():
        return
    within = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    if any((each / RECORD).is_file() for each in within[:3]):
        yield folder
        return
    for each in within:
        yield from _folders(each, deepest - 1)


def _frame(root: Path, folder: Path) -> pl.DataFrame:
    try:
        results = Results.open(folder)
    except StoreError:
        if any((each / RECORD).is_file() for each in folder.iterdir()):
            raise
        return pl.DataFrame(schema=SCHEMA)  # a sweep of which no run is done
    runs = results.runs
    called = "" if folder == root else str(folder.relative_to(root))
    single = (folder / RECORD).is_file()
    identity = pl.lit(called) if single else pl.format("{}{}", pl.lit(f"{called}/" if called else ""), "run")
    goodputs = [
        name for name in runs.columns if name.startswith("workload.") and name.endswith(f".{_GOODPUT}")
    ]
    shown = [
        (pl.col(name) if name in runs.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in SHOWN.items()
    ]
    goodput = pl.coalesce(goodputs) if goodputs else pl.lit(None)
    return runs.select(
        identity.alias("id"),
        pl.lit(called).alias("folder"),
        *shown,
        _point(runs).alias("point"),
        goodput.cast(pl.Float64()).alias(_GOODPUT),
    )


def _point(runs: pl.DataFrame) -> pl.Expr:
    """What was swept, in words: `rtt 550 ms, queue 100 kB`."""
    keys = [name for name in runs.columns if name.startswith("point.")]
    if not keys:
        return pl.lit("")
    parts = [
        pl.when(pl.col(key).is_not_null()).then(
            pl.format("{} {}", pl.lit(key.rpartition(".")[2]), pl.col(key).cast(pl.String()))
        )
        for key in keys
    ]
    return pl.concat_str(parts, separator=", ", ignore_nulls=True)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """As a page may show it. What it is called by (`id`, `folder`) stays as it is."""
    started = row.get("started")
    return {
        name: printable(value) if isinstance(value, str) and name not in ("id", "folder") else value
        for name, value in row.items()
    } | ({"started": started.isoformat(sep=" ", timespec="seconds")} if started else {"started": None})
