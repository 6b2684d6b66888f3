"""What iperf3 3.12's JSON says, and what it does not.

Source: iperf 3.12, src/iperf_api.c (iperf_print_results, iperf_reset_stats) and experiments with it.
1. Goodput is the receiver's: its own process's JSON where it came, else the sums that the two exchanged.
   The sender's count what was written into the send buffer.
2. `omit` restarts iperf3's counters, so sums are of what follows it; intervals carry a mark `omitted`.
3. With `omit` and a size, iperf3 would send the size again after the omitted time. It is therefore never
   told both: the omitted seconds are then taken off here, from the intervals.
4. When one end is interrupted the other prints its last whole interval twice, and counts it twice.
5. The last interval may be a few microseconds long; its rate says nothing.
6. A client that was interrupted before the test began prints an interval from the machine's start until now.
"""

import json
from dataclasses import dataclass
from typing import Any

MOST_S = 86_400
"""The longest time that it can be told (MAX_TIME in src/iperf.h)."""
_TOO_SHORT_S = 0.05


@dataclass(frozen=True)
class Interval:
    start_s: float
    seconds: float
    bytes: int
    omitted: bool


@dataclass(frozen=True)
class Stream:
    local_port: int
    remote_port: int
    bytes: int | None
    retransmits: int | None


@dataclass(frozen=True)
class Said:
    """One iperf3 process's view. Ports are its own end's (`local`) and the other's."""

    error: str | None
    connected: list[tuple[int, int]]
    intervals: list[Interval]
    received_bytes: int
    received_s: float
    retransmits: int | None
    streams: list[Stream]


def parse(output: str) -> Said | None:
    """None where the output is not iperf3's JSON."""
    try:
        said = json.loads(output)
        return _said(said)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _said(said: dict[str, Any]) -> Said:
    start, end = said["start"], said.get("end") or {}
    intervals = _intervals(said.get("intervals", []))
    if not start.get("test_start"):
        intervals, end = [], {}
    connected = [(int(c["local_port"]), int(c["remote_port"])) for c in start.get("connected", [])]
    received, sent = end.get("sum_received") or {}, end.get("sum_sent") or {}
    streams = []
    for ports, stream in zip(connected, end.get("streams", []), strict=False):
        taken, given = stream.get("receiver") or {}, stream.get("sender") or {}
        streams.append(Stream(*ports, taken.get("bytes"), given.get("retransmits")))
    return Said(
        said.get("error"),
        connected,
        intervals,
        int(received.get("bytes", 0)),
        float(received.get("seconds", 0.0)),
        sent.get("retransmits"),
        streams,
    )


def _intervals(found: list[dict[str, Any]]) -> list[Interval]:
    intervals: list[Interval] = []
    for each in found:
        total = each["sum"]
        interval = Interval(
            float(total["start"]), float(total["seconds"]), int(total["bytes"]), bool(total["omitted"])
        )
        if not intervals or interval != intervals[-1]:
            intervals.append(interval)
    return intervals


@dataclass(frozen=True)
class Goodput:
    """The receiver's, over the measured time."""

    bytes: int
    seconds: float
    per_second_mbit_s: list[float]

    @property
    def mbit_s(self) -> float | None:
        return self.bytes * 8 / self.seconds / 1e6 if self.seconds > 0 else None


def goodput(receiver: Said, *, omit_here_s: float, whole: bool) -> Goodput:
    """`omit_here_s`: leave out the intervals of this first time; `whole`: the process ended by itself, so its
    own sums are to be trusted."""
    measured = [i for i in receiver.intervals if not i.omitted and i.start_s >= omit_here_s - 0.5]
    rates = [i.bytes * 8 / i.seconds / 1e6 for i in measured if i.seconds >= _TOO_SHORT_S]
    if whole and omit_here_s == 0 and receiver.received_s > 0:
        return Goodput(receiver.received_bytes, receiver.received_s, rates)
    return Goodput(sum(i.bytes for i in measured), sum(i.seconds for i in measured), rates)


def failure(output: str, unsaid: str = "iperf3 carried nothing: it gave no reason") -> str:
    """A sentence on why it carried nothing, by all that it printed; `unsaid` where it names no error."""
    try:
        error = str(json.loads(output).get("error", ""))
    except (ValueError, AttributeError):
        error = output.strip().splitlines()[-1] if output.strip() else ""
    if "busy" in error:
        return f"the iperf3 server is busy with another test: {error}"
    if "unable to connect" in error or "refused" in error or "timed out" in error:
        return f"no iperf3 server answers: {error}; start one there:  iperf3 --server"
    return f"iperf3 carried nothing: {error}" if error else unsaid
