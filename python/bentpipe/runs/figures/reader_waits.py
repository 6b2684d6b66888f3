"""How long a transfer's sender waited because the program at the other end was late to read.

Linux opens a receive window by what the program read in a round trip. A program that waits for a processor,
or that wakes only when a burst has arrived whole, reads late. The window may then stay small for seconds.

Other causes of a small window are left out. From the first packet out of order on, the window may wait for
lost packets. A receive buffer of the largest size that the host allows is the lab's own limit, and so is a
buffer that does not grow or that begins smaller than the kernel's usual one, and a window without scaling.
"""

from collections.abc import Mapping

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

_USUAL_BYTES = 131_072
"""With which the kernel's receive buffers begin (`tcp_init` in net/ipv4/tcp.c). In a smaller one, even a
program that reads at once lets its sender wait: in `sim` with 87,380, 550 ms and 2.5 Gbit/s, 13 % of 3 s."""


def reader_waits(
    spec: RunSpec, sockets: pl.DataFrame, sysctl: Mapping[str, Mapping[str, str]]
) -> dict[str, ReaderWait]:
    """Of each bulk transfer: the program that read, its host, and the share of the senders' time.

    `sysctl`: the settings in force by host.
    """
    found: dict[str, ReaderWait] = {}
    for work in spec.workloads:
        if not isinstance(work, BulkSpec):
            continue
        down = work.direction is Direction.DOWN
        sender, reader = ("server", "client") if down else ("client", "server")
        if spec.split or spec.gateway:
            # What the reader does not read is held by the proxy beside it; the sender waits for the path.
            sender = "near" if down else "far"
        _, begins_bytes, largest_bytes = (int(each) for each in sysctl[reader]["net.ipv4.tcp_rmem"].split())
        grows = sysctl[reader].get("net.ipv4.tcp_moderate_rcvbuf", "1") != "0"
        scaled = all(each.get("net.ipv4.tcp_window_scaling", "1") != "0" for each in sysctl.values())
        if scaled and grows and begins_bytes >= _USUAL_BYTES:
            rows = sockets.filter((pl.col("workload") == work.name) & (pl.col("role") == "data"))
            share = _share(rows, sender, reader, largest_bytes)
            found[work.name] = {"program": _PROGRAM, "host": reader, "share": share}
    return found


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
