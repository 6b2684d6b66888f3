"""Messages for a wrong command line: the place, what was found, what was expected. They replace click's and
pydantic's own sentences."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

from bentpipe.words.faults import nearest, shown

_EXPECTED = (
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (.*)", r"expected at least \1"),
    (r"Input should be less than or equal to (.*)", r"expected at most \1"),
    (r"(?:Value error, )?'.*' is not one of (.*)", r"expected one of \1"),
    (r"Input should be (.*)", r"expected \1"),
    (r"(?:Value error, )?(.*)", r"\1"),
)
"""Pydantic's sentences, by which Typer checks options, and ours."""
_REQUESTS = (
    (r"No such command '(help)'.*", r'unknown command "\1"'),
    (r"No such command '(.*\.toml)'.*", r'unknown command "\1"; to run a lab: bentpipe run \1'),
    (r"No such command '(.*?)'\. Did you mean '(.*)'", r'unknown command "\1"; did you mean "\2"?'),
    (r"No such command '(.*?)'.*", r'unknown command "\1"'),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"unexpected argument: \1"),
    (r"Option '(.*)' requires an argument", r"\1 needs a value"),
    (r"Missing (?:option|argument) '(.*)'", r"\1 is missing"),
)
"""Click's sentences, and ours."""
_CALLED_HERE = {"--out": "--html"}
"""An option of most commands that write, and what it is called where they write a page."""


def usage_message(error: Any, typed: Sequence[str]) -> str:
    """One sentence for an error that click raised. `typed` is the command line without `bentpipe`."""
    said = str(error.format_message()).rstrip(".?")
    if hasattr(error, "possibilities"):
        if "--exec" in typed and "--" not in typed:
            return (
                f"unknown option {error.option_name}; the command stands behind --, as in --exec -- COMMAND"
            )
        return f"unknown option {error.option_name}{_instead(error)}"
    if match := re.fullmatch(r"Invalid value for '(.*?)': (.*)", said, flags=re.DOTALL):
        expected = _reworded(match[2], _EXPECTED).replace("'", "")
        return f"{match[1]}: {_found(match[1], typed)}{expected}"
    return _split_value(said, typed) or _reworded(said, _REQUESTS)


def _instead(error: Any) -> str:
    """A suggestion for an unknown option: a key of the path, or another option."""
    if error.ctx and any("--set" in each.opts for each in error.ctx.command.params):
        from bentpipe.lab.keys import meant_in_path

        if key := meant_in_path(error.option_name.lstrip("-")):
            return f"; to change this key of the lab: --set {key}=VALUE"
    near = nearest(error.option_name, error.possibilities or ())
    here = _CALLED_HERE.get(error.option_name)
    if error.ctx and any(here in each.opts for each in error.ctx.command.params):
        near = here
    return f"; did you mean {near}?" if near else ""


def _split_value(said: str, typed: Sequence[str]) -> str:
    """The message for a quantity without quotes, whose unit is therefore a separate argument; else ""."""
    from bentpipe.lab.units import RATE_UNITS, SIZE_UNITS, TIME_UNITS

    if match := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((\S*).*\)", said):
        unit = match[1]
        for before, word in itertools.pairwise(typed):
            number = before.rpartition("=")[2]
            if word == unit and unit in {*RATE_UNITS, *SIZE_UNITS, *TIME_UNITS} and number[-1:].isdigit():
                return f'a value with a space needs quotes: "{number} {unit}"'
    return ""


def _reworded(said: str, sentences: Sequence[tuple[str, str]]) -> str:
    for theirs, ours in sentences:
        if match := re.fullmatch(theirs, said, flags=re.DOTALL):
            return match.expand(ours)
    return f"{said[:1].lower()}{said[1:]}"


def _found(option: str, typed: Sequence[str]) -> str:
    """The value that was typed for this option; empty if it cannot be determined."""
    names = re.split(r"\s*/\s*", option)
    for word, after in zip(typed, [*typed[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            return f"found {shown(value if equals else after)}; "
    return ""
