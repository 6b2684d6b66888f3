"""The verdict on a variant in a sentence: `3.1 times as fast, 2.8–3.4; queue delay +140 ms`."""

import re
from collections.abc import Iterable, Sequence

from bentpipe.analysis.comparisons import IDENTICAL, LESS, MORE, NO_DIFFERENCE, NO_INTERVAL, Comparison
from bentpipe.analysis.intervals import MOST_REPEATS, ratio_of
from bentpipe.words.digits import digits
from bentpipe.words.wording import TOO_WIDE, is_too_wide, plural, point_words

_FASTER = {"Mbit/s", "s"}
_NO_SPEED = re.compile("delay|period")
"""Seconds in which nothing is done."""
_POINTS_NAMED = 2
_APART = 1.2
_MUCH = 1.5
_LEAST = 0.001
_POINTS = "percentage points"
_TOO_WIDE = f"interval {TOO_WIDE}"


def verdict(overall: Comparison, beside: Iterable[Comparison], at_points: Sequence[Comparison]) -> str:
    """Of a group's first metric over all points, the ones named with it, and the first one at each point."""
    seen = [each for each in beside if each.verdict in {MORE, LESS} and _matters(each)]
    parts = [first(overall) + _where(overall, at_points)]
    parts += _settled(overall) if overall.verdict == NO_DIFFERENCE else []
    tails = [tail(each) for each in seen if each.metric.tail]
    # What is seen comes before what is not.
    unseen = overall.verdict in {NO_DIFFERENCE, IDENTICAL}
    parts = [*tails, *parts] if unseen else [*parts, *tails]
    return "; ".join([*parts, *(cost(each) for each in seen if not each.metric.tail)])


def first(of: Comparison) -> str:
    """The metric that the thing is judged by, and its interval."""
    if of.verdict == IDENTICAL:
        return f"{of.metric.words} {IDENTICAL}"
    if of.verdict == NO_DIFFERENCE:
        return f"{NO_DIFFERENCE} in {of.metric.words}, {_interval(of)}"
    if of.verdict in {MORE, LESS}:
        same = "" if of.judged is None or of.judged.deviation else ", the same in every pair"
        return f"{_change(of)}{same or f', {_interval(of)}'}"
    if of.verdict == NO_INTERVAL:
        seeds = "one pair" if of.pairs == 1 else "one pair at each point"
        return f"{_change(of)} ({seeds}: no interval)"
    return f"nothing to say in {of.metric.words}: {_why_none(of)}"


def tail(of: Comparison) -> str:
    """A percentile before and after, and its ratio."""
    theirs, ours = of.means
    assert theirs is not None
    assert ours is not None
    words = f"{of.metric.words} {digits(ours)} instead of {digits(theirs)}{unit(of)}"
    if of.ratio is None or of.ratio_interval is None:
        return words
    low, high = of.ratio_interval.low, of.ratio_interval.high
    return f"{words} ({digits(of.ratio)} times as long, {_factors(low, high)})"


def cost(of: Comparison) -> str:
    """By how much a metric is more or less, in its unit."""
    assert of.difference is not None
    return f"{of.metric.words} {signed(of.difference.value, of.metric.digits)}{unit(of)}"


def faster(of: Comparison) -> bool:
    """Whether ratios of it are told as speed: more per time, or less time."""
    metric = of.metric
    return (
        metric.role == "first"
        and metric.unit in _FASTER
        and metric.more_is_better is not None
        and not _NO_SPEED.search(metric.name)
    )


def speed(of: Comparison, ratio: float) -> float:
    """The ratio in the sentence: for times, theirs over ours."""
    return 1 / ratio if faster(of) and not of.metric.more_is_better else ratio


def signed(value: float, count: int = 3) -> str:
    sign = "+" if value > 0 else "−" if value < 0 else "±"
    return sign + digits(abs(value), count)


def unit(of: Comparison) -> str:
    """Of a difference: that of two shares is in points."""
    words = _POINTS if of.metric.unit == "%" else of.metric.unit
    return f" {words}" if words else ""


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
    more, less, times = ("faster", "slower", "as fast") if faster(of) else ("more", "less", "as much")
    subject = "" if faster(of) else f"{of.metric.words} "
    if told == 1:
        return f"{subject}no change"
    if _in_percent(of):
        return f"{subject}{_percent(abs(told - 1))} {less if told < 1 else more}"
    return f"{subject}{_factor(told)} times {times}"


def _interval(of: Comparison) -> str:
    """In the words of `_change`: factors, percents, or the unit."""
    if of.ratio is None or of.ratio_interval is None:
        assert of.difference and of.difference.interval
        found = of.difference.interval
        return span(found.low, found.high) + unit(of)
    low, high = sorted(speed(of, end) for end in (of.ratio_interval.low, of.ratio_interval.high))
    if is_too_wide(low, high):
        return _TOO_WIDE
    if of.verdict == NO_DIFFERENCE and of.metric.unit == "%":
        return f"{span(low, high)} times"
    if of.verdict == NO_DIFFERENCE:
        return f"{signed(100 * (low - 1), 2)} to {signed(100 * (high - 1), 2)} %"
    if _in_percent(of):
        least, most = sorted((abs(low - 1), abs(high - 1)))
        count = 2 if digits(100 * least, 2) != digits(100 * most, 2) else 3
        return f"{digits(100 * least, count)}–{digits(100 * most, count)} %"
    return span(low, high)


def _factors(low: float, high: float) -> str:
    return _TOO_WIDE if is_too_wide(low, high) else span(low, high)


def _in_percent(of: Comparison) -> bool:
    """Whether a change is small enough. A smaller value of something that is not a speed always is.

    Never that of a share, whose percent would be taken for points.
    """
    assert of.ratio is not None
    return of.metric.unit != "%" and (1 / _MUCH if faster(of) else 0) < speed(of, of.ratio) < _MUCH


def _factor(of: float) -> str:
    return digits(of, 2 if of < 10 else 3)


def _settled(of: Comparison) -> list[str]:
    """What would have been seen, and how many repeats would settle what was found."""
    assert of.judged is not None
    least, repeats = of.judged.seen_from(), of.judged.repeats()
    assert least is not None
    much = _percent(ratio_of(least) - 1) if of.log_ratio else f"{digits(least)}{unit(of)}"
    if of.log_ratio and of.metric.unit == "%":
        much = f"{digits(ratio_of(least))} times as much"
    count = f"more than {digits(MOST_REPEATS, 5)}" if repeats is None else f"about {digits(repeats, 5)}"
    return [f"a difference of {much} would have been seen", f"{count} repeats in all would settle it"]


def _where(overall: Comparison, at_points: Sequence[Comparison]) -> str:
    """How far points differ, and at which the finding is another."""
    told = [speed(each, each.ratio) for each in at_points if each.ratio is not None]
    words = []
    if overall.verdict in {MORE, LESS, NO_INTERVAL} and told and max(told) > _APART * min(told):
        words.append(f"{span(min(told), max(told))} times at the points")
    for word in (MORE, LESS):
        other = [each for each in at_points if each.verdict == word and _stands_out(each, len(at_points))]
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


def _stands_out(of: Comparison, among: int) -> bool:
    return of.judged is not None and of.judged.stands_out(among)


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


def _percent(share: float) -> str:
    return f"{digits(100 * share, 2)} %"
