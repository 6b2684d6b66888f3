"""Predicted against real: what the doctor says that a cure gives, and what the lab gives with that cure.

The doctor sees the run of a labelled lab from one end, by its sockets or by a capture, and predicts the
goodput of its best change. The same change is then made in the lab itself, which runs again with the same
seed: in `sim`, or in `live` for `live.py --cures`. The error is predicted / real - 1. Where the path was
never full its rate is unknown to the doctor, and its prediction holds only if the path carries so much;
such runs are counted apart, as they are and with the path's rate as the most.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from captured import can_be_captured, captured
from planted import HEADERS, MSS, SMALLER, Planted, draw
from records import has_its_limit, kept

import bentpipe
from bentpipe.doctor.cures import cures
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.doctor.path_seen import path_seen

CURED = (
    *("receiver-window", "send-buffer", "tcp-options", "slow-start"),
    *("random-loss", "short-queue", "policer", "line-drops", "reordering"),
)
"""Kinds for which the doctor knows a change."""
FIRST_SEED = 680_000
_DRAWS = 8
_NEAR = 0.1


@dataclass(frozen=True)
class Cured:
    kind: str
    end: str
    change: str
    seen_bit_s: float
    predicted_bit_s: float
    capped_bit_s: float
    """The same, or what the path carries if that is less."""
    real_bit_s: float
    path_known: bool
    """Whether the doctor knew the path's rate."""

    @property
    def error(self) -> float:
        return self.predicted_bit_s / self.real_bit_s - 1

    @property
    def capped_error(self) -> float:
        return self.capped_bit_s / self.real_bit_s - 1


def cured(number: int, *, kind: str, end: SeenFrom, captures: bool, every_s: float) -> list[Cured]:
    """Of the first draw of that number whose run has its planted limit. Empty: no change was proposed."""
    for seed in range(FIRST_SEED + number * _DRAWS, FIRST_SEED + (number + 1) * _DRAWS):
        planted = draw(kind, seed, of=SMALLER)
        if captures and not can_be_captured(planted.lab):
            continue
        run = kept(planted.lab)
        if has_its_limit(planted, run):
            seen = captured(planted.lab)[end] if captures else run.seen_from(end, every_s)
            return of_run(planted, seen[0], end, _simulated)
    return []


Change = Mapping[str, Any]
"""Dotted keys of a lab with their values."""


def of_run(
    planted: Planted,
    evidence: Evidence,
    end: str,
    real: Callable[[dict[str, Any], Change], Mapping[str, Any] | None],
) -> list[Cured]:
    """What the doctor predicts of that run's best change, and what `real` gives: the record of a run of the
    lab with the change, or None if it cannot be had. Empty: no change was proposed, or none was real."""
    kind = planted.kind
    found = diagnose(evidence)
    path = path_seen([found])
    proposed = cures(found, path) if path is not None else []
    seen = found.evidence.goodput_bit_s
    if not proposed or path is None or not seen:
        return []
    best = proposed[0]
    record = real(planted.lab, best.change)
    if record is None:
        return []
    rate_bit_s = float(planted.lab["path"]["rate"].split()[0]) * 1e6 * MSS / (MSS + HEADERS)
    return [
        Cured(
            kind,
            end,
            ", ".join(best.change),
            seen,
            best.goodput_bit_s,
            min(best.goodput_bit_s, rate_bit_s),
            _goodput_bit_s(record),
            path.rate_bit_s is not None,
        )
    ]


def changed(lab: dict[str, Any], change: Change) -> bentpipe.Lab:
    found = bentpipe.Lab(**lab)
    for key, value in change.items():
        found = found.replace(key, value)
    return found


def _simulated(lab: dict[str, Any], change: Change) -> Mapping[str, Any]:
    return bentpipe.simulate(changed(lab, change)).record


def _goodput_bit_s(record: Mapping[str, Any]) -> float:
    (work,) = record["workloads"].values()
    lasted_s = work.get("completion_s") or work.get("duration_s") or 0.0
    return float(work["bytes"] * 8 / lasted_s) if lasted_s else 0.0


def table(found: list[Cured], asked: int) -> Iterator[str]:
    """A line per kind and end, and the medians of all."""
    yield (
        "| planted | seen from | runs with a prediction | median error | within 10 % | with the path's rate "
        "as the most | largest | its change |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for end in dict.fromkeys(each.end for each in found):
        for kind in CURED:
            own = [each for each in found if each.end == end and each.kind == kind]
            yield _line(f"`{kind}`", end, own, asked)
        own = [each for each in found if each.end == end]
        whole = asked * len(CURED)
        yield _line("path's rate known", end, [each for each in own if each.path_known], whole)
        yield _line("path's rate unknown", end, [each for each in own if not each.path_known], whole)
        yield _line("all", end, own, whole)


def _line(name: str, end: str, own: list[Cured], asked: int) -> str:
    if not own:
        return f"| {name} | {end} | 0 of {asked} | | | | | |"
    errors = [abs(each.error) for each in own]
    changes = sorted({each.change for each in own})
    said = ", ".join(f"`{each}`" for each in changes) if name.startswith("`") else ""
    return (
        f"| {name} | {end} | {len(own)} of {asked} | {median(errors):.0%} | "
        f"{sum(each <= _NEAR for each in errors) / len(errors):.0%} | "
        f"{median(abs(each.capped_error) for each in own):.0%} | {max(errors):.0%} | {said} |"
    )


def of_kind(kind: str, end: SeenFrom, *, captures: bool, every_s: float) -> partial[list[Cured]]:
    return partial(cured, kind=kind, end=end, captures=captures, every_s=every_s)
