"""The evidence of this host's own transfers: its sockets, watched by `sock_diag`. It takes no rights.

A transfer is what goes one way between this host and one other, over one port of the server's, in
connections that are open at the same time. This host is its sender or its receiver, and knows of the other
end only what TCP tells: what was agreed in the handshake.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from bentpipe._core import SocketWatch
from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.evidence import PINGS, UNREAD, USUAL_MSS, Ended, Evidence, Offered, SeenFrom, samples
from bentpipe.doctor.host_facts import HostFacts
from bentpipe.doctor.processes import Used
from bentpipe.doctor.socket_samples import at_receiver, at_sender, happened
from bentpipe.doctor.standing_still import LEAST_TIMEOUTS, stands_still
from bentpipe.words.wording import plural

MOST_TRANSFERS = 10
LEAST_BYTES = 20_000
"""A connection with less payload fits into two initial windows, so nothing can have limited it for long,
unless it stands still."""
_WITHIN_HOST_S = 0.001
"""A round trip within a host is shorter, unless something delays it."""
_LEAST_SHUT_S = 1.0
"""For so long a window is shut if that alone makes a connection worth showing."""
_MOST_AGAIN = 1000
"""Samples in the place of one that says what the one before says."""
_APART_S = 1.0
"""Connections with a longer pause between them are transfers of their own."""
_LONGER = 2
"""Times its longest pause: a connection that begins with a longer one was idle."""
_COUNTERS = (
    "bytes_sent",
    "bytes_acked",
    "bytes_received",
    "bytes_retrans",
    "segments_out",
    "segments_in",
    "retransmits",
    "delivered",
    "busy_s",
    "rwnd_limited_s",
    "sndbuf_limited_s",
    "rcv_ooopack",
    "drops",
    "total_rto",
)


UsedBy = Callable[[Iterable[int], float, float], Used]
"""What this end's programs did, by the inodes of sockets, a beginning and an end in seconds."""


@dataclass(frozen=True)
class HostSeen:
    """What a watch showed."""

    transfers: Sequence[Evidence]
    """The largest first."""
    remarks: Sequence[str]
    facts: HostFacts
    watch: Mapping[str, Any] = field(default_factory=dict)
    """What the sampling says of itself (`OwnSocketsReport`)."""


@dataclass(frozen=True)
class _Half:
    """One direction of a connection."""

    place: int
    facts: Mapping[str, Any]
    seen_from: SeenFrom
    is_client: bool
    bytes: int
    frame: pl.DataFrame
    start_s: float
    end_s: float
    carried_until_s: float
    """Earlier than its end if its window is shut then."""
    begun: bool
    """Whether its counters begin with the connection."""

    @property
    def key(self) -> tuple[str, int, str]:
        port = self.facts["remote_port" if self.is_client else "local_port"]
        return self.facts["remote"], port, self.seen_from


def seen(
    watch: SocketWatch,
    facts: HostFacts,
    pings: pl.DataFrame | None = None,
    *,
    names_it: str = "",
    used_by: UsedBy,
) -> HostSeen:
    """What has been seen so far. `pings`: of the same path, on the watch's clock. `names_it`: what to call
    the transfers instead of by their addresses. `used_by`: of this end's programs."""
    report = json.loads(watch.report())
    connections = json.loads(watch.connections())
    halves = list(_halves(watch, connections, facts, report["interval_s"]))
    small = sum(0 < max(each["sent_bytes"], each["received_bytes"]) < LEAST_BYTES for each in connections)
    groups = sorted(_transfers(halves), key=lambda group: -sum(half.bytes for half in group))
    shown = groups[:MOST_TRANSFERS]
    numbers = {key: count(1) for key in {group[0].key for group in groups}}
    named = []
    for group in sorted(shown, key=lambda group: group[0].start_s):
        number = next(numbers[group[0].key])
        name = names_it or _name(group[0])
        named.append((group, name if number == 1 else f"{name} ({number})"))
    named.sort(key=lambda each: -sum(half.bytes for half in each[0]))
    transfers = [_evidence(group, name, facts, pings, used_by) for group, name in named]
    within = sorted({end for each in transfers if each.within_host for end in each.ends})
    return HostSeen(
        transfers,
        [
            *(f"{each} is this host itself: no path is between the two ends." for each in within),
            *_remarks(report, len(groups) - len(shown), 0 if shown else small, len(connections)),
        ],
        facts,
        report,
    )


