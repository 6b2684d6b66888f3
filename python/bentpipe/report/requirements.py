"""Requirements and their results in lines: each broken one, and a count of those that are met."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.analysis.figures import unit
from bentpipe.analysis.intervals import MOST_REPEATS
from bentpipe.analysis.required import Check
from bentpipe.report.verdicts import signed, span
from bentpipe.words.digits import digits
from bentpipe.words.wording import plural, point_words


def render(checks: Sequence[Check]) -> RenderableType:
    parts: list[RenderableType] = []
    for text in dict.fromkeys(check.requirement.text for check in checks):
        here = [check for check in checks if check.requirement.text == text]
        broken = [check for check in here if not check.met]
        parts.append(Text(f"\nRequired: {text}", style="bold"))
        lines = Table.grid(padding=(0, 1, 0, 0))
        for check in broken:
            lines.add_row(Text("  broken", style="bold red"), Text(words(check)))
        if len(broken) < len(here):
            doubtful = sum(check.met and not check.sure for check in here)
            unsure = (
                f", {doubtful} of them inconclusive: the interval includes the threshold" if doubtful else ""
            )
            lines.add_row(Text("  met"), Text(f"{len(here) - len(broken)} of {len(here)}{unsure}"))
        parts.append(lines)
    return Group(*parts)


def words(check: Check) -> str:
    """Of one that is broken: where, what was found, and whether more repeats could change the answer."""
    names = [] if check.figure == check.requirement.figure else [check.figure]
    where = ", ".join([check.thing, *point_words(check.point), *names])
    if check.found is None:
        return f"{where}: {check.why}"
    ends = f", {_figure(check, check.low, check.high)}" if check.low is not None else ""
    what = plural(check.count, "pair" if check.requirement.paired else "run")
    return f"{where}: {_figure(check, check.found)}{_unit(check)}{ends}, of {what}; {_change(check)}"


def summary(checks: Sequence[Check]) -> str:
    broken = sum(not check.met for check in checks)
    return f"{broken} of {plural(len(checks), 'requirement check')} failed" if broken else ""


def _figure(check: Check, low: float | None, high: float | None = None) -> str:
    assert low is not None
    if check.found_as == "difference":
        return signed(low) if high is None else f"{signed(low)} to {signed(high)}"
    return digits(low) if high is None else span(low, high)


def _unit(check: Check) -> str:
    if check.found_as == "ratio":
        return " times the baseline"
    words = f" {unit(check.figure)}" if unit(check.figure) else ""
    return f"{words} against the baseline" if check.found_as == "difference" else words


def _change(check: Check) -> str:
    if check.sure:
        return "more repeats would hardly change it"
    if check.low is None:
        return "one run or pair gives no interval: more repeats could change it"
    if check.repeats is None:
        return f"more repeats could change it, but it may take more than {digits(MOST_REPEATS, 5)}"
    return f"more repeats could change it: about {digits(check.repeats, 5)} would settle it"
