"""What limited each transfer, in sentences: each with its figure and unit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bentpipe.analysis.cells import is_imported
from bentpipe.analysis.limits import Explained, Finding, Pipe, Transfer, titrates
from bentpipe.report import gateway_explained, tunnel_explained
from bentpipe.runs.summary import tunnel_figures
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, listed, percent, plural, point_words, rate, size

_LEAST_SHARE = 0.01
"""Smaller shares are left out of the text."""
_LEAST_OF_THE_MOST = 0.1
"""Causes with fewer drops, beside those of the most frequent cause, are left out too."""
_CAUSES = {
    "tail": "by the full queue",
    "aqm": "by the queue discipline",
    "policer": "by the policer",
    "ingress": "before the queue",
    "line": "by the delay line's limit",
    "channel": "by the channel's loss",
    "outage": "by an outage",
}
_AFTER = {
    "short-queue": "drops by the full queue",
    "aqm": "drops by the queue discipline",
    "random-loss": "random loss",
    "policer": "drops by the policer",
    "line-drops": "drops by the delay line's limit",
    "outage": "an outage",
}


def lines(of: Explained) -> Iterator[str]:
    """Some ten lines; those of a transfer are indented."""
    yield f"{of.record['run']}: {heading(of.record)}"
    yield from (f"  ! {why}" for why in of.record.get("why", []))
    if not of.transfers:
        yield "  No workload of this run carries payload, so there is no transfer to explain."
    for transfer in of.transfers:
        yield f"  {_summary(transfer)}"
        if transfer.why_none:
            yield f"      What limited it cannot be told: {transfer.why_none}."
        yield from (f"    {share:>6}  {words}" for share, words in shares(transfer, of.pipes))
        yield from (f"      {line}" for line in _beside(transfer, of.pipes))
    for pipe in of.pipes:
        yield from (f"  {line}" for line in _of_pipe(pipe, titrated=titrates(of.record, pipe.name)))
    yield from (f"  {line}" for line in tunnel_explained.lines(of.record))
    yield from (f"  {line}" for line in gateway_explained.lines(of.record))
    if of.pings:
        sent, lost, median_s = of.pings
        median = "none answered" if median_s is None else f"median {duration(median_s)}"
        yield f"  Pings: {median}; {lost} of {sent} lost."
    for name, figures in of.interactive.items():
        yield f"  {_answers(name, figures)}"
    for name, figures in of.calls.items():
        yield f"  {_heard(name, figures)}"


def _answers(name: str, figures: Mapping[str, Any]) -> str:
    """Of a workload `interactive`."""
    known = {word: figures.get(f"{word}_ms") for word in ("p50", "p95", "p99", "max")}
    delays = [f"{word} {duration(ms / 1e3)}" for word, ms in known.items() if ms is not None]
    said = ", ".join(delays) or "none answered"
    return f"Keystrokes of {name}: {said}; {figures['unanswered']} of {figures['sent']} unanswered."


def _heard(name: str, figures: Mapping[str, Any]) -> str:
    """Of a workload `call`."""
    said = [f"MOS {digits(figures['mos'], 3)}"] if figures.get("mos") is not None else []
    for way in ("down", "up"):
        found = figures.get(way) or {}
        shown = {"lost": found.get("loss"), "late": found.get("late_loss")}
        parts = [f"{percent(share)} {word}" for word, share in shown.items() if share is not None]
        if parts:
            said.append(f"{way} {listed(parts)}")
    return f"Call of {name}: {'; '.join(said) or 'nothing came'}."


def shares(of: Transfer, pipes: Sequence[Pipe]) -> list[tuple[str, str]]:
    """Each limit of a transfer: its share of the time, and why. Small shares are left out."""
    return [
        (percent(each.share), because(each, pipes, of)) for each in of.findings if each.share >= _LEAST_SHARE
    ]


def heading(record: Mapping[str, Any]) -> str:
    words = [*point_words(record.get("point", {})), str(record.get("variant", "as is"))]
    counted = "repeat" if is_imported(record) else "seed"
    return f"{', '.join(words)}, {counted} {record.get('seed', 1)} ({record.get('engine', 'unknown engine')})"


def as_json(of: Explained) -> dict[str, Any]:
    """For `--json`."""
    record = of.record
    base = next((pipe for pipe in of.pipes), None)
    return {
        "run": record["run"],
        "engine": record.get("engine"),
        "variant": record.get("variant"),
        "point": record.get("point"),
        "seed": record.get("seed"),
        "reliable": record.get("reliable"),
        "why": record.get("why", []),
        "source": "run",
        "transfers": [_transfer_json(each, of.pipes) for each in of.transfers],
        "path": {
            "rtt_s": base and base.base_rtt_s,
            "rate_mbit_s": base and _mbit_s(base.capacity_bit_s),
            "queue_bytes": base and base.queue_limit_bytes,
        },
        "pipes": {pipe.name: asdict(pipe) for pipe in of.pipes},
        "tunnel": {name: tunnel_figures(of) for name, of in (record.get("tunnel") or {}).items()},
    }


def _transfer_json(of: Transfer, pipes: Sequence[Pipe]) -> dict[str, Any]:
    return {
        "name": of.name,
        "workload": of.workload,
        "kind": of.kind,
        "direction": of.direction,
        "seen_from": "sender",
        "sender": of.sender,
        "duration_s": of.duration_s,
        "goodput_mbit_s": _mbit_s(of.goodput_bit_s),
        "rate_mbit_s": _mbit_s(of.capacity_bit_s),
        "first_byte_s": of.first_byte_s,
        "flow_s": of.flow_s,
        "flow_bytes": of.flow_bytes,
        "flows": of.flows,
        "connections": of.connections,
        "sampled_connections": of.sampled,
        "cache_hits": of.cache_hits,
        "retransmits": of.retransmits,
        "findings": [
            {
                "kind": each.kind,
                "share": each.share,
                "because": plain(because(each, pipes, of)),
                "evidence": dict(each.evidence),
            }
            for each in of.findings
        ],
        "why_none": of.why_none,
    }


def plain(words: str) -> str:
    """With ordinary spaces between a figure and its unit."""
    return words.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def because(of: Finding, pipes: Sequence[Pipe], transfer: Transfer) -> str:
    """Why this was the limit, with the figures."""
    if of.kind in _AFTER:
        return _small_window(of, next(pipe for pipe in pipes if pipe.name == transfer.direction))
    return _SENTENCES.get(of.kind, _no_limit)(of.evidence)


def _no_limit(_found: Mapping[str, Any]) -> str:
    return "the samples show no limit: no window was full and the link was not"


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "capacity": lambda found: f"the link was full{_set_to(found['rate_bit_s'])}",
    "receiver-window": lambda found: (
        f"the receive window was full: {_size(found['snd_wnd_bytes'])}"
        f"{_at_most(found['snd_wnd_bytes'], found['srtt_s'])}"
    ),
    "slow-start": lambda found: (
        f"slow start: cwnd was still growing, {_size(found['cwnd_bytes'])} in the median sample"
    ),
    "send-buffer": lambda found: (
        f"the send buffer, {_size(found['sndbuf_bytes'])}, was full and the program waited to write; "
        f"{_size(found['in_flight_bytes'])} in flight"
    ),
    "congestion-window": lambda found: (
        f"cwnd was full, {_size(found['cwnd_bytes'])}, though this pipe dropped nothing"
    ),
    "pacing": lambda found: (
        "BBR sent by its own estimate of the rate, below what cwnd allows"
        if found["of_bbr"]
        else f"the sender spaced its packets for {rate(found['pacing_rate_bit_s'])}, below what cwnd allows"
    ),
    "sender-application": lambda _found: (
        "the program had nothing more to send: all was on its way, or it waited for a request"
    ),
}


def _small_window(of: Finding, pipe: Pipe) -> str:
    found = of.evidence
    most = found["dropped_packets"]
    others = {
        kind: count for kind, count in found["other_drops"].items() if count >= _LEAST_OF_THE_MOST * most
    }
    drops = " or ".join(
        f"{_AFTER[kind]}, {plural(count, 'packet')}{_of_offered(count, found['offered_packets'])}"
        for kind, count in {of.kind: most, **others}.items()
    )
    queue = ""
    if found.get("queue_bytes"):
        queue = f"; the queue holds {size(found['queue_bytes'])}"
        if pipe.capacity_bit_s and pipe.base_rtt_s:
            bdps = found["queue_bytes"] * 8 / pipe.capacity_bit_s / pipe.base_rtt_s
            queue += f", {digits(bdps, 2)} BDP"
    return (
        f"cwnd was small after {drops}: "
        f"cwnd {_size(found['cwnd_bytes'])}{_at_most(found['cwnd_bytes'], found['srtt_s'])}{queue}"
    )


def _of_offered(count: int, offered: int) -> str:
    return f" ({percent(count / offered)})" if offered else ""


def _summary(of: Transfer) -> str:
    if of.goodput_bit_s is None:
        carried = "goodput unknown"
    else:
        carried = f"{rate(of.goodput_bit_s)} of payload"
        if of.cache_hits:
            carried += f", {plural(of.cache_hits, 'flow')} from the cache at near"
        elif of.capacity_bit_s:
            carried += (
                f", {percent(of.goodput_bit_s / of.capacity_bit_s)} of the rate {rate(of.capacity_bit_s)}"
            )
    took = "" if of.duration_s is None else f", in {duration(of.duration_s)}"
    several = f", {plural(of.flows, 'flow')}" if of.flows > 1 else ""
    return f"{of.name} ({of.direction}{several}): {carried}{took}"


def _beside(of: Transfer, pipes: Sequence[Pipe]) -> Iterator[str]:
    """What samples of sockets do not show."""
    if of.sender in ("near", "far"):
        yield (
            f"TCP is split: these are the limits of the path's own connection, which {of.sender} sends on."
        )
    base_s = next((pipe.base_rtt_s for pipe in pipes), None)
    if of.first_byte_s is not None:
        who = "The median flow's first byte came" if of.flows > 1 else "The first byte came"
        yield f"{who} after {duration(of.first_byte_s)}{_round_trips(of.first_byte_s, base_s)}."
    if of.flow_s is not None and of.flow_bytes is not None and of.flows > 1:
        took = f"{duration(of.flow_s)}{_round_trips(of.flow_s, base_s)}"
        yield f"The median flow, {size(of.flow_bytes)}, took {took}."
    if of.findings and of.connections and of.sampled < of.connections:
        sampled = f"{of.sampled} of {of.connections} connections"
        yield f"The shares are of {sampled}: the others were never sampled while they sent."


def _round_trips(seconds: float, base_s: float | None) -> str:
    count = digits(seconds / base_s, 2) if base_s else ""
    return f", {count} base round trip{'' if count == '1' else 's'}" if count else ""


def _of_pipe(of: Pipe, *, titrated: bool) -> Iterator[str]:
    if of.drops:
        causes = {**_CAUSES, "aqm": "as repairs without room in the queue"} if titrated else _CAUSES
        parts = [f"{plural(count, 'packet')} {causes[cause]}" for cause, count in of.drops.items()]
        yield f"Drops {of.name}: {listed(parts)}, of {digits(of.offered_packets, 12)} offered."
    queue = of.queue or {}
    words: Mapping[str, tuple[str, Callable[[float], str]]] = {
        "at_limit_share": ("at its limit {} of the time", percent),
        "empty_share": ("empty {} of the time with data to send", percent),
        "delay_s_mean": ("mean wait {}", duration),
        "delay_s_p95": ("p95 {}", duration),
    }
    parts = [
        text.format(figure(queue[key])) for key, (text, figure) in words.items() if queue.get(key) is not None
    ]
    if parts:
        yield f"Queue {of.name}: {', '.join(parts)}."


def _set_to(rate_bit_s: float | None) -> str:
    return "" if rate_bit_s is None else f": it carried 95 % or more of its {rate(rate_bit_s)}"


def _at_most(window_bytes: float | None, srtt_s: float | None) -> str:
    if not window_bytes or not srtt_s:
        return ""
    return f", at most {rate(window_bytes * 8 / srtt_s)} at an RTT of {duration(srtt_s)}"


def _size(count: float | None) -> str:
    return "unknown" if count is None else size(count)


def _mbit_s(bit_s: float | None) -> float | None:
    return None if bit_s is None else bit_s / 1e6
