"""A diagnosis in words: some ten lines for a terminal, and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from bentpipe.doctor.claim import Finding, known
from bentpipe.doctor.cures import Cure
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import PathSeen
from bentpipe.words.wording import duration, percent, plural, rate, size

_MOST_FINDINGS = 4
_LEAST_SHARE = 0.01


Cures = Sequence[Sequence[Cure]]
"""For each transfer."""


def lines(found: Sequence[Diagnosis], path: PathSeen | None, better: Cures) -> Iterator[str]:
    """For a terminal."""
    if not found:
        yield "No transfer was sampled, so nothing can be told."
    for each, changes in zip(found, better, strict=True):
        evidence = each.evidence
        goodput = "goodput unknown" if evidence.goodput_bit_s is None else rate(evidence.goodput_bit_s)
        way = f"{evidence.direction}, " if evidence.direction else ""
        yield (
            f"{evidence.name} ({way}seen from the {evidence.seen_from}): {goodput} for "
            f"{duration(evidence.duration_s)}"
        )
        shown = [each for each in each.findings if each.share >= _LEAST_SHARE] or each.findings[:1]
        for finding in shown[:_MOST_FINDINGS]:
            yield f"  {percent(finding.share):>6}  {finding.kind}: {finding.because}."
        first = shown[0]
        yield f"          Certainty {percent(first.certainty)}. It would not be so with {first.otherwise}."
        if each.neighbours:
            yield f"          {shared_words(each)}"
        for cure in changes:
            yield f"          {cure_words(cure)}"
    if path is not None:
        yield f"Path as seen: {path_words(path)}."


def shared_words(of: Diagnosis) -> str:
    """With whom it shares the path, in a sentence."""
    others = plural(of.neighbours, "connection")
    return f"It shares a queue with {others} of the other transfers: the path's rate is that of all together."


def cure_words(of: Cure) -> str:
    """What a change would give, in a sentence."""
    what = " and ".join(f"{key} = {_written(value)}" for key, value in of.change.items())
    most = "more, as the path allows" if of.high_bit_s is None else rate(of.high_bit_s)
    return f"With {what}: {rate(of.goodput_bit_s)}, simulated ({rate(of.low_bit_s)} to {most})."


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
        "rate " + ("unknown: it was never full" if path.rate_bit_s is None else rate(path.rate_bit_s)) + by,
        "queue " + ("unknown" if path.queue_bytes is None else size(path.queue_bytes)),
        "loss " + ("unknown" if path.loss is None else percent(path.loss)),
    ]
    return ", ".join(parts)


def as_json(source: str, found: Sequence[Diagnosis], path: PathSeen | None, better: Cures) -> dict[str, Any]:
    return {
        "source": source,
        "transfers": [_transfer(each, changes) for each, changes in zip(found, better, strict=True)],
        "path": None if path is None else path.as_json(),
    }


def _plain(words: str) -> str:
    """With ordinary spaces between a figure and its unit."""
    return words.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def _transfer(of: Diagnosis, changes: Sequence[Cure]) -> dict[str, Any]:
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
