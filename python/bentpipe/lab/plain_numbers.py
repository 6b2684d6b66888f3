"""From a table of the lab to a class of spec.py, field by field.

A field is named after its key, with the unit behind it: `think` of the lab is `think_ns` of the
specification. So a key whose value is one number or text needs no line of its own in resolve.py.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

_SECOND_NS = 1_000_000_000
_Spec = TypeVar("_Spec", bound=BaseModel)


def plain(of: type[_Spec], table: BaseModel, **given: Any) -> _Spec:
    """The plain numbers of a table. `given` are the fields that are more than their key's value."""
    return of(**{name: _value(table, name) for name in of.model_fields if name not in given}, **given)


def _value(table: BaseModel, field: str) -> Any:
    if field in type(table).model_fields:
        return getattr(table, field)
    key, _, unit = field.rpartition("_")
    value = getattr(table, key)
    return value / _SECOND_NS if unit == "s" else value  # the models have nanoseconds
