"""From a fault that a model found to the message for the user: which line or option, what stands there, what would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bentpipe.lab.errors import LabError, Wrong, nearest, shown
from bentpipe.lab.keys import Document, Location, keys_beside
from bentpipe.lab.models.base import TAG
from bentpipe.lab.models.path import DISCIPLINES, LOSS_MODELS
from bentpipe.lab.models.workload import KINDS
from bentpipe.lab.sweep import Origin
from bentpipe.lab.units import SIZE_UNITS, TIME_UNITS, format_size, format_time, unit_of

_CHOICES = {
    "kind": KINDS,
    "discipline": DISCIPLINES,
    "model": LOSS_MODELS,
    "distribution": ("bounded-pareto", "lognormal"),
}
_MISSING = object()


@dataclass(frozen=True)
class Places:
    """Where the values of a document come from: lines of the file, and changes put over them."""

    file: str
    lines: Mapping[Location, int]
    placed: Mapping[Location, Origin] = field(default_factory=dict)

    def over(self, placed: Mapping[Location, Origin]) -> Places:
        """The same file with changes put over it."""
        return Places(self.file, self.lines, placed)

    def where(self, location: Location) -> str:
        """The file and line, or the option, that a value comes from: its own, or that of the nearest table around it."""
        for depth in range(len(location), 0, -1):
            origin = self.placed.get(location[:depth])
            if origin is not None:
                return origin.where or self._line((*origin.location, *location[depth:]))
            if location[:depth] in self.lines:
                break
        return self._line(location)

    def _line(self, location: Location) -> str:
        for depth in range(len(location), 0, -1):
            if location[:depth] in self.lines:
                return f"{self.file}:{self.lines[location[:depth]]}"
        return self.file

    def error(self, document: Document, location: Location, wrong: Wrong) -> LabError:
        """The message for a fault at a place of the document."""
        found = wrong.found
        if found is None:
            value = _value_at(document, location)
            found = "nothing" if value is _MISSING else shown(value)
        return LabError(self.where(location), _dotted(document, location), found, wrong.remedy)

    def of_origin(self, origin: Origin, wrong: Wrong) -> LabError:
        """The message for a fault in a change."""
        return LabError(
            origin.where or self._line(origin.location), wrong.key, wrong.found or "it", wrong.remedy
        )


def _value_at(document: Any, location: Location) -> Any:  # noqa: ANN401 - a value of a TOML file
    value = document
    for part in location:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and str(part).isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _dotted(document: Document, location: Location) -> str:
    """The key as a user would write it: workloads by their names."""
    parts = [str(part) for part in location]
    if len(parts) >= 2 and parts[0] == "workload" and parts[1].isdigit():
        workload = _value_at(document, location[:2])
        name = workload.get("name", workload.get("kind")) if isinstance(workload, dict) else None
        parts[1] = name if isinstance(name, str) and name.isprintable() else parts[1]
    return ".".join(parts)


def _located(document: Document, details: ErrorDetails) -> Location:
    """The place of a fault in the document: pydantic's, without the tags of unions and the short forms' own keys."""
    location: Location = ()
    for part in details["loc"]:
        if isinstance(part, str) and part.startswith(TAG):
            continue
        if part == "[key]":
            break
        below = (*location, part)
        if _value_at(document, below) is _MISSING and not isinstance(_value_at(document, location), dict):
            break
        location = below
    return location


def first_fault(error: ValidationError, document: Document, places: Places) -> LabError:
    """One message for all that is wrong: a key that is not known first, since it may be what another fault misses."""
    faults = error.errors(include_url=False)
    details = next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])
    location = _located(document, details)
    wrong = _wrong(details, location, document)
    if wrong.key:
        location = (*location, *(int(part) if part.isdigit() else part for part in wrong.key.split(".")))
    return places.error(document, location, wrong)


def _wrong(details: ErrorDetails, location: Location, document: Document) -> Wrong:
    context = details.get("ctx", {})
    own = context.get("error")
    if isinstance(own, Wrong):
        return own
    match details["type"]:
        case "extra_forbidden":
            return _unknown_key(details, location)
        case "missing":
            return Wrong("a value would do: it has no default", found="nothing")
        case "choice":
            return _unknown_choice(details["msg"], location, document)
        case "literal_error":
            expected = str(context["expected"]).replace("'", '"')
            return Wrong(f"{expected} would do")
        case "bool_type":
            return Wrong("true or false would do")
        case "int_type" | "int_from_float":
            return Wrong("a whole number would do")
        case "float_type" | "finite_number":
            return Wrong("a finite number would do")
        case "string_type":
            return Wrong("a text would do")
        case "list_type" | "tuple_type":
            return Wrong("a list would do")
        case "model_type" | "dict_type" | "model_attributes_type":
            return Wrong("a table would do")
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than":
            return _out_of_range(details, location, document)
        case _:
            return Wrong(f"{details['msg'][:1].lower()}{details['msg'][1:]}")


def _unknown_key(details: ErrorDetails, location: Location) -> Wrong:
    tags = [part[len(TAG) :] for part in details["loc"] if isinstance(part, str) and part.startswith(TAG)]
    key = str(location[-1])
    known = keys_beside(location, tags)
    place = "at the top" if len(location) == 1 else "here"
    near = nearest(key, known)
    asked = f'did you mean "{near}"? ' if near else ""
    return Wrong(f"{asked}Keys {place}: {', '.join(sorted(known))}", found="a key that is not known")


def _unknown_choice(key: str, location: Location, document: Document) -> Wrong:
    choices = _CHOICES[key]
    table = _value_at(document, location)
    if not isinstance(table, dict):
        return Wrong("a table would do")
    value = table.get(key, _MISSING)
    if value is _MISSING:
        return Wrong(f"one of {', '.join(choices)} would do", found="nothing", key=key)
    near = nearest(value, choices) if isinstance(value, str) else None
    asked = f'did you mean "{near}"? ' if near else ""
    return Wrong(f"{asked}Known are {', '.join(choices)}", found=shown(value), key=key)


def _out_of_range(details: ErrorDetails, location: Location, document: Document) -> Wrong:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    value = _value_at(document, location)
    unit = unit_of(value) if isinstance(value, str) else ""
    form = format_time if unit in TIME_UNITS else format_size if unit in SIZE_UNITS else str
    name, bound = next((name, bound) for name, bound in details.get("ctx", {}).items() if name in words)
    return Wrong(f"{words[name]} {form(bound)} would do", found=f"{shown(value)}, which is out of range")
