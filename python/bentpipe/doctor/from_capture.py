"""The evidence of a capture's transfers: a pcap or pcapng file, taken at an end or at a point of the path.

`crates/capture` reads the file and follows its connections. Where the capture was taken follows from
the round-trip time on either side of it. What the sender knew when it sent a segment follows from the
time stamp that the segment echoes.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from bentpipe._core import read_capture
from bentpipe.doctor import capture_remarks as remarks
from bentpipe.doctor.answered_nearer import rtt_behind_s
from bentpipe.doctor.arrays import Flags
from bentpipe.doctor.capture_remarks import LEAST_BYTES
from bentpipe.doctor.evidence import (
    USUAL_MSS,
    Ended,
    Evidence,
    Offered,
    SeenFrom,
    events,
    first_payload_s,
    samples,
)
from bentpipe.doctor.inferred import with_sender_state
from bentpipe.doctor.one_way import one_way_waits
from bentpipe.doctor.regular import regular
from bentpipe.doctor.standing_still import LEAST_TIMEOUTS, stands_still
from bentpipe.errors import StoreError

_MOST_TRANSFERS = 10
_FULL_MSS = 1460
"""Of Ethernet, without time stamps: where the handshake is not there, a full segment may be so large."""
_SHUT_WITHIN_S = 2.0
"""After the last payload a reader that stops is seen by then: a sender probes the window after its
retransmission timeout."""
_LEAST_FAR_S = 0.005
"""Where only one side's round-trip time is known: an end answers sooner than this."""
_BEGINS = (
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
)
_GZIP = b"\x1f\x8b"
_ENDS = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".dmp")