def largest_remotes(watch: SocketWatch, most: int = 3) -> list[str]:
    """The addresses with which most was exchanged."""
    carried: dict[str, int] = {}
    for each in json.loads(watch.connections()):
        carried[each["remote"]] = carried.get(each["remote"], 0) + each["sent_bytes"] + each["received_bytes"]
    return sorted(carried, key=lambda remote: -carried[remote])[:most]


def _halves(
    watch: SocketWatch, connections: Sequence[Mapping[str, Any]], host: HostFacts, interval_s: float
) -> Iterator[_Half]:
    for place, facts in enumerate(connections):
        ways: list[tuple[SeenFrom, int, str]] = [
            ("sender", facts["sent_bytes"], "bytes_acked"),
            ("receiver", facts["received_bytes"], "bytes_received"),
        ]
        is_large = max(carried for _, carried, _ in ways) >= LEAST_BYTES
        may_stand = (facts["timeouts"] or 0) >= LEAST_TIMEOUTS
        if not (is_large or may_stand or facts["window_shut"]):
            continue
        columns = watch.samples(place)
        still = _stands_still(columns, was_before=facts["was_before"])
        if not (is_large or still.any() or facts["window_shut"]):
            continue
        raw = _table(columns)
        begun = not facts["was_before"] or _has_all(raw, still)
        frame = raw if begun else raw.with_columns(pl.col(name) - pl.col(name).first() for name in _COUNTERS)
        for seen_from, carried, counter in ways:
            time_s = frame["time_s"].to_numpy()
            stood = still if seen_from == "sender" else np.zeros_like(still)
            shut = _is_shut(frame, seen_from)
            if carried < LEAST_BYTES and not stood.any() and _lasted_in_s(time_s, shut) < _LEAST_SHUT_S:
                continue
            start_s, end_s = _lasted(frame, counter, facts, interval_s)
            if stood.any():
                start_s, end_s = min(start_s, float(time_s[stood][0])), max(end_s, float(time_s[stood][-1]))
            carried_until_s = end_s
            if shut.any():
                start_s, end_s = min(start_s, float(time_s[shut][0])), max(end_s, float(time_s[shut][-1]))
            # The kernel counts a client's SYN.
            payload = 0 if carried == 1 else carried
            yield _Half(
                place,
                facts,
                seen_from,
                is_client=_is_client(facts, host),
                bytes=payload,
                frame=_with_looks_between(frame, shut, interval_s) if seen_from == "receiver" else frame,
                start_s=start_s,
                end_s=end_s,
                carried_until_s=carried_until_s,
                begun=begun,
            )


def _table(columns: Mapping[str, Any]) -> pl.DataFrame:
    """The table `sockets` of a connection, as the kernel counts."""
    return pl.DataFrame(
        {name: np.frombuffer(of, dtype=np.float64) for name, of in columns.items() if isinstance(of, bytes)},
        nan_to_null=True,
    ).with_columns(pl.Series("ca_state", columns["ca_state"], dtype=pl.String))


def _stands_still(columns: Mapping[str, Any], *, was_before: bool) -> Flags:
    """The samples in which this host sends in vain. Small segments do not count."""
    acked, sent, again, unacked, mss, timeouts, backoff = (
        np.frombuffer(columns[name], dtype=np.float64)
        for name in (
            *("bytes_acked", "bytes_sent", "bytes_retrans", "unacked_segments", "mss_bytes"),
            *("total_rto", "backoff"),
        )
    )
    full = float(np.max(mss, initial=0.0, where=np.isfinite(mss)))
    outstanding = np.fmin(unacked * full, sent - again - acked)
    before = float(np.nan_to_num(timeouts[0] - np.nan_to_num(backoff[0]))) if was_before else 0.0
    return stands_still(acked, outstanding, timeouts, full, before)


