"""Which runs are compared with which: pairs of the same point and seed, whose paths draw the same.

The baseline is the first sweep, or one of a sweep's variants. Variants that several sweeps have in common
are each compared with themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bentpipe.analysis.cells import counts
from bentpipe.analysis.kinds import Record
from bentpipe.analysis.speed_up import PLAIN
from bentpipe.errors import ComparisonError
from bentpipe.lab.grid.meaning import PointMeaning, point_meaning
from bentpipe.runs.store import Results
from bentpipe.words.faults import did_you_mean


@dataclass(frozen=True)
class Thing:
    """One thing tried, and the baseline that it is compared with."""

    name: str
    baseline: str
    ours: Sequence[Record]
    theirs: Sequence[Record]


@dataclass(frozen=True)
class Pair:
    seed: int
    theirs: Record
    ours: Record

    @property
    def counts(self) -> bool:
        return counts(self.theirs) and counts(self.ours)


@dataclass(frozen=True)
class LeftOut:
    """Runs that are in no pair, by reason; and of one figure, pairs without it."""

    failed: int = 0
    unreliable: int = 0
    without_partner: int = 0
    not_finished: int = 0
    """Pairs in which it was not done in one of the two, or in both: a time without end is not a number."""
    not_known: int = 0
    """Pairs in which only one run has the figure."""


def together(parts: Iterable[LeftOut]) -> LeftOut:
    every = list(parts)
    return LeftOut(*(sum(getattr(each, one.name) for each in every) for one in fields(LeftOut)))


@dataclass(frozen=True)
class PointPairs:
    """What the two sides have at one point."""

    point: Mapping[str, Any]
    ours: Sequence[Record]
    theirs: Sequence[Record]
    pairs: Sequence[Pair]
    left_out: LeftOut

    @property
    def silent(self) -> bool:
        """Whether no pair says anything: there is none, or all failed."""
        return not any(run.get("workloads") for pair in self.pairs for run in (pair.theirs, pair.ours))


def things(sweeps: Sequence[Results], baseline: str | None = None) -> list[Thing]:
    """What is compared with what. Raises ComparisonError where there is no baseline, or nothing beside it."""
    return _of_variants(sweeps[0], baseline) if len(sweeps) == 1 else _of_sweeps(sweeps, baseline)


def unmatched(sweeps: Sequence[Results]) -> list[str]:
    """Variants that not all of several sweeps have, where others are in all. They are in no comparison."""
    variants = [dict.fromkeys(_by_variant(sweep.records)) for sweep in sweeps]
    common = set(variants[0]).intersection(*variants)
    every = dict.fromkeys(name for each in variants for name in each)
    return [name for name in every if name not in common] if common else []


def alone(sweep: Results) -> list[Thing]:
    """Each variant of a sweep, compared with nothing."""
    return [Thing(name, "", runs, ()) for name, runs in _by_variant(sweep.records).items()]


def matched(thing: Thing) -> list[PointPairs]:
    """The points of either side with their pairs, those that do not count among them; ours come first."""
    ours, theirs = _by_point(thing.ours), _by_point(thing.theirs)
    at_points = []
    for point in dict.fromkeys([*ours, *theirs]):
        mine, others = ours.get(point, []), theirs.get(point, [])
        partners = {_seed(run): run for run in others}
        pairs: dict[int, Pair] = {}
        for run in mine:
            if _seed(run) in partners:
                pairs.setdefault(_seed(run), Pair(_seed(run), partners[_seed(run)], run))
        every = [*mine, *others]
        out = _left_out(every, pairs.values())
        at_points.append(PointPairs(every[0].get("point", {}), mine, others, list(pairs.values()), out))
    return at_points


def failure(run: Record) -> bool:
    return bool(run.get("status", "done") != "done")


def _left_out(runs: Sequence[Record], pairs: Iterable[Pair]) -> LeftOut:
    paired = {id(run) for pair in pairs for run in (pair.theirs, pair.ours)}
    failed = [failure(run) for run in runs]
    return LeftOut(
        failed=sum(failed),
        unreliable=sum(not (bad or counts(run)) for run, bad in zip(runs, failed, strict=True)),
        without_partner=sum(counts(run) and id(run) not in paired for run in runs),
    )


def _of_variants(sweep: Results, asked: str | None) -> list[Thing]:
    """By default with `as is`; with the first where none is called so, as of imported runs."""
    by_variant = _by_variant(sweep.records)
    baseline = asked or (PLAIN if PLAIN in by_variant else next(iter(by_variant)))
    if baseline not in by_variant:
        raise ComparisonError(
            f'{sweep.folder}: there is no variant "{baseline}" to compare with; '
            f"{did_you_mean(baseline, by_variant)}--baseline takes one of {_listed(by_variant)}"
        )
    theirs = by_variant.pop(baseline)
    if not by_variant:
        raise ComparisonError(
            f'{sweep.folder} has only the variant "{baseline}", so there is nothing to compare; '
            "expected another variant in it, or a second folder"
        )
    return [Thing(name, baseline, ours, _where_run(ours, theirs)) for name, ours in by_variant.items()]


def _where_run(ours: Sequence[Record], theirs: Sequence[Record]) -> Sequence[Record]:
    """A baseline's runs at the points of a variant, which need not be run at all points of its sweep."""
    points = {_point(run) for run in ours}
    return [run for run in theirs if _point(run) in points] or theirs


def _of_sweeps(sweeps: Sequence[Results], baseline: str | None) -> list[Thing]:
    names = _names([str(sweep.folder) for sweep in sweeps])
    if baseline is not None and baseline not in names:
        raise ComparisonError(
            f'--baseline: found "{baseline}", which is not one of the folders; '
            f"{did_you_mean(baseline, names)}expected one of {_listed(names)}"
        )
    first = 0 if baseline is None else names.index(baseline)
    theirs = _by_variant(sweeps[first].records)
    found = []
    for number, sweep in enumerate(sweeps):
        if number == first:
            continue
        ours = _by_variant(sweep.records)
        common = [variant for variant in theirs if variant in ours]
        if common:
            several = len(common) > 1
            found += [
                Thing(
                    f"{names[number]}, {variant}" if several else names[number],
                    f"{names[first]}, {variant}" if several else names[first],
                    ours[variant],
                    theirs[variant],
                )
                for variant in common
            ]
        elif len(theirs) == 1:
            found += [
                Thing(f"{names[number]}, {variant}", names[first], runs, next(iter(theirs.values())))
                for variant, runs in ours.items()
            ]
        else:
            raise ComparisonError(
                f"{sweep.folder} has no variant in common with {sweeps[first].folder}: "
                f"{_listed(ours)} here, {_listed(theirs)} there"
            )
    return found


def _by_point(runs: Iterable[Record]) -> dict[PointMeaning, list[Record]]:
    found: dict[PointMeaning, list[Record]] = {}
    for run in runs:
        found.setdefault(_point(run), []).append(run)
    return found


def _point(run: Record) -> PointMeaning:
    return point_meaning(run.get("point", {}))


def _seed(run: Record) -> int:
    return int(run.get("seed", 1))


def _by_variant(runs: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for run in runs:
        found.setdefault(str(run.get("variant", PLAIN)), []).append(run)
    return found


def _names(folders: Sequence[str]) -> list[str]:
    """The last part of each folder's name, with as many before it as tell them apart."""
    parts = [folder.rstrip("/").split("/") for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        short = ["/".join(each[-count:]) for each in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{each[-1]} ({number})" for number, each in enumerate(parts, 1)]


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(f'"{name}"' for name in names)
