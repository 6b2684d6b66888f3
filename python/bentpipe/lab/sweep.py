"""The grid: every combination of the swept values, crossed with the variants, under what `--set` asks for.

A sweep, a variant and a `--set` are the same thing: values put over dotted keys of the lab. They are put in
that order, so a `--set` holds everywhere; set on a swept key it pins that key to the one value.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.errors import FaultError, LabError, did_you_mean, shown
from bentpipe.lab.keys import Document, Location, check_key, put
from bentpipe.lab.models.lab import AS_IS

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Cell:
    """One cell of the grid: which values, and the lab's document with them in place.

    `placed` says where each changed value stands in the document and where it came from.
    """

    variant: str
    point: dict[str, Any]
    document: Document
    placed: dict[Location, Origin]


@dataclass(frozen=True)
class Origin:
    """Where a value comes from: a place in the file, or an option of the command line (`where`, instead)."""

    location: Location = ()
    where: str = ""


@dataclass(frozen=True)
class Value:
    """One value of a swept key, and where it comes from."""

    value: Any
    origin: Origin


@dataclass(frozen=True)
class Grid:
    """The axes and the variants of a lab, checked. `base` is the document without them."""

    base: Document
    axes: Mapping[str, list[Value]]
    variants: Mapping[str, tuple[Mapping[str, Any], Location]]
    sets: Sequence[tuple[str, Any, Origin]]

    def __len__(self) -> int:
        return len(self.variants) * math.prod(len(values) for values in self.axes.values())

    def cells(self) -> Iterator[Cell]:
        """Every cell, the plain lab first. Raises `LabError` where a key lies below what is no table."""
        for variant, (changes, location) in self.variants.items():
            for combination in itertools.product(*self.axes.values()):
                yield self._cell(variant, changes, location, dict(zip(self.axes, combination, strict=True)))

    def _cell(
        self, variant: str, changes: Mapping[str, Any], location: Location, swept: dict[str, Value]
    ) -> Cell:
        document = copy.deepcopy(self.base)
        placed: dict[Location, Origin] = {}
        points = [(key, each.value, each.origin) for key, each in swept.items()]
        varied = [(key, value, Origin((*location, "set", key))) for key, value in changes.items()]
        for key, value, origin in (*points, *varied, *self.sets):
            try:
                placed[put(document, key, copy.deepcopy(value))] = origin
            except FaultError as fault:
                raise ChangeError(fault, origin) from None
        return Cell(variant, {key: each.value for key, each in swept.items()}, document, placed)


class ChangeError(Exception):
    """A fault in a change, with where the change comes from."""

    def __init__(self, fault: FaultError, origin: Origin) -> None:
        self.fault = fault
        self.origin = origin
        super().__init__(str(fault))


def parse_set(text: str, where: str) -> tuple[str, Any]:
    """Reads `key=value`. The value is read as TOML (`0.01`, `true`, `["a", "b"]`), and as plain text where
    it is none.
    """
    key, equals, written = text.partition("=")
    key, written = key.strip(), written.strip()
    if not equals or not key or not written:
        raise LabError(where, "", shown(text), 'a key and a value would do, such as --set path.rtt="30 ms"')
    try:
        value = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        return key, written
    return (key, value["value"]) if set(value) == {"value"} else (key, written)


def grid_of(document: Document, sets: Sequence[tuple[str, str]], variants: Sequence[str] | None) -> Grid:
    """The grid of a lab's document; `sets` are options as the user wrote them, each with its `key=value`.

    Raises `ChangeError` or, for an option that cannot be read, `LabError`.
    """
    base = {key: value for key, value in document.items() if key not in ("sweep", "variant")}
    axes = _axes(document, base)
    changes = _chosen(_variants(document, base, axes), variants)
    plain: list[tuple[str, Any, Origin]] = []
    for where, text in sets:
        key, value = parse_set(text, where)
        origin = Origin(where=where)
        _check(key, base, origin)
        if key in axes:
            axes[key] = [Value(value, origin)]
            continue
        above = next((axis for axis in axes if axis.startswith(f"{key}.")), None)
        if above is not None:
            raise ChangeError(
                FaultError(
                    f'the swept key itself, "{above}", would do', found="a key above a swept one", key=key
                ),
                origin,
            )
        plain.append((key, value, origin))
    grid = Grid(base, axes, changes, plain)
    if len(grid) > MOST_CELLS:
        raise ChangeError(
            FaultError(
                f"at most {MOST_CELLS} would do; --set pins a swept key",
                found=f"{len(grid)} points",
                key="sweep",
            ),
            Origin(("sweep",)),
        )
    return grid


def _check(key: str, base: Document, origin: Origin) -> None:
    try:
        check_key(key, base)
    except FaultError as wrong:
        raise ChangeError(FaultError(wrong.remedy, found=wrong.found, key=key), origin) from None


def _axes(document: Document, base: Document) -> dict[str, list[Value]]:
    if "sweep" not in document:
        return {}
    sweep = document["sweep"]
    here = Origin(("sweep",))
    example = '"path.rtt" = ["11 ms", "30 ms"]'
    if not isinstance(sweep, dict):
        raise ChangeError(
            FaultError(f"a table would do, with {example}", found=shown(sweep), key="sweep"), here
        )
    if not sweep:
        raise ChangeError(
            FaultError(
                f"a key in it would do, such as {example}, or no [sweep]", found="nothing in it", key="sweep"
            ),
            here,
        )
    axes: dict[str, list[Value]] = {}
    for key, values in sweep.items():
        origin = Origin(("sweep", key))
        _check(_undotted(key, values, origin), base, origin)
        if key == "repeat":
            raise ChangeError(
                FaultError(
                    "any other key would do: repeats are not points", found="repeat in a sweep", key=key
                ),
                origin,
            )
        if not isinstance(values, list):
            raise ChangeError(
                FaultError(f"a list of values would do, such as {example}", found=shown(values), key=key),
                origin,
            )
        if not values:
            raise ChangeError(
                FaultError("at least one value would do", found="an empty list", key=key), origin
            )
        seen: set[str] = set()
        for index, value in enumerate(values):
            text = canonical(value)
            if text in seen:
                raise ChangeError(
                    FaultError("each value once would do", found=f"{shown(value)} twice", key=key),
                    Origin(("sweep", key, index)),
                )
            seen.add(text)
        above = next((axis for axis in axes if _overlap(axis, key)), None)
        if above is not None:
            raise ChangeError(
                FaultError("one of them would do", found=f'"{key}" beside "{above}", which overlap', key=key),
                origin,
            )
        axes[key] = [Value(value, Origin(("sweep", key, index))) for index, value in enumerate(values)]
    return axes


def _undotted(key: str, values: object, origin: Origin) -> str:
    """The key itself; `path.rtt` without quotes makes TOML see a table `path`, and is told so."""
    if isinstance(values, dict):
        below = next(iter(values), "...")
        raise ChangeError(
            FaultError(
                f'the key in quotes would do: "{key}.{below}" = [..] (without them TOML makes it a table)',
                found=f"a table {key}",
                key=f"sweep.{key}",
            ),
            origin,
        )
    return key


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _variants(
    document: Document, base: Document, axes: Mapping[str, object]
) -> dict[str, tuple[Mapping[str, Any], Location]]:
    variants: dict[str, tuple[Mapping[str, Any], Location]] = {AS_IS: ({}, ())}
    written = document.get("variant", [])
    example = 'a name and its changes would do: name = "tuned", set = { "host.sack" = false }'
    if not isinstance(written, list):
        raise ChangeError(
            FaultError(f"[[variant]] with {example}", found=shown(written), key="variant"),
            Origin(("variant",)),
        )
    for index, variant in enumerate(written):
        here: Location = ("variant", index)
        key = f"variant.{index}"
        if not isinstance(variant, dict):
            raise ChangeError(
                FaultError(f"[[variant]] with {example}", found=shown(variant), key=key), Origin(here)
            )
        extra = next((each for each in variant if each not in ("name", "set")), None)
        if extra is not None:
            asked = did_you_mean(extra, ("name", "set"))
            raise ChangeError(
                FaultError(
                    f"{asked}Keys of a variant: name, set",
                    found="a key that is not known",
                    key=f"{key}.{extra}",
                ),
                Origin((*here, extra)),
            )
        name, changes = variant.get("name"), variant.get("set")
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 80:
            found = "none" if name is None else shown(name)
            raise ChangeError(
                FaultError("a name of 1 to 80 letters would do", found=found, key=f"{key}.name"),
                Origin((*here, "name")),
            )
        if name in variants:
            remedy = "another name would do" + (
                ": the plain lab is called so, and always there" if name == AS_IS else ""
            )
            raise ChangeError(
                FaultError(remedy, found=f'a second variant "{name}"', key=f"{key}.name"),
                Origin((*here, "name")),
            )
        if not isinstance(changes, dict) or not changes:
            found = "none" if changes is None else shown(changes)
            raise ChangeError(FaultError(example, found=found, key=f"{key}.set"), Origin((*here, "set")))
        for changed, value in changes.items():
            origin = Origin((*here, "set", changed))
            _check(changed, base, origin)
            if isinstance(value, dict) and any("." in below for below in value) and "sysctl" not in changed:
                raise ChangeError(
                    FaultError(
                        "each dotted key in quotes of its own would do", found=shown(value), key=changed
                    ),
                    origin,
                )
            swept = next((axis for axis in axes if axis == changed), None)
            if swept is not None or changed == "repeat":
                found = f'"{changed}", which is swept' if swept else "repeat in a variant"
                raise ChangeError(
                    FaultError("a key that is not swept would do", found=found, key=changed), origin
                )
        variants[name] = (changes, here)
    return variants


def _chosen(
    variants: dict[str, tuple[Mapping[str, Any], Location]], names: Sequence[str] | None
) -> dict[str, tuple[Mapping[str, Any], Location]]:
    if names is None:
        return variants
    if not names:
        raise LabError("--variant", "", "no name", f"one of {', '.join(variants)} would do")
    for name in names:
        if name not in variants:
            asked = did_you_mean(name, variants)
            raise LabError(
                f"--variant {name}",
                "",
                "a name that is not a variant",
                f"{asked}Variants of this lab: {', '.join(variants)}",
            )
    return {name: variants[name] for name in variants if name in names}


def canonical(value: object) -> str:
    """A TOML value as text, the same for the same value."""
    return json.dumps(value, sort_keys=True, default=str, separators=(",", ":"), ensure_ascii=False)