def _is_shut(frame: pl.DataFrame, seen_from: SeenFrom) -> Flags:
    """The samples in which the receive window has no room for a segment, and the sender has more or the
    receiver's buffer is unread. Whoever waits for the transfer waits then, too."""
    room = pl.min_horizontal(pl.col("mss_bytes"), USUAL_MSS)
    if seen_from == "sender":
        found = (pl.col("snd_wnd_bytes") < room) & (pl.col("rwnd_limited_s").diff() > 0)
    else:
        unread = pl.col("rmem_alloc_bytes")
        found = (pl.col("rcv_wnd_bytes") < room) & (unread > 0) & (unread >= UNREAD * pl.col("rcvbuf_bytes"))
    return frame.select(found.fill_null(value=False)).to_series().to_numpy()


def _lasted_in_s(time_s: Floats, where: Flags) -> float:
    """A sample is about the time since the one before."""
    return float(np.diff(time_s, prepend=time_s[:1])[where].sum())


def _with_looks_between(frame: pl.DataFrame, shut: Flags, interval_s: float) -> pl.DataFrame:
    """The samples, with those again that were left out as they say what the one before says, where the window
    stays shut: there they are the evidence."""
    time_s = frame["time_s"].to_numpy()
    apart_s = np.diff(time_s, prepend=time_s[:1])
    stays = shut & np.concatenate([[False], shut[:-1]])
    times = np.where(stays, np.clip(np.round(apart_s / interval_s), 1, _MOST_AGAIN), 1).astype(int)
    if times.max(initial=1) == 1:
        return frame
    place = np.repeat(np.arange(time_s.size), times)
    before = np.concatenate([np.arange(each)[::-1] for each in times])
    again = frame[np.where(before > 0, place - 1, place)]
    return again.with_columns(pl.Series("time_s", time_s[place] - (apart_s / times)[place] * before))


def _has_all(raw: pl.DataFrame, still: Flags) -> bool:
    """Whether a connection that stands still when the watch begins had delivered less than a segment. Then
    its counters say all of it."""
    acked, full = raw["bytes_acked"][0], raw["mss_bytes"][0]
    return bool(still[0]) and acked is not None and full is not None and acked < full


def _lasted(
    frame: pl.DataFrame, counter: str, facts: Mapping[str, Any], interval_s: float
) -> tuple[float, float]:
    """From the sample before the payload first grew to the one at which it last did. One that was open before
    may have been between two bursts: it counts from the first sample, unless it was idle for longer than
    twice its longest pause later."""
    time_s = frame["time_s"].to_numpy()
    carried = frame[counter].fill_null(0.0).to_numpy()
    grew = np.flatnonzero(np.diff(carried, prepend=0.0 if not facts["was_before"] else carried[0]) > 0)
    if not grew.size:
        return float(time_s[0]), float(time_s[-1])
    first = int(grew[0])
    pauses_s = np.diff(time_s[grew])
    was_idle = pauses_s.size and time_s[first] - time_s[0] > _LONGER * pauses_s.max()
    if facts["was_before"] and not was_idle:
        return float(time_s[0]), float(time_s[grew[-1]])
    # One that was opened between two looks was opened in the middle, for all that is known.
    begun_s = float(time_s[first - 1]) if first else float(time_s[0]) - interval_s / 2
    return begun_s, float(time_s[grew[-1]])


def _is_client(of: Mapping[str, Any], facts: HostFacts) -> bool:
    """Whether this host opened the connection: nothing listens on its own port, and that is not the only one
    of the two that nobody gives out by itself."""
    if of["local_port"] in facts.listening:
        return False
    given_out = facts.ephemeral
    return of["local_port"] in given_out or of["remote_port"] not in given_out


def _transfers(halves: Iterable[_Half]) -> Iterator[list[_Half]]:
    by_key: dict[tuple[str, int, str], list[_Half]] = {}
    for half in halves:
        by_key.setdefault(half.key, []).append(half)
    for every in by_key.values():
        every.sort(key=lambda half: half.start_s)
        group = [every[0]]
        for half in every[1:]:
            if half.start_s > max(each.carried_until_s for each in group) + _APART_S:
                yield group
                group = []
            group.append(half)
        yield group


def _name(of: _Half) -> str:
    remote = of.facts["remote"]
    sends = of.seen_from == "sender"
    if of.is_client:
        host = f"[{remote}]" if ":" in remote else remote
        return f"{'to' if sends else 'from'} {host}:{of.facts['remote_port']}"
    return f"port {of.facts['local_port']} {'to' if sends else 'from'} {remote}"


