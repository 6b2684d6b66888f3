"""A run's samples of sockets, cut by socket.

The table is grouped once and its columns are numpy's, so that hundreds of sockets take no query each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe.words.direction import Direction

Floats = NDArray[np.float64]
Key = tuple[int | None, int | None, int | None]
"""IP version, local port, remote port: what tells a host's sockets apart."""

DATA_BYTES = 100_000
"""A socket that sent less than this carried control messages, not a workload's payload."""
DRAWN = 32
"""Sockets of a direction that are drawn, the largest."""
_NOT_CONNECTED = ("SYN-SENT", "SYN-RECV", "TIME-WAIT", "CLOSE", "LISTEN")
"""No connection yet, or none any more: its windows mean nothing."""


class SocketColumns:
    """The table's columns, each converted when it is first asked for."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table
        self._columns: dict[str, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        """Null is NaN."""
        if name not in self._columns:
            self._columns[name] = floats(self.table[name])
        return self._columns[name]

    @cached_property
    def connected(self) -> NDArray[np.bool_]:
        state = self.table["state"]
        return (~state.is_in(_NOT_CONNECTED)).fill_null(False).to_numpy()


@dataclass(frozen=True)
class Socket:
    """One socket's samples, by time."""

    host: str
    key: Key
    columns: SocketColumns
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, table: pl.DataFrame) -> Self:
        """Of a table that holds the samples of this socket alone, by time."""
        host, *key = table.select("host", "ip", "local_port", "remote_port").row(0)
        return cls(host, (key[0], key[1], key[2]), SocketColumns(table), np.arange(table.height))

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column][self.rows]

    @property
    def connected(self) -> NDArray[np.bool_]:
        return self.columns.connected[self.rows]

    @cached_property
    def time_s(self) -> list[float]:
        found: list[float] = self["time_s"].tolist()
        return found

    def values(self, column: str, scale: float = 1.0) -> list[float | None]:
        return listed(self[column] * scale)

    def text(self, column: str) -> str | None:
        """The last one that is known."""
        known = self.columns.table[column].gather(self.rows).drop_nulls()
        return str(known[-1]) if known.len() else None


class RunSockets:
    """All sockets of a run."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.columns = SocketColumns(table)
        grouped = (
            table.lazy()
            .with_row_index("row")
            .group_by("host", "ip", "local_port", "remote_port", maintain_order=True)
            .agg(pl.col("bytes_sent").max(), pl.len().alias("samples"), pl.col("row"))
            .collect()
        )
        self._hosts: list[str] = grouped["host"].to_list()
        keys = (grouped[column].to_list() for column in ("ip", "local_port", "remote_port"))
        self._keys: list[Key] = list(zip(*keys, strict=True))
        self._sent: list[int | None] = grouped["bytes_sent"].to_list()
        rows = grouped["row"].explode().to_numpy().astype(np.intp)
        self._rows = np.split(rows, np.cumsum(grouped["samples"].to_numpy())[:-1])

    def at(self, host: str) -> list[tuple[Key, NDArray[np.intp]]]:
        """Of each socket of that host, its rows in the table."""
        every = zip(self._hosts, self._keys, self._rows, strict=False)
        return [(key, rows) for its, key, rows in every if its == host]

    def senders(self, direction: Direction) -> list[Socket]:
        """Those that sent payload, the largest first, and no more than can be drawn."""
        host = direction.sender
        payload = [
            (sent, number)
            for number, (its, key, sent) in enumerate(zip(self._hosts, self._keys, self._sent, strict=True))
            if its == host and (key[1] is not None if sent is None else sent >= DATA_BYTES)
        ]
        # Where it is not known what one sent, it may be the largest.
        payload.sort(key=lambda found: -np.inf if found[0] is None else -found[0])
        return [self._socket(number) for _, number in payload[:DRAWN]]

    def receivers(self, senders: Sequence[Socket]) -> list[Socket]:
        """The other ends of these, each at its host."""
        hosts = {sender.host for sender in senders}
        elsewhere = {
            key: number
            for number, (host, key) in enumerate(zip(self._hosts, self._keys, strict=True))
            if host not in hosts
        }
        ends = ((ip, remote, local) for ip, local, remote in (sender.key for sender in senders))
        return [self._socket(elsewhere[end]) for end in ends if end in elsewhere]

    def _socket(self, number: int) -> Socket:
        rows = self._rows[number]
        by_time = np.argsort(self.columns["time_s"][rows], kind="stable")
        return Socket(self._hosts[number], self._keys[number], self.columns, rows[by_time])


def floats(column: pl.Series) -> Floats:
    """Null is NaN."""
    return column.to_numpy().astype(np.float64, copy=False)


def listed(values: Floats) -> list[float | None]:
    """NaN is None."""
    found: list[float | None] = values.tolist()
    if np.isnan(values).any():
        return [None if value != value else value for value in found]  # noqa: PLR0124 - NaN alone differs
    return found
