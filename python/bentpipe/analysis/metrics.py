"""The metrics of a comparison: the measures of each workload's kind or of pipes, or the requested figures."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bentpipe.analysis.figures import dotted, figure_of, figures, more_is_better, unit
from bentpipe.analysis.kinds import KINDS, Kind, Measure, Record
from bentpipe.analysis.kinds.costs import is_rival
from bentpipe.errors import ComparisonError
from bentpipe.words.faults import did_you_mean, shown

NOT_A_UNIT = "segm."
"""Of a count; words for a table's column, not for a sentence."""


_SENTENCES = {
    "left": "rival's share",
    "fetch": "fetch time",
    "completion": "time",
    "median": "round trip",
    "transfer": "transfer time",
    "p95": "round trip p95",
    "p99": "round trip p99",
    "min": "shortest round trip",
    "max": "longest round trip",
    "sent": "pings sent",
    "lost": "pings lost",
    "hits": "cache hits",
    "misses": "cache misses",
    "failed": "flows failed",
    "queue": "mean queue",
    "status": "exit status",
}


@dataclass(frozen=True)
class Metric:
    name: str
    """Dotted."""
    group: tuple[str, str]
    """Kind and workload (or pipe): metrics of one group stand in one table."""
    words: str
    """In a sentence: `queue delay`."""
    unit: str
    """Of the figure in a sentence: `ms`."""
    more_is_better: bool | None
    digits: int
    role: str
    """`first`: by which the group is compared; `beside`: named with it; `further`: only listed."""
    figure: Callable[[Record], float | None]
    """A run's. None: it has none; infinite: it was not done by the run's end."""
    tail: bool = False
    """Whether it is one of several percentiles of the same times, which are judged together."""


def of_kinds(record: Record) -> dict[str, list[Metric]]:
    """What a run can say, by part: `hit` and `miss` where a cache makes two of one, else an empty name.

    A rival's own figures are left out: its share is among the others'.
    """
    found: dict[str, list[Metric]] = {}
    for kind in KINDS:
        for subject in _subjects(kind, record):
            if is_rival(record, subject) and len(kind.subjects(record)) > 1:
                continue
            for part, _ in kind.views(record, subject):
                found.setdefault(part, []).extend(_measured(kind, subject, part))
    return found


def named(names: Iterable[str]) -> list[Metric]:
    """Figures by their dotted names, which runs need not have. A run's are read once for all of them."""
    read: dict[int, tuple[Record, Mapping[str, float | None]]] = {}

    def figure(name: str, record: Record) -> float | None:
        if id(record) not in read:
            read[id(record)] = record, figures(record)
        return read[id(record)][1].get(name)

    return [
        Metric(
            name, ("figure", name), name, unit(name), more_is_better(name), 3, "first", partial(figure, name)
        )
        for name in names
    ]


def known(records: Iterable[Record]) -> list[str]:
    """The names of all figures that any of the runs has, in order."""
    found = (each for record in records for each in figures(record).items())
    return list(dict.fromkeys(name for name, value in found if value is not None))


def matching(patterns: Iterable[str], names: Sequence[str], asker: str) -> list[str]:
    """The known names that are meant; `*` stands for any part between two dots.

    Raises ComparisonError for a pattern that none fits, with the nearest name.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        fitting = re.compile(r"[^.]*".join(map(re.escape, pattern.split("*"))))
        meant = [name for name in names if fitting.fullmatch(name)]
        if not meant:
            raise ComparisonError(
                f"{asker}: no run has a figure {shown(pattern)}; "
                f"{did_you_mean(pattern, names)}`bentpipe compare --json` lists the compared figures"
            )
        found.update(dict.fromkeys(meant))
    return list(found)


def _subjects(kind: Kind, record: Record) -> Sequence[str]:
    return list(dict.fromkeys([*kind.subjects(record), *kind.also_compared(record)]))


def _measured(kind: Kind, subject: str, part: str) -> Iterable[Metric]:
    others = (*kind.measures[1:], *kind.if_published)
    beside = kind.costs or tuple(measure for measure in others if not measure.more_is_better)
    for measure in kind.every_measure:
        named_with_it = measure.tail or measure in beside
        role = "first" if measure is kind.measures[0] else "beside" if named_with_it else "further"
        yield Metric(
            dotted(kind, subject, measure),
            (kind.name, subject),
            _words(measure),
            _unit(measure),
            measure.more_is_better,
            measure.digits,
            role,
            partial(_in_view, kind, subject, part, measure),
            measure.tail,
        )


def _in_view(kind: Kind, subject: str, part: str, measure: Measure, record: Record) -> float | None:
    """In the run as it is seen for that part; a run that has no parts is its own other half."""
    if subject not in _subjects(kind, record):
        return None
    views: Mapping[str, Record] = dict(kind.views(record, subject))
    view = views.get(part, views.get(""))
    return None if view is None else figure_of(measure, view, subject)


def _words(measure: Measure) -> str:
    """In a sentence. A measure's name may be a word that only its table's title explains."""
    return _SENTENCES.get(measure.name, measure.name)


def _unit(measure: Measure) -> str:
    """Where a column's header says it on its second line, from there."""
    if measure.unit:
        return "" if measure.unit == NOT_A_UNIT else measure.unit
    last = measure.header.replace("\n", " ").rpartition(" ")[2]
    return last if last in {"%", "ms", "s"} else ""
