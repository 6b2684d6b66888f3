"""One run in memory: its record, and its tables on request."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bentpipe.runs.folder import RunFolder, write_file
from bentpipe.runs.record import Record
from bentpipe.runs.schema import table_named
from bentpipe.words.digits import digits
from bentpipe.words.printable import printable
from bentpipe.words.written import written


@dataclass(frozen=True, repr=False)
class Run:
    """A run in memory.

    Attributes:
        record: what run.json would hold; `folder` is None.
    """

    record: Record
    _tables: Mapping[str, bytes]
    """As Parquet; a table without rows may be missing."""

    def __repr__(self) -> str:
        record = self.record
        point = [f"{key} = {written(value)}" for key, value in record["point"].items()]
        about = ", ".join([record["variant"], *point, f"seed {record['seed']}"])
        words = [f"Run of {record['lab']}: {about} ({record['engine']}, {record['status']})", *record["why"]]
        for name, figures in record["workloads"].items():
            goodput_mbit_s = figures.get("goodput_mbit_s")
            rate = "" if goodput_mbit_s is None else f", {digits(goodput_mbit_s)} Mbit/s"
            words.append(f"{name} ({figures['kind']}{rate})")
        return "\n  ".join(map(printable, words))

    def table(self, name: str) -> pl.DataFrame:
        """`link`, `flows`, `sockets`, `pings` or `tools` (docs/results.md). Raises StoreError for others."""
        table = table_named(name)
        parquet = self._tables.get(name)
        return table.empty() if parquet is None else pl.read_parquet(io.BytesIO(parquet))

    def save(self, folder: str | Path) -> Path:
        """Write it to `folder`, as `lab.run` would have, and return that. It is there whole or not at all.

        Raises StoreError if something is there already.
        """
        place = Path(folder)
        staging = RunFolder.create(place.parent, place.name)
        try:
            for name, parquet in self._tables.items():
                write_file(staging.path(f"{name}.parquet"), parquet)
            return staging.finish({**self.record, "folder": str(place)})
        except BaseException:
            staging.abandon()
            raise