class Reading(Protocol):
    """What `crates/capture` made of a file: `CaptureReading`, or a copy of it that was kept."""

    @property
    def cut_off(self) -> str | None: ...

    def facts(self) -> str: ...

    def samples(self, connection: int, side: int) -> Mapping[str, Any]: ...

    def events(self, connection: int, side: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class CaptureSeen:
    """What a capture shows."""

    transfers: Sequence[Evidence]
    """The largest first."""
    remarks: Sequence[str]
    """What limits its worth, in plain sentences."""


def is_capture(source: str) -> bool:
    """Whether this is a file that begins as a capture does, plain or in gzip, or is called as one."""
    path = Path(source)
    return path.is_file() and (path.name.endswith(_ENDS) or _first_bytes(path) in _BEGINS)


def _first_bytes(path: Path) -> bytes:
    """Four, of what is in it if it is a gzip file; none of a damaged one."""
    with path.open("rb") as file:
        found = file.read(4)
    if not found.startswith(_GZIP):
        return found
    try:
        with gzip.open(path) as file:
            return file.read(4)
    except (OSError, EOFError, zlib.error):
        return b""


def read(file: Path, on_progress: Callable[[int], None] | None = None) -> CaptureSeen:
    """Raises `StoreError` if the file cannot be read, is no capture, or is damaged."""
    try:
        if not file.stat().st_size:
            raise StoreError(f"{file}: the file is empty; expected a capture, pcap or pcapng")
        reading = read_capture(file, on_progress)
    except (OSError, ValueError) as error:
        raise StoreError(f"{file}: {error}") from None
    return seen(reading)


def seen(reading: Reading) -> CaptureSeen:
    """The transfers of a file that was read."""
    facts = json.loads(reading.facts())
    still = {_place(flow): _stands_still(reading, flow) for flow in facts["flows"]}
    large = [
        flow for flow in facts["flows"] if _carried_bytes(flow) >= LEAST_BYTES or still[_place(flow)].any()
    ]
    large.sort(key=lambda flow: -_carried_bytes(flow))
    if facts["times_run_backwards"]:
        return CaptureSeen([], remarks.of_file(facts, reading.cut_off))
    told = [flow for flow in large if remarks.untold(flow) is None][:_MOST_TRANSFERS]
    untold = [(flow, why) for flow in large if (why := remarks.untold(flow)) is not None][:_MOST_TRANSFERS]
    more = len(facts["flows"]) - len(large)
    return CaptureSeen(
        [_transfer(reading, flow, still[_place(flow)], rtt_behind_s(flow, facts["flows"])) for flow in told],
        [
            *remarks.of_file(facts, reading.cut_off),
            *remarks.of_small_flows(more, len(told)),
            *remarks.of_large_flows(len(large) - len(told) - len(untold)),
            *(f"{_name(flow)}: {why}" for flow, why in untold),
            *(f"{_end(flow, 'sender')}: {remark}" for flow in told for remark in remarks.of_flow(flow)),
        ],
    )


def _carried_bytes(flow: Mapping[str, Any]) -> int:
    """What was delivered, or what was sent where the capture has no acknowledgement."""
    return int(flow["delivered_bytes"] if flow["acks"] else flow["sent_bytes"])


def _place(flow: Mapping[str, Any]) -> tuple[int, int]:
    return flow["connection"], flow["side"]


def _transfer(reading: Reading, flow: Mapping[str, Any], still: Flags, behind_s: float | None) -> Evidence:
    """`still`: where it stands still (`_stands_still`). `behind_s`: the shortest round trip of data, if
    something nearer answered the handshake (`rtt_behind_s`)."""
    place = _place(flow)
    stood = bool(still[-1:].any())
    happened = events(pl.DataFrame(reading.events(*place)).with_columns(connection=pl.lit(0)))
    sampled = _with_waits(pl.DataFrame(reading.samples(*place))).with_columns(connection=pl.lit(0))
    if behind_s is not None:
        sampled = _without_shorter(sampled, behind_s)
    if stood:
        sampled = _with_acknowledged(sampled, flow)
    frame = with_sender_state(
        regular(sampled, happened, flow["sample_width_s"]),
        flow["mss_bytes"],
        behind_s or (flow["far_rtt_s"] or 0.0) + (flow["near_rtt_s"] or 0.0),
    )
    # What is delivered is known here when its acknowledgement comes by.
    end_s = min(flow["last_data_s"] + (flow["far_rtt_s"] or 0.0), flow["end_s"])
    delivered_bytes = flow["delivered_bytes"]
    if stood:
        end_s, delivered_bytes = flow["end_s"], int(sampled["delivered_bytes"].max() or 0)  # type: ignore[arg-type]
    else:
        end_s = _shut_until_s(sampled, end_s, min(flow["mss_bytes"] or USUAL_MSS, USUAL_MSS)) or end_s
    mss_bytes, sampled_frame = flow["mss_bytes"] or None, samples(frame)
    payload_s = first_payload_s(sampled_frame, mss_bytes)
    if still.any() and payload_s is not None and sampled["time_s"][int(still.argmax())] < payload_s:
        payload_s = None  # Its user waited for it.
    return Evidence(
        name=_name(flow),
        direction=("up", "down")[flow["side"]],
        seen_from=_seen_from(flow),
        start_s=flow["start_s"],
        end_s=end_s,
        bytes=delivered_bytes,
        mss_bytes=mss_bytes,
        samples=sampled_frame,
        ends=frozenset({flow["sender"], flow["receiver"]}),
        events=happened,
        sender_offered=_offered(flow["sender_offered"]),
        receiver_offered=_offered(flow["receiver_offered"]),
        handshake_rtt_s=flow["handshake_rtt_s"],
        rtt_behind_s=behind_s,
        ended=_ended(flow),
        of_packets=True,
        unseen_share=min(flow["unseen_bytes"] / max(flow["delivered_bytes"], 1), 1.0),
        train_rates=[(rate_bit_s, count) for rate_bit_s, count in flow["train_rates"]],
        first_payload_s=payload_s,
    )


def _shut_until_s(sampled: pl.DataFrame, end_s: float, room_bytes: int) -> float | None:
    """When the receive window is last seen shut, if it has no room for a segment from the end of the payload
    on: its reader has stopped, and whoever waits for the transfer waits until then. Otherwise None."""
    windows = sampled.select("time_s", "rwnd_bytes").drop_nulls()
    time_s, is_open = windows["time_s"].to_numpy(), windows["rwnd_bytes"].to_numpy() >= room_bytes
    places = np.flatnonzero(is_open)
    begins = int(places[-1]) + 1 if places.size else time_s.size
    if begins == time_s.size or time_s[begins] > end_s + _SHUT_WITHIN_S:
        return None
    return max(end_s, float(time_s[-1]))


def _stands_still(reading: Reading, flow: Mapping[str, Any]) -> Flags:
    """The samples in which the sender repeats in vain what is outstanding."""
    if flow["timeouts"] < LEAST_TIMEOUTS or not flow["acks"]:
        return np.zeros(0, bool)
    sampled = _with_acknowledged(pl.DataFrame(reading.samples(*_place(flow))), flow)
    acknowledged, outstanding, timeouts = (
        sampled[name].cast(pl.Float64).fill_null(strategy="forward").fill_null(float("nan")).to_numpy()
        for name in ("delivered_bytes", "outstanding_bytes", "timeouts")
    )
    # Without the handshake, the largest segment that was seen may be a small one.
    full_bytes = flow["mss_bytes"] if flow["receiver_offered"] else max(flow["mss_bytes"], _FULL_MSS)
    return stands_still(acknowledged, outstanding, timeouts, full_bytes)


def _with_acknowledged(sampled: pl.DataFrame, flow: Mapping[str, Any]) -> pl.DataFrame:
    """With as much delivered, beyond the sender, as it knew when it sent something. What passed here is more
    if something drops it afterwards. Where the receiver is near, too, this may be counted at the sender."""
    if _seen_from(flow) == "sender" and (flow["far_rtt_s"] or 0.0) >= _LEAST_FAR_S:
        return sampled
    new = pl.col("sent_bytes") - pl.col("retransmitted_bytes")
    acknowledged = (new - pl.col("outstanding_bytes")).clip(0).cum_max().forward_fill().fill_null(0)
    return sampled.with_columns(
        pl.min_horizontal(pl.col(name), acknowledged) for name in ("delivered_bytes", "arrived_bytes")
    )


def _without_shorter(sampled: pl.DataFrame, rtt_s: float) -> pl.DataFrame:
    """Without the round trip of a handshake that something nearer answered. `rtt_s`: the shortest of data."""
    srtt_s, shortest_s = (pl.col(name).cast(pl.Float64) for name in ("srtt_s", "min_rtt_s"))
    return sampled.with_columns(
        srtt_s=pl.when(srtt_s >= rtt_s).then(srtt_s), min_rtt_s=shortest_s.clip(lower_bound=rtt_s)
    )


def _with_waits(sampled: pl.DataFrame) -> pl.DataFrame:
    """With `forward_wait_s` and `return_wait_s`, where time stamps tell them."""
    for way, end in (("forward", "sender"), ("return", "receiver")):
        at_s, ticks = (
            sampled[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for name in (f"{end}_ticks_s", f"{end}_ticks")
        )
        found = one_way_waits(at_s, ticks)
        if found is not None:
            sampled = sampled.with_columns(pl.Series(f"{way}_wait_s", found).fill_nan(None))
    return sampled


def _name(flow: Mapping[str, Any]) -> str:
    return f"{_end(flow, 'sender')} to {_end(flow, 'receiver')}"


def _end(flow: Mapping[str, Any], which: str) -> str:
    address, port = flow[which], flow[f"{which}_port"]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _seen_from(flow: Mapping[str, Any]) -> SeenFrom:
    match flow["vantage"]:
        case "sender":
            return "sender"
        case "receiver":
            return "receiver"
        case "between":
            return "between"
    return "sender" if (flow["far_rtt_s"] or 0.0) >= _LEAST_FAR_S else "receiver"


def _offered(of: Mapping[str, Any] | None) -> Offered:
    if of is None:
        return Offered()
    # What is absent may be among the options that the capture cut off.
    no_scale, no_option = (None, None) if of["is_cut_off"] else (-1, False)
    shift = of["window_scale"]
    return Offered(
        mss_bytes=of["mss_bytes"],
        sack=of["sack"] or no_option,
        timestamps=of["timestamps"] or no_option,
        window_scale=no_scale if shift is None else shift,
        ecn=of["ecn"],
    )


def _ended(flow: Mapping[str, Any]) -> Ended:
    if flow["closed"]:
        return "finished"
    return "reset" if flow["reset"] else "open"
