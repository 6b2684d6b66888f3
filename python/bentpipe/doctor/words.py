"""A diagnosis in words: some ten lines for a terminal, and JSON."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bentpipe.doctor.claim import Finding, known
from bentpipe.doctor.cures import Cure, OnOthers
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import Interval, PathSeen, telling
from bentpipe.doctor.reproduced import AS_MUCH, Reproduced
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, listed, percent, plural, rate, ratio_interval, size

_MOST_FINDINGS = 4
LEAST_SHARE = 0.01
"""Of the time, from which a finding is shown."""
_WHOLE = 1.005
_NEAREST_S = 0.005
"""The shortest round trip of the labs that the doctor's rules and trees come from."""
_LEAST_JITTER = 0.01
"""Of the base RTT; less is not said."""
_ORDER = "Shares are of the time. What cost most comes first, or capacity on a path that was full."
_BESIDE = ("bufferbloat", "split")
"""Kinds whose time other findings count, too."""

_LONGER_S = 0.01
_CLEARLY = 1.25
"""A mean wait is told if it changes by `_LONGER_S` and by this factor or more."""

Cures = Sequence[Sequence[Cure]]
"""For each transfer."""
Simulated = Sequence[Reproduced | None]
"""For each transfer; None: it was not simulated."""


def lines(
    found: Sequence[Diagnosis], paths: Sequence[PathSeen], better: Cures, simulated: Simulated
) -> Iterator[str]:
    """For a terminal. `paths`: of each transfer."""
    yield from transfer_lines(found, better, simulated)
    yield from path_lines(found, paths)


def transfer_lines(found: Sequence[Diagnosis], better: Cures, simulated: Simulated) -> Iterator[str]:
    """What limited each transfer, and what would help."""
    if not found:
        yield "No transfer was sampled, so nothing can be told."
    for each, changes, again in zip(found, better, simulated, strict=True):
        evidence = each.evidence
        goodput = "goodput unknown" if evidence.goodput_bit_s is None else rate(evidence.goodput_bit_s)
        way = f"{evidence.direction}, " if evidence.direction else ""
        yield (
            f"{evidence.name} ({way}seen from the {evidence.seen_from}): {goodput} for "
            f"{duration(evidence.duration_s)}"
        )
        shown = _shown(each)
        for place, finding in enumerate(shown):
            sure = f"certainty {percent(finding.certainty)}"
            yield f"  {percent(finding.share):>6}  {finding.kind}: {finding.because} ({sure})."
            if place == 0:
                yield f"          It would not be so with {finding.otherwise}."
        if each.neighbours:
            yield f"          {shared_words(each)}"
        if again is not None:
            yield f"          {reproduced_words(each, again)}"
        for cure in changes:
            yield f"          {cure_words(cure)}"
    if any(map(_needs_order, found)):
        beside = {each.kind for of in found for each in _shown(of)} & set(_BESIDE)
        yield _ORDER + (
            f" The share of {' and '.join(sorted(beside))} is counted beside the others." if beside else ""
        )


def path_lines(found: Sequence[Diagnosis], paths: Sequence[PathSeen]) -> Iterator[str]:
    """Each path in a sentence; of several with the transfers that took it. `paths`: of each transfer."""
    for path, of in users_of(found, paths).items():
        yield f"Path as seen{of}: {path_words(path)}."
    if any(path.rtt_s and path.rtt_s < _NEAREST_S for path in users_of(found, paths)):
        yield (
            f"The doctor is made for round trips of {duration(_NEAREST_S)} and more. "
            "On nearer paths it is wrong more often."
        )


def users_of(found: Sequence[Diagnosis], paths: Sequence[PathSeen]) -> dict[PathSeen, str]:
    """Each path, of several with the transfers that took it, in brackets. Within a host there is none.
    `paths`: of each transfer."""
    users: dict[PathSeen, list[str]] = {}
    for each, path in zip(found, paths, strict=True):
        if each.evidence.within_host:
            continue
        users.setdefault(path, []).append(each.evidence.name)
    return {path: f" ({listed(names)})" if len(users) > 1 else "" for path, names in users.items()}


def _shown(of: Diagnosis) -> Sequence[Finding]:
    large = [each for each in of.findings if each.share >= LEAST_SHARE]
    return large[:_MOST_FINDINGS] or of.findings[:1]


def _needs_order(of: Diagnosis) -> bool:
    """Whether the shares of its findings do not descend, or count some time twice."""
    shares = [each.share for each in _shown(of)]
    return shares != sorted(shares, reverse=True) or sum(shares) > _WHOLE


def shared_words(of: Diagnosis) -> str:
    """With whom it shares the path, in a sentence."""
    others = plural(of.neighbours, "connection")
    return f"It shares a queue with {others} of the other transfers: the path's rate is that of all together."


def cure_words(of: Cure) -> str:
    """What a change would give, in a sentence."""
    what = " and ".join(f"{key} = {_written(value)}" for key, value in of.change.items())
    most = "more, as the path allows" if of.high_bit_s is None else rate(of.high_bit_s)
    words = f"With {what}: {rate(of.goodput_bit_s)}, simulated ({rate(of.low_bit_s)} to {most})."
    return " ".join((words, *_on_others_words(of.on_others)))


