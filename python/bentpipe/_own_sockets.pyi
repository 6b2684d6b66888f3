"""Watching this host's TCP sockets (crates/python/src/own_sockets.rs, crates/live/src/own_sockets)."""

from collections.abc import Sequence

class SocketWatch:
    """Samples the sockets of this network namespace, on a thread of its own, from its making on.

    Watched are those of which all that is given is true: the peer's address, either end's port, the process
    or its parent. Raises `OSError` where the kernel refuses, and on other systems than Linux.
    """

    def __init__(
        self,
        interval_s: float,
        *,
        addresses: Sequence[object],
        ports: Sequence[int],
        processes: Sequence[int],
        loopback: bool,
        most_share: float | None = None,
    ) -> None:
        """`addresses` are of the module `ipaddress`. `loopback`: connections of this host with itself too.
        `most_share`: of a core, for looks; those that cost more are taken less often."""

    def stop(self) -> None:
        """Ends the sampling, after a last look."""

    def report(self) -> str:
        """`OwnSocketsReport` (crates/live/src/own_sockets/mod.rs), as JSON."""

    def connections(self) -> str:
        """`ConnectionFacts` of each (crates/live/src/own_sockets/store.rs), as JSON."""

    def samples(self, place: int) -> dict[str, bytes | list[str | None]]:
        """Columns of the table `sockets` for the connection at that place of `connections`: numbers as 8-byte
        floats, NaN where not known, and `ca_state`. Raises `IndexError` if there is no such connection."""
