"""Turns a fault that a model found into the message for the user: which line or option, what was found,
what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bentpipe.errors import LabError
from bentpipe.lab.errors import FaultError
from bentpipe.lab.grid.changes import Origin
from bentpipe.lab.keys import Document, Location, keys_beside, meant
from bentpipe.lab.models.base import TAG
from bentpipe.lab.models.loss import LOSS_MODELS
from bentpipe.lab.models.queue import DISCIPLINES
from bentpipe.lab.models.workload import KINDS, SIZE_DISTRIBUTIONS
from bentpipe.lab.units import SIZE_UNITS, TIME_UNITS, format_size, format_time, unit_of
from bentpipe.words.faults import did_you_mean, shown

_CHOICES = {
    "kind": KINDS,
    "discipline": DISCIPLINES,
    "model": LOSS_MODELS,
    "distribution": SIZE_DISTRIBUTIONS,
}
_SIMPLE = {
    "bool_type": "expected true or false",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "string_type": "expected a text",
    "string_too_short": "expected a text that is not empty",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "too_short": "expected a list that is not empty",
    "model_type": "expected a table",
    "dict_type": "expected a table",
}
_MAY_BE_EMPTY = (("tunnel",), ("split",), ("gateway",))
_RANGES = ("greater_than_equal", "less_than_equal", "greater_than", "less_than")
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
        """The file and line, or the option, that a value comes from: its own, or that of the nearest table
        around it.
        """
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

    def error(self, document: Document, location: Location, fault: FaultError) -> LabError:
        """The message for a fault at a place of the document."""
        found = fault.found
        if found is None:
            value = _value_at(document, location)
            found = "nothing" if value is _MISSING else shown(value)
        return LabError(self.where(location), _dotted(document, location), found, fault.remedy)

    def of_origin(self, origin: Origin, fault: FaultError) -> LabError:
        """The message for a fault in a change."""
        return LabError(
            origin.where or self._line(origin.location), fault.key, fault.found or "it", fault.remedy
        )


def _value_at(document: Any, location: Location) -> Any:
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
    """The place of a fault in the document: pydantic's, without the tags of unions and the short forms' own
    keys.
    """
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
    """One message for all faults: an unknown key first, because it may be the misspelled key that another
    fault misses.
    """
    faults = error.errors(include_url=False)
    details = next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])
    location = _located(document, details)
    fault = _fault(details, location, document)
    if fault.key:
        # The name of a sysctl is one key, dots and all.
        below = [fault.key] if location[-1:] == ("sysctl",) else fault.key.split(".")
        location = (*location, *(int(part) if part.isdigit() else part for part in below))
    return places.error(document, location, fault)


def _fault(details: ErrorDetails, location: Location, document: Document) -> FaultError:
    context = details.get("ctx", {})
    own = context.get("error")
    if isinstance(own, FaultError):
        return own
    kind = details["type"]
    if kind == "extra_forbidden":
        fault = _unknown_key(details, location)
    elif kind == "choice":
        fault = _unknown_choice(details["msg"], location, document)
    elif kind in _RANGES:
        fault = _out_of_range(details, location, document)
    elif kind == "missing":
        fault = FaultError("expected a value: it has no default", found="nothing")
    elif kind == "literal_error":
        fault = FaultError(f"expected {str(context['expected']).replace(chr(39), chr(34))}")
    elif kind == "list_type" and location == ("workload",):
        fault = FaultError("expected a list of tables: [[workload]], in two brackets", found="one table")
    elif kind == "model_type" and location in _MAY_BE_EMPTY:
        fault = FaultError("expected a table; {} takes every default")
    else:
        fault = FaultError(_SIMPLE.get(kind, f"{details['msg'][:1].lower()}{details['msg'][1:]}"))
    return fault


def _unknown_key(details: ErrorDetails, location: Location) -> FaultError:
    tags = [part[len(TAG) :] for part in details["loc"] if isinstance(part, str) and part.startswith(TAG)]
    key = str(location[-1])
    known = keys_beside(location, tags)
    place = "at the top" if len(location) == 1 else "here"
    if location[0] == "path" and len(location) > 2 and key in {"down", "up"}:
        asked = f"for one direction write [path.{key}] with {location[-2]} = .., in a table of its own. "
    else:
        asked = meant(key, known)
    return FaultError(f"{asked}Keys {place}: {', '.join(sorted(known))}", found="an unknown key")


def _unknown_choice(key: str, location: Location, document: Document) -> FaultError:
    choices = _CHOICES[key]
    table = _value_at(document, location)
    if not isinstance(table, dict):
        return FaultError("expected a table")
    value = table.get(key, _MISSING)
    if value is _MISSING:
        return FaultError(f"expected one of {', '.join(choices)}", found="nothing", key=key)
    asked = did_you_mean(value, choices) if isinstance(value, str) else ""
    return FaultError(f"{asked}expected one of {', '.join(choices)}", found=shown(value), key=key)


def _out_of_range(details: ErrorDetails, location: Location, document: Document) -> FaultError:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    value = _value_at(document, location)
    unit = unit_of(value) if isinstance(value, str) else ""
    form = format_time if unit in TIME_UNITS else format_size if unit in SIZE_UNITS else str
    name, bound = next((name, bound) for name, bound in details.get("ctx", {}).items() if name in words)
    return FaultError(f"expected {words[name]} {form(bound)}", found=f"{shown(value)}, which is out of range")
