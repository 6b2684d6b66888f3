"""What was found of a thing tried, in a sentence: `3.1 times faster, 2.8–3.4; queue delay +140 ms`."""

import math
from collections.abc import Iterable, Sequence

from bentpipe.charts.wording import digits, plural, point_words
from bentpipe.results.comparisons import IDENTICAL, LESS, MORE, NO_DIFFERENCE, NO_INTERVAL, Comparison
from bentpipe.results.intervals import MOST_REPEATS

_FASTER = {"Mbit/s", "s", "ms"}
_POINTS_NAMED = 2
_APART = 1.2
_LEAST = 0.001


def verdict(overall: Comparison, beside: Iterable[Comparison], at_points: Sequence[Comparison]) -> str:
    """Of a group's first metric over all points, the ones named with it, and the first one at each point."""
    parts = [first(overall) + _where(overall, at_points)]
    parts += _settled(overall) if overall.verdict == NO_DIFFERENCE else []
    parts += [cost(each) for each in beside if each.verdict in {MORE, LESS} and _matters(each)]
    return "; ".join(parts)


def first(of: Comparison) -> str:
    """The metric that the thing is judged by, and its interval."""
    if of.verdict == IDENTICAL:
        return f"{of.metric.words} {IDENTICAL}"
    if of.verdict == NO_DIFFERENCE:
        return f"{NO_DIFFERENCE}{_of(of)}, {_interval(of)}"
    if of.verdict in {MORE, LESS}:
        same = "" if of.judged is None or of.judged.deviation else ", the same in every pair"
        return f"{_change(of)}{same or f', {_interval(of)}'}"
    if of.verdict == NO_INTERVAL:
        seeds = "one pair" if of.pairs == 1 else "one pair at each point"
        return f"{_change(of)} ({seeds}: no interval)"
    return f"nothing to say{_of(of)}: {_why_none(of)}"


def cost(of: Comparison) -> str:
    """By how much a metric is more or less, in its unit."""
    assert of.difference is not None
    return f"{of.metric.words} {signed(of.difference.value, of.metric.digits)}{unit(of)}"


def faster(of: Comparison) -> bool:
    """Whether ratios of it are told as speed: more per time, or less time."""
    return of.metric.role == "first" and of.metric.unit in _FASTER and of.metric.more_is_better is not None


def speed(of: Comparison, ratio: float) -> float:
    """A ratio as it is told: of times, theirs over ours."""
    return 1 / ratio if faster(of) and not of.metric.more_is_better else ratio


def signed(value: float, count: int = 3) -> str:
    sign = "+" if value > 0 else "−" if value < 0 else "±"
    return sign + digits(abs(value), count)


def unit(of: Comparison) -> str:
    return f" {of.metric.unit}" if of.metric.unit else ""


def span(low: float, high: float, count: int = 3) -> str:
    """With signs where an end is below 0."""
    if low < 0 or high < 0:
        return f"{signed(low, count)} to {signed(high, count)}"
    return f"{digits(low, count)}–{digits(high, count)}"


def _change(of: Comparison) -> str:
    if of.ratio is None:
        assert of.difference is not None
        return f"{of.metric.words} {signed(of.difference.value)}{unit(of)}"
    told = speed(of, of.ratio)
    words = ("faster", "slower") if faster(of) else ("as much", "less")
    if told >= 1.5:
        return f"{_subject(of)}{digits(told, 2 if told < 10 else 3)} times {words[0]}"
    if told <= 1 / 1.5 and faster(of):
        return f"{digits(1 / told, 2 if told > 0.1 else 3)} times slower"
    if told == 1:
        return f"{_subject(of)}no change"
    more = ("faster", "slower") if faster(of) else ("more", "less")
    return f"{_subject(of)}{_percent(abs(told - 1))} {more[told < 1]}"


def _interval(of: Comparison) -> str:
    """In the words of `_change`: factors, percents, or the unit."""
    if of.ratio is None or of.ratio_interval is None:
        assert of.difference and of.difference.interval
        found = of.difference.interval
        return span(found.low, found.high) + unit(of)
    ends = sorted(speed(of, end) for end in (of.ratio_interval.low, of.ratio_interval.high))
    told = speed(of, of.ratio)
    if of.verdict == NO_DIFFERENCE or 1 / 1.5 < told < 1.5:
        low, high = (100 * (end - 1) for end in ends)
        if of.verdict == NO_DIFFERENCE or low < 0 < high:
            return f"{signed(low, 2)} to {signed(high, 2)} %"
        low, high = sorted((abs(low), abs(high)))
        return f"{digits(low, 2)}–{digits(high, 2)} %"
    low, high = sorted(1 / end for end in ends) if told < 1 and faster(of) else ends
    return span(low, high)


def _settled(of: Comparison) -> list[str]:
    """What would have been seen, and how many repeats would settle what was found."""
    assert of.judged is not None
    least, repeats = of.judged.seen_from(), of.judged.repeats()
    assert least is not None
    much = _percent(math.expm1(least)) if of.log_ratio else f"{digits(least)}{unit(of)}"
    count = f"more than {digits(MOST_REPEATS, 5)}" if repeats is None else f"about {digits(repeats, 5)}"
    return [f"one of {much} would have been seen", f"{count} repeats would settle it"]


def _where(overall: Comparison, at_points: Sequence[Comparison]) -> str:
    """How far points differ, and at which the finding is another."""
    told = [speed(each, each.ratio) for each in at_points if each.ratio is not None]
    words = []
    if overall.verdict in {MORE, LESS, NO_INTERVAL} and told and max(told) > _APART * min(told):
        words.append(f"{span(min(told), max(told))} times at the points")
    for word in (MORE, LESS):
        other = [each for each in at_points if each.verdict == word]
        if other and overall.verdict in {MORE, LESS, NO_DIFFERENCE} and overall.verdict != word:
            names = [place(each, at_points) for each in other[:_POINTS_NAMED]]
            more = f" and {len(other) - _POINTS_NAMED} more" if len(other) > _POINTS_NAMED else ""
            words.append(f"{_direction(other[0])} at {' and at '.join(names)}{more}")
    return f" ({'; '.join(words)})" if words else ""


def place(of: Comparison, among: Sequence[Comparison]) -> str:
    """A point in words, by what tells it from the others."""
    points = [each.point for each in among if each.point]
    here = of.point or {}
    telling = {key: value for key, value in here.items() if any(other.get(key) != value for other in points)}
    return ", ".join(point_words(telling or here))


def _matters(of: Comparison) -> bool:
    """Whether a difference is worth a word: a hundredth of the larger."""
    return exceeds(of, 0.01)


def exceeds(of: Comparison, share: float) -> bool:
    """Whether a difference is more than that share of the larger mean, and than a thousandth of its unit."""
    assert of.difference is not None
    most = max(abs(value or 0.0) for value in of.means)
    return abs(of.difference.value) >= max(share * most, _LEAST)


def _direction(of: Comparison) -> str:
    if faster(of):
        return "faster" if (of.verdict == MORE) == of.metric.more_is_better else "slower"
    return of.verdict


def _why_none(of: Comparison) -> str:
    out = of.left_out
    if out.not_finished:
        return f"not done in one of the two in {plural(out.not_finished, 'pair')}"
    if out.not_known:
        return "only one of the two has it"
    return "no pair of runs counts"


def _subject(of: Comparison) -> str:
    return "" if faster(of) else f"{of.metric.words} "


def _of(of: Comparison) -> str:
    return f" in {of.metric.words}"


def _percent(share: float) -> str:
    return f"{digits(100 * share, 2)} %"
