"""How long a transfer's sender waited because the program at the other end was late to read.

Linux opens a receive window by what the program read in a round trip. A program that waits for a processor
reads late, and the window may stay small for seconds. Two other causes of a small window are left out: from
the first packet out of order on, the window may wait for lost packets; and a receive buffer of the largest
size that the host allows is the lab's own limit.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from bentpipe.lab.spec import BulkSpec, RunSpec
from bentpipe.runs.record import ReaderWait
from bentpipe.words.direction import Direction

_PROGRAM = "iperf3"
COLUMNS = (
    *("time_s", "host", "workload", "flow", "role"),
    *("busy_s", "rwnd_limited_s", "rcvbuf_bytes", "rcv_ooopack"),
)
"""Of the table `sockets`."""


def reader_waits(
    spec: RunSpec, sockets: pl.DataFrame, hosts: Mapping[str, Any], sysctl: Mapping[str, Mapping[str, str]]
) -> dict[str, ReaderWait]:
    """Of each bulk transfer: the program that read, its host, and the share of the senders' time. Without
    those whose program ran for longer than it waited for a processor.

    `hosts` is that of the engine's error report, `sysctl` the settings in force by host.
    """
    found: dict[str, ReaderWait] = {}
    for work in spec.workloads:
        if not isinstance(work, BulkSpec):
            continue
        down = work.direction is Direction.DOWN
        sender, reader = ("server", "client") if down else ("client", "server")
        if spec.split:
            # What the reader does not read is held by the proxy beside it; the sender waits for the path.
            sender = "near" if down else "far"
        if _starved(hosts.get(reader) or {}):
            largest_bytes = int(sysctl[reader]["net.ipv4.tcp_rmem"].split()[2])
            rows = sockets.filter((pl.col("workload") == work.name) & (pl.col("role") == "data"))
            share = _share(rows, sender, reader, largest_bytes)
            found[work.name] = {"program": _PROGRAM, "host": reader, "share": share}
    return found


def _starved(host: Mapping[str, Any]) -> bool:
    """Whether its iperf3 waited for longer than it ran; both are null where the kernel does not count."""
    return any(
        program["program"] == _PROGRAM and (program.get("waited_s") or 0.0) > (program.get("ran_s") or 0.0)
        for program in host.get("programs") or []
    )


def _share(rows: pl.DataFrame, sender: str, reader: str, largest_bytes: int) -> float:
    other_cause = (pl.col("rcv_ooopack") > 0) | (pl.col("rcvbuf_bytes") >= largest_bytes)
    until = (
        rows.filter((pl.col("host") == reader) & other_cause)
        .group_by("flow")
        .agg(pl.col("time_s").min().alias("until_s"))
    )
    sent = rows.filter(pl.col("host") == sender)
    busy_s = _sum_of_last(sent, "busy_s")
    before = sent.join(until, on="flow", how="left").filter(
        pl.col("until_s").is_null() | (pl.col("time_s") < pl.col("until_s"))
    )
    return _sum_of_last(before, "rwnd_limited_s") / busy_s if busy_s else 0.0


def _sum_of_last(rows: pl.DataFrame, column: str) -> float:
    """Over all flows; the column counts up."""
    return float(rows.group_by("flow").agg(pl.col(column).max())[column].sum())
