"""The effect of a variant or folder: for each metric the difference and the ratio over pairs of runs."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any

from bentpipe.analysis.intervals import LEVEL, Interval, ratio_of, together_at
from bentpipe.analysis.means import Mean, differences, log_ratios
from bentpipe.analysis.metrics import Metric, known, matching, named, of_kinds
from bentpipe.analysis.pairs import LeftOut, PointPairs, Thing, matched, things, together
from bentpipe.errors import ComparisonError
from bentpipe.runs.store import Results
from bentpipe.words.written import written

MORE, LESS, IDENTICAL = "more", "less", "identical in every pair"
NO_DIFFERENCE, NO_INTERVAL, NO_PAIR = "no difference seen", "one pair: no interval", "no pair"


@dataclass(frozen=True)
class Figures:
    """A metric of the pairs of one point."""

    point: Mapping[str, Any]
    by_seed: Mapping[int, tuple[float, float]]
    """Theirs and ours, of the pairs that count and have both."""
    doubtful: Sequence[tuple[float | None, float | None]]
    """Of the pairs that do not count."""
    left_out: LeftOut

    @property
    def speaks(self) -> bool:
        """Whether any run of the point has it, or should have."""
        return bool(self.by_seed or self.doubtful or self.left_out.not_finished or self.left_out.not_known)


@dataclass(frozen=True)
class Comparison:
    """One metric of one thing, at one point or over all."""

    thing: Thing
    part: str
    """`hit` or `miss` where a cache makes two things of one; else empty."""
    metric: Metric
    point: Mapping[str, Any] | None
    """None: over all points."""
    at: Sequence[Figures] = field(repr=False)
    difference: Mean | None
    log_ratio: Mean | None
    """None where a figure is not above 0."""
    among: int = 1
    """Of how many percentiles of the same times this is one: they are judged together."""

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.thing.name, self.part)))

    @property
    def pairs(self) -> int:
        return sum(len(each.by_seed) for each in self.at)

    @property
    def one_sided(self) -> bool:
        """Whether only one of the two has such a figure, or neither."""
        return (
            not self.pairs and not self.left_out.not_finished and not any(each.doubtful for each in self.at)
        )

    @property
    def single_points(self) -> int:
        """Points that are not in the mean over all, since they have one pair and others have several."""
        counts = [len(each.by_seed) for each in self.at]
        return counts.count(1) if max(counts) > 1 else 0

    @property
    def left_out(self) -> LeftOut:
        return together(each.left_out for each in self.at)

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Theirs and ours over the pairs."""
        found = [both for each in self.at for both in each.by_seed.values()]
        return (fmean(both[0] for both in found), fmean(both[1] for both in found)) if found else (None, None)

    @property
    def doubtful(self) -> tuple[float | None, float | None]:
        """The same of pairs that do not count."""
        every = [both for each in self.at for both in each.doubtful]
        known = [[v for v in side if v is not None and math.isfinite(v)] for side in zip(*every, strict=True)]
        return (
            (fmean(known[0]) if known[0] else None, fmean(known[1]) if known[1] else None)
            if every
            else (None, None)
        )

    @property
    def ratio(self) -> float | None:
        """The geometric mean of ours over theirs."""
        return None if self.log_ratio is None else ratio_of(self.log_ratio.value)

    @property
    def ratio_interval(self) -> Interval | None:
        return self.log_ratio.interval.exp() if self.log_ratio and self.log_ratio.interval else None

    def as_json(self) -> dict[str, Any]:
        """Without anything that is not a number or a word."""
        theirs, ours = self.means
        return {
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "more_is_better": self.metric.more_is_better,
            "thing": self.name,
            "baseline": self.thing.baseline,
            "point": None if self.point is None else dict(self.point),
            "pairs": self.pairs,
            "seeds": self.judged.interval.count
            if self.judged and self.judged.interval
            else min(self.pairs, 1),
            "baseline_mean": theirs,
            "mean": ours,
            "difference": None if self.difference is None else self.difference.value,
            "difference_interval": _ends(self.difference),
            "ratio": self.ratio,
            "ratio_interval": _ends(self.log_ratio, ratio_of),
            **_rate(self.judged),
            "judged_among": self.among,
            "verdict": self.verdict,
            "repeats_to_settle": self.judged.repeats()
            if self.judged and self.verdict == NO_DIFFERENCE
            else None,
            "left_out": asdict(self.left_out),
        }

    @property
    def judged(self) -> Mean | None:
        """What the verdict goes by: the ratio where there is one."""
        return self.log_ratio or self.difference

    @property
    def verdict(self) -> str:
        """Whether ours is more, or less, or what else can be said."""
        if self.judged is None or self.difference is None:
            return NO_PAIR
        if self.pairs > 1 and all(a == b for each in self.at for a, b in each.by_seed.values()):
            return IDENTICAL
        if self.judged.interval is None:
            return NO_INTERVAL
        if self.judged.interval.holds(0):
            return NO_DIFFERENCE
        return MORE if self.judged.value > 0 else LESS


