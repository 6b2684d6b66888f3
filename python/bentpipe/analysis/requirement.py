"""A requirement for a figure, in one line: `workload.download.goodput_mbit_s >= 0.95 * baseline`.

    requirement = figure ( ">=" | "<=" | ">" | "<" ) bound
    bound       = number | [ number "*" ] "baseline" [ "*" number ] [ ( "+" | "-" ) number ]

A figure is a dotted name, in which `*` stands for any one part. Numbers are in the figure's own unit.
"""

import math
import re
from dataclasses import dataclass

from bentpipe.errors import ComparisonError
from bentpipe.words.faults import shown

_FORMS = "expected FIGURE >= 10, FIGURE <= 1.1 * baseline or FIGURE <= baseline + 5"
_PARTS = re.compile(r"\s*([^\s<>=]+)\s*(>=|<=|>|<)(.*)", re.DOTALL)
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"\s*({_NUMBER})\s*")
_PAIRED = re.compile(
    rf"\s*(?:({_NUMBER})\s*\*\s*)?baseline\s*(?:\*\s*({_NUMBER})\s*)?(?:([+-])\s*({_NUMBER})\s*)?"
)


@dataclass(frozen=True)
class Requirement:
    """`figure` is at least (or at most) `factor` times the baseline's and `offset`."""

    text: str
    figure: str
    at_least: bool
    strict: bool
    """Whether the bound itself breaks it."""
    factor: float
    """0: of a plain number, which needs no baseline."""
    offset: float

    @property
    def paired(self) -> bool:
        return self.factor > 0


def parse(text: str) -> Requirement:
    """Raises ComparisonError, which says what cannot be read."""
    text = " ".join(text.split())
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise _unread(text, "no figure before >=, <=, > or <")
    figure, operator, bound = parts.groups()
    plain, paired = _PLAIN.fullmatch(bound), _PAIRED.fullmatch(bound)
    if plain:
        factor, offset = 0.0, _number(text, plain[1])
    elif paired:
        before, after, sign, more = paired.groups()
        factor = _number(text, before or "1") * _number(text, after or "1")
        offset = _number(text, f"{more}") * (-1 if sign == "-" else 1) if sign else 0.0
        if not 0 < factor < math.inf:
            raise _unread(text, f"the baseline is taken {factor:g} times; expected a factor above 0")
    else:
        raise _unread(text, f"{shown(bound.strip())} is neither a number nor a multiple of baseline")
    return Requirement(text, figure, operator.startswith(">"), operator in {">", "<"}, factor, offset)


def _number(text: str, words: str) -> float:
    found = float(words)
    if not math.isfinite(found):
        raise _unread(text, f"{words} is too large a number")
    return found


def _unread(text: str, why: str) -> ComparisonError:
    return ComparisonError(f"--require: {shown(text)} cannot be read: {why}; {_FORMS}")
