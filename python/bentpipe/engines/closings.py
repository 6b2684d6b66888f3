"""What each TCP connection had carried when it was over, as the live engine's host process writes it down.

`closed.csv` (crates/live/src/closings.rs) has a line for each end of a connection, with the kernel's last
counts of it. A line comes when nothing of that end is left to be acknowledged: up to a round trip and a
half after a program has closed it.
"""

import asyncio
import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Closed:
    """One end of a connection that is over; counts that the kernel did not give are None."""

    time_s: float
    host: str
    local_port: int
    remote_port: int
    bytes_received: int | None
    retransmits: int | None


@dataclass(frozen=True)
class Connection:
    """As its client names it, and a time at which it was there."""

    client: str
    client_port: int
    server: str
    server_port: int
    at_s: float


def proxy_end(of: Connection, *, upload: bool) -> tuple[str, int, int]:
    """The host and the ports, its own first, of the end that sends data across the path of a split."""
    ports = (of.client_port, of.server_port) if upload else (of.server_port, of.client_port)
    # Towards the path a proxy has the ports of the host beside it.
    return "near" if upload == (of.client == "client") else "far", *ports


class Closings:
    """Of a run; grows until it ends."""

    def __init__(self, file: Path, *, is_split: bool = False) -> None:
        """`is_split`: the proxies of a split end each connection at near and at far."""
        self._file = file
        self._is_split = is_split
        self._read_bytes = 0
        self._columns: list[str] = []
        self._known: dict[tuple[str, int, int], list[Closed]] = {}

    async def wait(self, connections: Iterable[Connection], patience_s: float) -> None:
        """Until both ends of each are over, or as long as patience lasts."""
        wanted = list(connections)
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        while True:
            self._read_on()
            if all(self._is_over(each) for each in wanted):
                return
            if loop.time() >= until:
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    def _read_on(self) -> None:
        """What has come since the last look; a line that is just being written waits for the next."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read_bytes)
            fresh = file.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        lines = csv.reader(whole.decode().splitlines())
        for cells in lines:
            if not self._columns:
                self._columns = cells
                continue
            row = dict(zip(self._columns, cells, strict=True))
            closed = Closed(
                float(row["time_s"]),
                row["host"],
                int(row["local_port"]),
                int(row["remote_port"]),
                int(row["bytes_received"]) if row["bytes_received"] else None,
                int(row["retransmits"]) if row["retransmits"] else None,
            )
            self._known.setdefault((closed.host, closed.local_port, closed.remote_port), []).append(closed)

    def client_end(self, of: Connection) -> Closed | None:
        return self._first((of.client, of.client_port, of.server_port), of.at_s)

    def server_end(self, of: Connection) -> Closed | None:
        return self._first((of.server, of.server_port, of.client_port), of.at_s)

    def sender_end(self, of: Connection, *, upload: bool) -> Closed | None:
        """The end that sent data across the path: with a split that of the proxy beside the sender. `upload`:
        the connection's client sent them."""
        if not self._is_split:
            return self.client_end(of) if upload else self.server_end(of)
        return self._first(proxy_end(of, upload=upload), of.at_s)

    def _is_over(self, of: Connection) -> bool:
        ends = [self.client_end(of), self.server_end(of)]
        if self._is_split:
            ends += [self.sender_end(of, upload=upload) for upload in (False, True)]
        return all(ends)

    def opened_by(self, host: str, server_port: int, at_s: float) -> list[Closed]:
        """The ends at `host` of connections to this port that were over after this time."""
        ends = [
            each
            for (whose, _, remote), known in self._known.items()
            if whose == host and remote == server_port
            for each in known
            if each.time_s >= at_s
        ]
        return sorted(ends, key=lambda each: each.time_s)

    def _first(self, end: tuple[str, int, int], at_s: float) -> Closed | None:
        """Ports come round: the first that was over after this time."""
        return next((each for each in self._known.get(end, []) if each.time_s >= at_s), None)