def _on_others_words(of: OnOthers) -> Iterator[str]:
    if of.times is not None and of.low is not None and of.high is not None and not of.low <= 1 <= of.high:
        times = f"{digits(of.times)} times as much ({ratio_interval(of.low, of.high)})"
        yield f"The transfers beside it then get {times}."
    if of.waits_s is not None:
        low_s, high_s = sorted(of.waits_s)
        if high_s - low_s >= _LONGER_S and high_s >= _CLEARLY * low_s:
            before, after = map(duration, of.waits_s)
            yield f"Everybody's packets then wait {after} in the path's queue on average, not {before}."


def reproduced_words(of: Diagnosis, again: Reproduced) -> str:
    """What was seen beside what its lab gives, in a sentence."""
    seen = of.evidence.goodput_bit_s or 0.0
    mean = rate(again.goodput_bit_s)
    ends = (rate(again.low_bit_s), rate(again.high_bit_s))
    interval = f" ({' to '.join(ends)})" if ends != (mean, mean) else ""
    kind = f", limited by {again.kind}" if again.kind else ""
    words = f"Seen {rate(seen)}; simulated on the path as seen {mean}{interval}{kind}."
    if not 1 / AS_MUCH <= again.goodput_bit_s / max(seen, 1.0) <= AS_MUCH:
        words += " So this lab lacks what limited, and what it gives of a change is a hint at most."
    return words


def _written(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


_RATE_BY = {
    "trains": " (by packet trains)",
    "bursts": " (by bursts)",
    "start": " (by the round trips of slow start)",
}


def path_words(path: PathSeen) -> str:
    """The path as it was seen, as the end of a sentence."""
    by = _RATE_BY.get(path.rate_from, "")
    parts = [
        "base RTT " + ("unknown" if path.rtt_s is None else duration(path.rtt_s)),
        "rate " + ("unknown: no queue showed it" if path.rate_bit_s is None else rate(path.rate_bit_s)) + by,
        "queue " + ("unknown" if path.queue_bytes is None else size(path.queue_bytes)),
        _loss_words(path),
    ]
    if path.jitter_s and (path.jitter_interval_s[0] or 0.0) >= _LEAST_JITTER * (path.rtt_s or 0.0):
        parts.append(f"jitter {duration(path.jitter_s)}")
    return ", ".join(parts)


def _loss_words(path: PathSeen) -> str:
    if path.loss is None:
        return "loss unknown"
    if path.loses_in_bursts and path.loss_burst_segments:
        return f"loss events {percent(path.loss)}, of {digits(path.loss_burst_segments, 2)} segments each"
    return f"loss {percent(path.loss)}"


def path_rows(path: PathSeen) -> Iterator[tuple[str, str, str]]:
    """The path as a table: what it is, its figure and its interval."""

    def row(
        name: str, value: float | None, interval: Interval, words: Callable[[float], str]
    ) -> tuple[str, str, str]:
        return name, "unknown" if value is None else words(value), _interval_words(interval, words)

    yield row("base RTT", path.rtt_s, path.rtt_interval_s, duration)
    yield row("rate", path.rate_bit_s, path.rate_interval_bit_s, rate)
    yield row("longest queue", path.queue_bytes, path.queue_interval_bytes, size)
    yield row("loss events per segment", path.loss, path.loss_interval, percent)
    yield row(
        "segments lost in each",
        path.loss_burst_segments,
        path.loss_burst_interval,
        lambda count: digits(count, 2),
    )
    yield row("jitter", path.jitter_s, path.jitter_interval_s, duration)


def _interval_words(of: Interval, words: Callable[[float], str]) -> str:
    low, high = of
    if low is None:
        return "" if high is None else f"up to {words(high)}"
    return f"{words(low)} or more" if high is None else f"{words(low)} to {words(high)}"


def as_json(
    source: str,
    found: Sequence[Diagnosis],
    paths: Sequence[PathSeen],
    better: Cures,
    simulated: Simulated,
) -> dict[str, Any]:
    """`paths`: of each transfer. `path` is that of the transfer that tells most."""
    return {
        "source": source,
        "transfers": [_transfer(*each) for each in zip(found, paths, better, simulated, strict=True)],
        "path": paths[telling(found)].as_json() if found else None,
    }


def _plain(words: str) -> str:
    """With ordinary spaces between a figure and its unit."""
    return words.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def _transfer(
    of: Diagnosis, path: PathSeen, changes: Sequence[Cure], again: Reproduced | None
) -> dict[str, Any]:
    evidence = of.evidence
    goodput = evidence.goodput_bit_s
    return {
        "name": evidence.name,
        "direction": evidence.direction,
        "seen_from": evidence.seen_from,
        "start_s": known(evidence.start_s),
        "duration_s": known(evidence.duration_s),
        "bytes": evidence.bytes,
        "goodput_mbit_s": None if goodput is None else known(goodput / 1e6),
        "neighbours": of.neighbours,
        "findings": [_finding(each) for each in of.findings],
        "cures": [each.as_json() for each in changes],
        "path": path.as_json(),
        "simulated": None if again is None else again.as_json(),
    }


def _finding(of: Finding) -> dict[str, Any]:
    return {
        "kind": of.kind,
        "share": of.share,
        "certainty": of.certainty,
        "because": _plain(of.because),
        "evidence": dict(of.evidence),
        "formula": of.formula,
        "otherwise": _plain(of.otherwise),
        "lost_share": of.lost_share,
    }
