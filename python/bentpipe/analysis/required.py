"""Checks requirements at every point and for every variant. A requirement without values is broken."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bentpipe.analysis.cells import counts
from bentpipe.analysis.intervals import ratio_of
from bentpipe.analysis.means import Mean, mean
from bentpipe.analysis.metrics import Metric, known, matching, named
from bentpipe.analysis.pairs import PointPairs, Thing, alone, failure, matched, things
from bentpipe.analysis.requirement import Requirement
from bentpipe.runs.store import Results

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Check:
    """One figure of one thing at one point, against one requirement."""

    requirement: Requirement
    figure: str
    thing: str
    point: Mapping[str, Any]
    met: bool
    found: float | None
    """A ratio to the baseline, a difference from it or the figure, as is required. None: nothing was."""
    found_as: str
    """`ratio`, `difference` or `figure`."""
    low: float | None
    high: float | None
    """Its interval. None: of a single value."""
    count: int
    """Pairs, or runs where it is a plain number."""
    sure: bool
    """Whether all of the interval says the same."""
    repeats: int | None
    """How many would settle it, where it is not sure. None: too many to say."""
    why: str
    """What there was instead, where there is nothing to go by."""

    def as_json(self) -> dict[str, Any]:
        return {
            "requirement": self.requirement.text,
            "metric": self.figure,
            "thing": self.thing,
            "point": dict(self.point),
            "met": self.met,
            "found": self.found,
            "found_as": self.found_as,
            "interval": None if self.low is None else [self.low, self.high],
            "count": self.count,
            "sure": self.sure,
            "repeats_to_settle": self.repeats,
            "why": self.why,
        }


def check(
    sweeps: Sequence[Results], baseline: str | None, requirements: Sequence[Requirement]
) -> list[Check]:
    """Every requirement, at every point and of every thing that has such a figure.

    Of a single folder a plain number is required of each variant. Raises ComparisonError where no run has the
    figure, or where a baseline is asked for and there is none.
    """
    names = known(run for sweep in sweeps for run in sweep.records)
    found = []
    for requirement in requirements:
        metrics = named(matching([requirement.figure], names, "--require"))
        by_itself = len(sweeps) == 1 and not requirement.paired
        for thing in alone(sweeps[0]) if by_itself else things(sweeps, baseline):
            at_points = matched(thing)
            each = [
                _check(requirement, metric, thing, at_point) for metric in metrics for at_point in at_points
            ]
            judged = [one_check for one_check in each if one_check]
            found += judged or [_nothing(requirement, requirement.figure, thing, {}, "no run of it has one")]
    return found


def _check(requirement: Requirement, metric: Metric, thing: Thing, at_point: PointPairs) -> Check | None:
    """None where the point has no such figure: its workload is not one of it."""
    failed = sum(failure(run) for run in at_point.ours)
    if failed:
        return _nothing(
            requirement, metric.name, thing, at_point.point, f"{failed} of {len(at_point.ours)} runs failed"
        )
    if requirement.paired:
        both = [
            (pair.seed, metric.figure(pair.theirs), metric.figure(pair.ours))
            for pair in at_point.pairs
            if pair.counts
        ]
    else:
        both = [(run.get("seed", 1), 0.0, metric.figure(run)) for run in at_point.ours if counts(run)]
    used = [(seed, a, b) for seed, a, b in both if a is not None and b is not None]
    late = sum(math.isinf(b) for _, _, b in used)
    if late:
        why = f"not done by the run's end in {late} of {len(used)}"
        return _nothing(requirement, metric.name, thing, at_point.point, why)
    numbers = {seed: (a, b) for seed, a, b in used if math.isfinite(a)}
    if numbers:
        return _judged(requirement, metric.name, thing, at_point.point, numbers)
    if used:
        why = f"the baseline was not done by the run's end in {len(used)} of {len(used)}"
        return _nothing(requirement, metric.name, thing, at_point.point, why)
    runs = [*at_point.ours, *at_point.theirs]
    if any(run.get("workloads") for run in runs) and all(metric.figure(run) is None for run in runs):
        return None
    return _nothing(requirement, metric.name, thing, at_point.point, _why(at_point, requirement.paired))


def _judged(
    requirement: Requirement,
    figure: str,
    thing: Thing,
    point: Mapping[str, Any],
    numbers: Mapping[int, tuple[float, float]],
) -> Check:
    factor, offset = requirement.factor, requirement.offset
    as_ratio = requirement.paired and offset == 0 and all(a > 0 and b > 0 for a, b in numbers.values())
    if as_ratio:
        beyond = mean({0: {seed: math.log(b / a / factor) for seed, (a, b) in numbers.items()}})
    else:
        beyond = mean({0: {seed: b - factor * a - offset for seed, (a, b) in numbers.items()}})
    assert beyond is not None
    of_theirs = fmean(a for a, _ in numbers.values())

    def told(value: float) -> float:
        """What was found, of how far it is beyond the bound."""
        if as_ratio:
            return factor * ratio_of(value)
        return value + offset + (factor - 1) * of_theirs if requirement.paired else value + offset

    sense = 1 if requirement.at_least else -1
    largest = 1.0 if as_ratio else max(abs(offset), *(abs(b) for _, b in numbers.values()))
    rounding = _ROUNDING * largest
    within = sense * beyond.value
    met = within > rounding if requirement.strict else within >= -rounding
    sure, ends = _sure(beyond, sense, met), beyond.interval
    return Check(
        requirement,
        figure,
        thing.name,
        point,
        met,
        told(beyond.value),
        "ratio" if as_ratio else "difference" if requirement.paired else "figure",
        None if ends is None else told(ends.low),
        None if ends is None else told(ends.high),
        len(numbers),
        sure,
        None if sure else beyond.repeats(),
        "",
    )


def _sure(beyond: Mean, sense: int, met: bool) -> bool:
    if beyond.interval is None:
        return False
    worst, best = sorted((sense * beyond.interval.low, sense * beyond.interval.high))
    return worst >= 0 if met else best <= 0


def _nothing(
    requirement: Requirement, figure: str, thing: Thing, point: Mapping[str, Any], why: str
) -> Check:
    return Check(
        requirement, figure, thing.name, point, False, None, "figure", None, None, 0, False, None, why
    )


def _why(at_point: PointPairs, paired: bool) -> str:
    if not at_point.ours or (paired and not at_point.theirs):
        return "it was not run here" if not at_point.ours else "the baseline was not run here"
    out = at_point.left_out
    words = [
        f"{count} {word}" for word, count in (("failed", out.failed), ("unreliable", out.unreliable)) if count
    ]
    if paired and out.without_partner:
        words.append(f"{out.without_partner} without a partner of the same point and seed")
    if at_point.pairs and not words:
        words.append("a figure that only one of the two has")
    return f"no {'pair' if paired else 'run'} to go by: {', '.join(words) or 'no figure'}"
