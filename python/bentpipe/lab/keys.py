"""Dotted keys: which there are, and how a value is put over one.

`path.down.loss`, `host.tcp_rmem`, `workload.NAME.size`, `repeat`. A key is there if the model knows it,
whether or not the file has it. Below a table that the file writes short (`rate = "16 Mbit/s"`), a key makes
it the long table.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.host import Host
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.models.path import SHORT_FORMS, Path
from bentpipe.lab.models.workload import MODELS
from bentpipe.words.faults import did_you_mean, shown

Document = dict[str, Any]
"""A lab file as `tomllib` gives it."""
Location = tuple[str | int, ...]

_FORM_KEYS = ("kind", "discipline", "model", "distribution", "name")
_ALSO_CALLED = {"bandwidth": "rate", "speed": "rate", "latency": "rtt", "buffer": "queue"}
"""Other words for keys of the path."""
_NOT_SETTABLE = {
    "sweep": "expected a swept key itself (it is pinned): --set path.rtt=...",
    "variant": "expected a key of the lab itself: --set host.tcp_rmem=...",
}


def check_key(dotted: str, document: Document) -> None:
    """Raises `FaultError` if the lab knows no such key, with the nearest one that it knows."""
    parts = dotted.split(".")
    if parts[0] in _NOT_SETTABLE:
        raise FaultError(_NOT_SETTABLE[parts[0]], found=f'the key "{dotted}"')
    if parts[0] == "workload":
        _check_workload_key(dotted, parts[1:], document)
    else:
        _walk([LabFile], parts, dotted, "")


def _check_workload_key(dotted: str, parts: list[str], document: Document) -> None:
    names = [_name(workload) for workload in _workloads(document)]
    would_do = f'expected a key such as "workload.{names[0] if names else "NAME"}.start"'
    if len(parts) < 2:
        raise FaultError(would_do, found=f'the key "{dotted}"')
    if parts[0] not in names:
        asked = did_you_mean(parts[0], names)
        listing = f"Workloads of this lab: {', '.join(names)}" if names else "This lab has no workload"
        raise FaultError(f"{asked}{listing}", found=f'the key "{dotted}", but no workload "{parts[0]}"')
    if parts[1] == "name":
        raise FaultError("expected any key but the name: keys are made of it", found=f'the key "{dotted}"')
    workload = _workloads(document)[names.index(parts[0])]
    kind = workload.get("kind")
    models = [MODELS[kind]] if isinstance(kind, str) and kind in MODELS else list(MODELS.values())
    _walk(list(models), parts[1:], dotted, f"workload.{parts[0]}.")


def _walk(models: list[type[BaseModel]], parts: list[str], dotted: str, prefix: str) -> None:
    known = {name for model in models for name in model.model_fields}
    part = parts[0]
    if part not in known and len(parts) == 1 and any(map(_takes_any_key, models)):
        return
    if part not in known:
        asked = meant(part, known, prefix)
        place = f"in {prefix[:-1]}" if prefix else "at the top"
        raise FaultError(
            f"{asked}Keys {place}: {', '.join(sorted(known))}",
            found=f'the unknown key "{dotted}"',
        )
    if len(parts) == 1:
        return
    annotations = [model.model_fields[part].annotation for model in models if part in model.model_fields]
    if any(_is_mapping(annotation) for annotation in annotations):
        return
    below = [model for annotation in annotations for model in _tables(annotation)]
    if not below:
        raise FaultError(f'expected "{prefix}{part}" itself: it is not a table', found=f'the key "{dotted}"')
    _walk(below, parts[1:], dotted, f"{prefix}{part}.")


def meant_in_path(key: str) -> str | None:
    """The key of the path that has this name, or is called so elsewhere: `path.rate` for `bandwidth`."""
    name = _ALSO_CALLED.get(key, key)
    return f"path.{name}" if name in Path.model_fields else None


def meant(key: str, known: Collection[str], prefix: str = "") -> str:
    """The beginning of a remedy for an unknown key: a question, or ""."""
    if _ALSO_CALLED.get(key) in known:
        return f'did you mean "{prefix}{_ALSO_CALLED[key]}"? '
    if "path" in known and (in_path := meant_in_path(key)):
        return f'did you mean "{in_path}"? '
    if {"path", "host"} <= set(known) and key in Host.model_fields:
        return f'did you mean "host.{key}"? '
    if key in {"cap", "law"} and {"up_rate", "redundancy"} <= set(known):
        return 'the control law is a form of rate: rate = { cap = "8 Mbit/s" } or rate = "fair". '
    return did_you_mean(key, known, prefix)


def keys_beside(location: Location, tags: Sequence[str]) -> set[str]:
    """The keys that are known in the table around a place; `tags` name the forms that were meant, in
    unions.
    """
    models: list[type[BaseModel]] = [LabFile]
    for part in location[:-1]:
        if not isinstance(part, str):
            continue
        annotations = [model.model_fields[part].annotation for model in models if part in model.model_fields]
        tables = [table for annotation in annotations for table in _tables(annotation)]
        meant = [table for table in tables if any(_is_form(table, tag) for tag in tags)]
        models = meant or tables
    return {name for model in models for name in model.model_fields}


def _is_form(table: type[BaseModel], tag: str) -> bool:
    """Whether a table is the form of a union that the tag names: by its kind, or by the key that marks it."""
    marks = [field.annotation for name, field in table.model_fields.items() if name in _FORM_KEYS]
    return tag in table.model_fields or any(tag in get_args(mark) for mark in marks)


def _takes_any_key(table: type[BaseModel]) -> bool:
    """Whether the table checks its keys itself, once the values are there."""
    return table.model_config.get("extra") == "allow"


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for each in get_args(annotation) for member in _members(each)]
    if get_origin(annotation) is list:
        return _members(get_args(annotation)[0])
    return [annotation]


def _tables(annotation: Any) -> list[type[BaseModel]]:
    return [each for each in _members(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]


def _is_mapping(annotation: Any) -> bool:
    return any(get_origin(each) is dict for each in _members(annotation))


def _workloads(document: Document) -> list[Document]:
    workloads = document.get("workload")
    return [each for each in workloads if isinstance(each, dict)] if isinstance(workloads, list) else []


def _name(workload: Mapping[str, Any]) -> str:
    name = workload.get("name", workload.get("kind"))
    return name if isinstance(name, str) else ""


def put(document: Document, dotted: str, value: Any) -> Location:
    """Puts a value over a key that `check_key` has passed, in place; returns where it now stands. Raises
    `FaultError`.
    """
    parts = dotted.split(".")
    table: Document = document
    at: Location = ()
    if parts[0] == "workload":
        workloads = _workloads(document)
        index = [_name(workload) for workload in workloads].index(parts[1])
        table, at, parts = workloads[index], ("workload", index), parts[2:]
    if parts[0] == "sysctl" or "sysctl" in parts[:2]:
        depth = parts.index("sysctl") + 1
        parts = [*parts[:depth], ".".join(parts[depth:])] if parts[depth:] else parts
    for part in parts[:-1]:
        below = table.get(part, {})
        if not isinstance(below, dict):
            if part not in SHORT_FORMS:
                raise FaultError(
                    f"expected a table there: {shown(dotted)} is below it",
                    found=f"{shown(below)} at {part}",
                    key=dotted,
                )
            below = {SHORT_FORMS[part]: below}
        table[part] = below
        table = below
        at = (*at, part)
    table[parts[-1]] = value
    return (*at, parts[-1])