def _evidence(
    group: Sequence[_Half], name: str, facts: HostFacts, pings: pl.DataFrame | None, used_by: UsedBy
) -> Evidence:
    of = group[0]
    sends = of.seen_from == "sender"
    convert = at_sender if sends else at_receiver
    frames = [
        convert(
            half.frame.filter(pl.col("time_s") <= half.end_s).with_columns(
                pl.lit(number, pl.Int64).alias("connection"), pl.col("app_limited").cast(pl.Boolean)
            )
        )
        for number, half in enumerate(group)
    ]
    frame = samples(pl.concat(frames))
    ours, theirs = _offered(of.facts, facts)
    shortest_s = frame["min_rtt_s"].min()
    ended: Ended = "finished" if all(half.facts["closed"] for half in group) else "open"
    sizes = [size for half in group for size in half.frame["mss_bytes"].drop_nulls().to_list()]
    start_s, end_s = min(half.start_s for half in group), max(half.end_s for half in group)
    used = used_by((half.facts["inode"] for half in group), start_s, end_s)
    return Evidence(
        name=name if len(group) == 1 else f"{name}, {len(group)} connections",
        direction="up" if sends == of.is_client else "down",
        seen_from=of.seen_from,
        start_s=start_s,
        end_s=end_s,
        bytes=sum(half.bytes for half in group),
        mss_bytes=int(max(sizes)) if sizes else None,
        samples=frame,
        within_host=facts.is_itself(of.facts["remote"])
        and shortest_s is not None
        and float(shortest_s) < _WITHIN_HOST_S,  # type: ignore[arg-type]
        ends=frozenset({of.facts["remote"]}),
        events=happened(frame),
        pings=pl.DataFrame(schema=PINGS) if pings is None else pings,
        sender_offered=ours if sends else theirs,
        receiver_offered=theirs if sends else ours,
        ended=ended,
        congestion_control=of.facts["congestion_control"] if sends else None,
        sndbuf_most_bytes=facts.most("tcp_wmem") if sends else None,
        rcvbuf_most_bytes=None if sends else facts.most("tcp_rmem"),
        processor_share=used.shares,
        holders=used.holders,
        begun=all(half.begun for half in group),
    )


def _offered(of: Mapping[str, Any], facts: HostFacts) -> tuple[Offered, Offered]:
    """Ours and theirs. What was agreed, both offered; what we offer and was not agreed, they did not."""

    def each(name: str, agreed: bool) -> tuple[bool | None, bool | None]:
        if agreed:
            return True, True
        own = facts.sysctl.get(f"net.ipv4.{name}")
        return (None, None) if own is None else (own != "0", False if own != "0" else None)

    sack, timestamps, scaling = (
        each("tcp_sack", of["sack"]),
        each("tcp_timestamps", of["timestamps"]),
        each("tcp_window_scaling", of["window_scaling"]),
    )
    shift = {True: None, None: None, False: -1}
    ours, theirs = (
        Offered(
            sack=sack[which],
            timestamps=timestamps[which],
            window_scale=shift[scaling[which]],
            ecn=True if of["ecn"] else None,
        )
        for which in (0, 1)
    )
    return ours, theirs


def _remarks(report: Mapping[str, Any], left_out: int, small: int, connections: int) -> list[str]:
    found = []
    if not connections:
        found.append(
            "No connection that is watched was seen in that time. One that is open for less than the time "
            "between two samples may be missed."
        )
    if left_out:
        found.append(f"{plural(left_out, 'more transfer')} carried less than what is shown.")
    if small:
        found.append(f"{plural(small, 'connection')} carried less than 20 kB, which is too little to tell.")
    if report["missed"] > max(report["looks"] // 20, 1):
        found.append(
            f"{report['missed']} looks were left out: those before them took longer than the interval."
        )
    if report["spared"] > report["looks"] / 2:
        apart_ms = report["lasted_s"] / report["looks"] * 1e3
        found.append(
            f"The sockets were sampled every {apart_ms:.0f} ms on average, because more looks would have "
            "taken too much of a core. --every sets the time between two."
        )
    if report["first_error"]:
        found.append(f"{report['errors']} looks failed: {report['first_error']}.")
    return found
