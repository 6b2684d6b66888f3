"""The evidence of a run's transfers, as one end sees them: its sockets, its programs' flows, its pings.

The pipe's table `link` is not read: no host sees it. What is known of an end is read at that end only:
a sender's samples have no receive buffer, a receiver's no cwnd. Where TCP is split, the ends are the
proxies' sockets on the path. Where nothing but `interactive` workloads carried payload, the messages of their
clients are the transfers; the answers are as many bytes the other way. They have no rows in `flows`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from bentpipe.doctor.evidence import Ended, Evidence, Offered, SeenFrom, first_payload_s, samples
from bentpipe.doctor.socket_samples import at_receiver, at_sender, happened
from bentpipe.runs import asked
from bentpipe.runs.called import called
from bentpipe.runs.path_ends import of_the_path
from bentpipe.words.direction import Direction

_MESSAGES = "interactive"
_CARRY = ("bulk", "http", "channels")
_SHORT_S = 0.5
"""Of each of its connections. Samples are 0.1 s apart by default."""
_CONNECTED = ("ESTAB", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "LAST-ACK", "CLOSING")
_CONNECTION = ("local_port", "remote_port")


def transfers(
    record: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], seen_from: SeenFrom
) -> Iterator[Evidence]:
    """Of each workload that carried payload. `tables` has `sockets`, `flows` and `pings`."""
    sockets = of_the_path(tables["sockets"], record)
    nothing = True
    for kinds in (_CARRY, (_MESSAGES,)):
        for workload, figures in record.get("workloads", {}).items():
            if figures.get("kind") in kinds and not asked.is_carried(record, workload):
                found = _transfer(record, workload, sockets, tables, seen_from)
                if found is not None:
                    nothing = False
                    yield found
        if not nothing:
            return


def _transfer(
    record: Mapping[str, Any],
    workload: str,
    sockets: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    seen_from: SeenFrom,
) -> Evidence | None:
    flows = tables["flows"].filter(pl.col("workload") == workload)
    messages = record["workloads"][workload]["kind"] == _MESSAGES
    direction = Direction.UP if messages else asked.direction_of(record, workload) or Direction.DOWN
    sender = str(direction.sender)
    receiver = "client" if sender == "server" else "server"
    host = sender if seen_from == "sender" else receiver
    own = sockets.filter(
        (pl.col("workload") == workload)
        & (pl.col("host") == host)
        & (pl.col("role").fill_null("data") == "data")
        & pl.col("state").is_in(_CONNECTED)
    ).sort("time_s")
    if flows.is_empty() != messages or (own.is_empty() and not _was_too_short(flows)):
        return None
    own = own.with_columns(
        (pl.struct(_CONNECTION).rank("dense") - 1).cast(pl.Int64).alias("connection"),
        pl.col("segments_out").cast(pl.Int64),
    )
    frame = samples(at_sender(own) if seen_from == "sender" else at_receiver(own))
    # Of messages the first sample: as soon after their begin as samples are apart.
    start_s = float((frame["time_s"] if messages else flows["start_s"]).min())  # type: ignore[arg-type]
    end_s = _end_s(record, flows, frame)
    if messages and end_s <= start_s:
        return None
    frame = frame.filter(pl.col("time_s") <= end_s)
    mss_bytes = max(own["mss_bytes"].drop_nulls().to_list(), default=None)
    return Evidence(
        name=called(record, workload),
        direction=str(direction),
        seen_from=seen_from,
        start_s=start_s,
        end_s=end_s,
        bytes=_delivered(frame, flows),
        mss_bytes=mss_bytes,
        samples=frame,
        events=happened(frame),
        pings=tables["pings"].select("time_s", "rtt_s"),
        sender_offered=_offered(asked.host(record, sender)),
        receiver_offered=_offered(asked.host(record, receiver)),
        # Of a split path's own connection no program saw the handshake.
        handshake_rtt_s=None if asked.is_split(record) else _handshake(flows),
        ended=_ended(flows),
        congestion_control=_control(own) if host == sender else None,
        sndbuf_most_bytes=_most(record, sender, "tcp_wmem") if host == sender else None,
        rcvbuf_most_bytes=_most(record, receiver, "tcp_rmem") if host == receiver else None,
        processor_share=_processor_share(record, host, end_s - start_s),
        first_payload_s=_arrived_s(first_payload_s(frame, mss_bytes), frame, seen_from),
    )


def _was_too_short(flows: pl.DataFrame) -> bool:
    """Whether it carried all of its payload before its sockets were sampled."""
    lasted_s = (flows["end_s"] - flows["start_s"]).max()
    return _ended(flows) == "finished" and lasted_s is not None and float(lasted_s) < _SHORT_S  # type: ignore[arg-type]


def _control(own: pl.DataFrame) -> str | None:
    return next(iter(own["congestion_control"].drop_nulls()), None)


def _end_s(record: Mapping[str, Any], flows: pl.DataFrame, frame: pl.DataFrame) -> float:
    """When the last flow ended; of one that did not, its last sample, or the lab's end if that is sooner: a
    program tells the other one its figures before it closes the connection."""
    ended = flows["end_s"]
    if not ended.is_empty() and ended.null_count() == 0:
        return float(ended.max())  # type: ignore[arg-type]
    last_s = float(frame["time_s"].max() or 0.0)  # type: ignore[arg-type]
    lab_s = record["spec"]["duration_s"]
    return last_s if lab_s is None else min(last_s, float(lab_s))


def _arrived_s(known_s: float | None, frame: pl.DataFrame, seen_from: SeenFrom) -> float | None:
    """When it arrived. A sender knows it by the acknowledgement, half a round trip later; what was delivered
    is counted at the receiver."""
    if known_s is None or seen_from == "receiver":
        return known_s
    return known_s - float(frame["min_rtt_s"].min() or 0.0) / 2  # type: ignore[arg-type]


def _delivered(frame: pl.DataFrame, flows: pl.DataFrame) -> int:
    """By the sockets, which count also what a workload leaves out (`omit`), or by the programs."""
    by_sockets = frame.group_by("connection").agg(pl.col("delivered_bytes").max())["delivered_bytes"].sum()
    measured = int(flows["bytes"].sum() or 0)
    return max(int(by_sockets or 0), measured)


def _handshake(flows: pl.DataFrame) -> float | None:
    """As the program that connected saw it: the shortest of its connections."""
    took = flows.select((pl.col("connected_s") - pl.col("start_s")).min()).item()
    return None if took is None else float(took)


def _ended(flows: pl.DataFrame) -> Ended:
    outcomes = set(flows["outcome"])
    if outcomes == {"finished"}:
        return "finished"
    return "reset" if "failed" in outcomes else "open"


def _offered(host: Mapping[str, Any]) -> Offered:
    """What an end offers in its SYN, by its own settings. What a lab leaves open is on, as in Linux."""

    def on(name: str) -> bool:
        value = host.get(name)
        return True if value is None else bool(value)

    return Offered(
        sack=on("sack"),
        timestamps=on("timestamps"),
        window_scale=None if on("window_scaling") else -1,
        ecn=bool(host.get("ecn")),
    )


def _most(record: Mapping[str, Any], host: str, name: str) -> int | None:
    """The last number of the sysctl in force at that host."""
    words = str(record.get("sysctl", {}).get(host, {}).get(f"net.ipv4.{name}", "")).split()
    return int(words[2]) if len(words) == 3 and words[2].isdigit() else None


def _processor_share(record: Mapping[str, Any], host: str, lasted_s: float) -> dict[str, float]:
    """Of each program of that host, all its threads together; only `live` knows them."""
    programs = record.get("engine_error", {}).get("hosts", {}).get(host, {}).get("programs", [])
    if lasted_s <= 0:
        return {}
    return {
        each["program"]: ((each.get("ran_s") or 0.0) + (each.get("waited_s") or 0.0)) / lasted_s
        for each in programs
    }
