"""A lab from Python values: the keys of the lab file, given as models, tables or plain values."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from pydantic import BaseModel

from bentpipe.errors import LabError
from bentpipe.lab.models.gateway import Gateway
from bentpipe.lab.models.host import Host
from bentpipe.lab.models.lab import Limits, Near, Variant
from bentpipe.lab.models.path import Path
from bentpipe.lab.models.split import Split
from bentpipe.lab.models.tunnel import Tunnel
from bentpipe.lab.models.workload import AnyWorkload

Table = Mapping[str, Any]
_DEEPEST = 32
"""No key of a lab lies as deep; a list may hold itself."""
_SHOWN = 60


class LabKeys(TypedDict, total=False):
    """The keys of a lab file (docs/lab-file.md). Quantities are texts with their units: "550 ms"."""

    title: str
    published: str
    seed: int
    duration: str
    until: str
    repeat: int
    path: Path | Table
    host: Host | Table
    client: Host | Table
    server: Host | Table
    near: Near | Table
    tunnel: Tunnel | Table
    split: Split | Table
    gateway: Gateway | Table
    workload: Sequence[AnyWorkload | Table]
    sweep: Mapping[str, Sequence[Any] | Mapping[str, Table]]
    variant: Sequence[Variant | Table]
    limits: Limits | Table


def document_of(keys: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The keys as a TOML file would give them; one whose value is None is left out.

    Raises LabError, with `where` in it, for a value that a lab file cannot hold.
    """
    return {key: plain(value, where, key) for key, value in keys.items() if value is not None}


def plain(value: Any, where: str, key: str, depth: int = 0) -> Any:
    """A value as `tomllib` would give it: text, number, flag, list or dict. Raises LabError."""
    if depth > _DEEPEST:
        raise LabError(where, key[:_SHOWN], f"more than {_DEEPEST} tables in each other", "expected fewer")
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, Mapping):
        table = {}
        for name, inner in value.items():
            if not isinstance(name, str):
                raise LabError(where, key, f"the key {name!r}", "expected texts as the keys of a table")
            if inner is not None:
                table[name] = plain(inner, where, f"{key}.{name}", depth + 1)
        return table
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(inner, where, f"{key}[{index}]", depth + 1) for index, inner in enumerate(value)]
    # NumPy's numbers are not Python's.
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    found = "None" if value is None else f"a value of the type {type(value).__name__}"
    raise LabError(
        where, key, found, 'expected a text such as "550 ms", a number, true or false, a list or a table'
    )
