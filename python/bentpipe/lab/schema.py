"""The lab file's JSON schema, for editors and for whoever writes labs by program.

Pydantic's own schema, without what TOML does not have (null) or a reader does not need (a title that
repeats the key), and with defaults as one writes them.
"""

from __future__ import annotations

from typing import Any

from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.units import format_size, format_time

Schema = dict[str, Any]
_WRITTEN = {"time": format_time, "size": format_size}
FORMS = ("time", "size", "rate", "limit", "queue limit", "probability")
"""Titles of the forms in which a value with a unit is written."""


def json_schema() -> Schema:
    """A JSON schema (draft 2020-12) of the lab file.

    What it cannot say (outages that overlap, a name given twice) only `Lab.load` checks.
    """
    schema = LabFile.model_json_schema()
    definitions = {name: _table(table) for name, table in schema.pop("$defs").items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_table(schema),
        "title": "bentpipe lab",
        "$defs": definitions,
    }


def _table(table: Schema) -> Schema:
    properties = {key: _property(form) for key, form in table["properties"].items()}
    return {**{key: value for key, value in table.items() if key != "title"}, "properties": properties}


def _property(form: Schema) -> Schema:
    """One key's schema: our own titles name a form (time, size); pydantic's repeat the key."""
    default = form.get("default")
    form = {key: value for key, value in form.items() if key != "default"}
    if form.get("title") not in FORMS:
        form.pop("title", None)
    if "anyOf" in form:
        branches = [branch for branch in form.pop("anyOf") if branch != {"type": "null"}]
        form = {**branches[0], **form} if len(branches) == 1 else {"anyOf": branches, **form}
    if isinstance(default, int) and form.get("title") in _WRITTEN:
        default = _WRITTEN[form["title"]](default)
    if default is not None and not isinstance(default, dict | list):
        form["default"] = default
    return form