def compare_all(
    sweeps: Sequence[Results], baseline: str | None = None, names: Sequence[str] = ()
) -> list[Comparison]:
    """Every thing tried. `names` are dotted, with `*` for any word of them; by default the kinds' measures.

    Raises ComparisonError where nothing can be compared, or no run has a figure of such a name.
    """
    tried = things(sweeps, baseline)
    runs = [run for sweep in sweeps for run in sweep.records]
    metrics = named(matching(names, known(runs), "--metric")) if names else None
    found = [each for thing in tried for each in compare(thing, metrics)]
    if not found:
        raise ComparisonError(
            f"no run of {tried[0].name} has the point and the seed of a run of {tried[0].baseline}: "
            f"{_apart(tried[0])}; expected the same lab, --seed and --repeat"
        )
    return found


def compare(thing: Thing, metrics: Sequence[Metric] | None = None) -> list[Comparison]:
    """Of each metric (by default the kinds') first the comparison over all points, then that at each point.

    Of a single point its own is the one over all.
    """
    at_points = matched(thing)
    compared = []
    for part, each in ({"": metrics} if metrics is not None else _of_pairs(at_points)).items():
        figures = [(metric, [_figures(metric, at_point) for at_point in at_points]) for metric in each]
        tails = Counter(metric.group for metric, at in figures if metric.tail and any(f.by_seed for f in at))
        for metric, at in figures:
            here = [one for one in at if one.speaks]
            if here:
                among = max(tails[metric.group], 1) if metric.tail else 1
                silent = [one for one, at_point in zip(at, at_points, strict=True) if at_point.silent]
                only = here[0].point if len(here) == 1 and len(at_points) > 1 else None
                compared.append(comparison(thing, part, metric, [*here, *silent], only, among=among))
                if len(here) > 1:
                    compared += [
                        comparison(thing, part, metric, [one], one.point, among=among) for one in here
                    ]
    return compared


def comparison(
    thing: Thing,
    part: str,
    metric: Metric,
    at: Sequence[Figures],
    point: Mapping[str, Any] | None = None,
    *,
    among: int = 1,
) -> Comparison:
    """`among`: of how many percentiles of the same times this is one. The level is the higher for it, so that
    of a thing that changes nothing, any of them is said to differ as rarely as a single one would be.
    """
    level, by_point = together_at(LEVEL, among), {n: each.by_seed for n, each in enumerate(at)}
    return Comparison(
        thing,
        part,
        metric,
        point,
        at,
        differences(by_point, level),
        log_ratios(by_point, level),
        among,
    )


def _figures(metric: Metric, at_point: PointPairs) -> Figures:
    by_seed: dict[int, tuple[float, float]] = {}
    doubtful, not_finished, not_known = [], 0, 0
    for pair in at_point.pairs:
        theirs, ours = metric.figure(pair.theirs), metric.figure(pair.ours)
        if theirs is None and ours is None:
            continue
        if not pair.counts:
            doubtful.append((theirs, ours))
        elif theirs is None or ours is None:
            not_known += 1
        elif math.isinf(theirs) or math.isinf(ours):
            not_finished += 1
        else:
            by_seed[pair.seed] = theirs, ours
    out = replace(at_point.left_out, not_finished=not_finished, not_known=not_known)
    return Figures(at_point.point, by_seed, doubtful, out)


def _apart(thing: Thing) -> str:
    """Why no two runs of it are of the same point and seed."""
    sides = (thing.ours, thing.theirs)
    ours, theirs = ({run.get("seed", 1) for run in side} for side in sides)
    if not ours & theirs:
        return f"seeds {', '.join(map(str, sorted(ours)))} here, {', '.join(map(str, sorted(theirs)))} there"
    points = [side[0].get("point", {}) for side in sides]
    here, there = (
        ", ".join(f"{key} = {written(value)}" for key, value in each.items()) or "none" for each in points
    )
    return f"points such as {here} here, {there} there"


def _ends(of: Mean | None, scale: Callable[[float], float] = float) -> list[float] | None:
    return [scale(of.interval.low), scale(of.interval.high)] if of and of.interval else None


def _rate(of: Mean | None) -> dict[str, Any]:
    if of is None or of.interval is None:
        return {"level": None, "held_at_least": None, "method": None}
    return {"level": of.interval.level, "held_at_least": of.interval.held, "method": of.interval.method}


def _of_pairs(at_points: Iterable[PointPairs]) -> dict[str, list[Metric]]:
    """By part, every metric of any run that is compared."""
    parts: dict[str, dict[tuple[object, str], Metric]] = {}
    for pair in (pair for at_point in at_points for pair in at_point.pairs):
        for part, metrics in of_kinds(pair.ours).items():
            for metric in metrics:
                parts.setdefault(part, {}).setdefault((metric.group, metric.name), metric)
    return {part: list(by_name.values()) for part, by_name in parts.items()}
