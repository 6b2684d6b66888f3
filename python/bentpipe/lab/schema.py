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
    form = dict(form)
    written = _WRITTEN.get(form.get("title", ""))
    default = form.pop("default", None)
    if "anyOf" in form:
        branches = [branch for branch in form.pop("anyOf") if branch != {"type": "null"}]
        form = {**branches[0], **form} if len(branches) == 1 else {"anyOf": branches, **form}
    if isinstance(default, int) and not isinstance(default, bool) and written is not None:
        default = written(default)
    if default is not None and not isinstance(default, dict | list):
        form["default"] = default
    if "x-default" not in form and form.get("title", "").islower():
        return form
    form.pop("title", None)
    return form
