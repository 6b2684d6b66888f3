"""The variants of a lab: named sets of changes, crossed with the sweep or with a part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bentpipe.errors import LabError
from bentpipe.lab.grid.axes import Axis, AxisValue
from bentpipe.lab.grid.changes import Change, Origin, fault, set_of_changes
from bentpipe.lab.grid.meaning import canonical
from bentpipe.lab.keys import Document, Location
from bentpipe.lab.models.lab import AS_IS, LabFile
from bentpipe.words.faults import did_you_mean, listed, shown

_KEYS = ("name", "set", "only")
_EXAMPLE = 'a name and its changes: name = "tuned", set = { "host.sack" = false }'
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Variant:
    """A named set of changes. `only` holds, per axis, the values that it is crossed with; an axis that is
    not in it is crossed whole.
    """

    name: str
    changes: tuple[Change, ...] = ()
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def meets(self, axis: str, value: AxisValue) -> bool:
        """Whether the variant is crossed with this value of the axis."""
        return axis not in self.only or canonical(value.shown) in self.only[axis]


def variants_of(document: Document, base: Document, axes: Mapping[str, Axis]) -> dict[str, Variant]:
    """The plain lab, then the lab's variants in its order. Raises `ChangeError`."""
    variants = {AS_IS: Variant(AS_IS)}
    written = document.get("variant", [])
    if not isinstance(written, list):
        raise fault(Origin(("variant",)), "variant", shown(written), f"expected [[variant]] with {_EXAMPLE}")
    for index, table in enumerate(written):
        variant = _variant(table, base, axes, ("variant", index))
        if variant.name in variants:
            remedy = "expected another name" + (
                ": the plain lab is called so, and always there" if variant.name == AS_IS else ""
            )
            here = Origin(("variant", index, "name"))
            raise fault(here, f"variant.{index}.name", f'a second variant "{variant.name}"', remedy)
        variants[variant.name] = variant
    return variants


def chosen(variants: dict[str, Variant], names: Sequence[str] | None) -> dict[str, Variant]:
    """The variants of these names, in the lab's order; None for all. Raises `LabError`."""
    if names is None:
        return variants
    if not names:
        raise LabError("--variant", "", "no name", f"expected one of {listed(variants)}")
    for name in names:
        if name not in variants:
            asked = did_you_mean(name, variants)
            raise LabError(
                f"--variant {name}",
                "",
                "an unknown variant",
                f"{asked}Variants of this lab: {listed(variants)}",
            )
    return {name: variants[name] for name in variants if name in names}


def _variant(table: Any, base: Document, axes: Mapping[str, Axis], here: Location) -> Variant:
    key = ".".join(map(str, here))
    if not isinstance(table, dict):
        raise fault(Origin(here), key, shown(table), f"expected [[variant]] with {_EXAMPLE}")
    extra = next((each for each in table if each not in _KEYS), None)
    if extra is not None:
        below = f".{next(iter(table[extra]), '')}" if isinstance(table[extra], dict) else ""
        is_change = extra in LabFile.model_fields
        in_set = f'expected set = {{ "{extra}{below}" = .. }}. '
        asked = in_set if is_change else did_you_mean(extra, _KEYS)
        remedy = f"{asked}Keys of a variant: {', '.join(_KEYS)}"
        raise fault(Origin((*here, extra)), f"{key}.{extra}", "an unknown key", remedy)
    name, changes = table.get("name"), table.get("set")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        found = "none" if name is None else shown(name)
        raise fault(Origin((*here, "name")), f"{key}.name", found, "expected a name of 1 to 80 letters")
    if not isinstance(changes, dict) or not changes:
        found = "none" if changes is None else shown(changes)
        raise fault(Origin((*here, "set")), f"{key}.set", found, f"expected {_EXAMPLE}")
    variant = Variant(
        name,
        set_of_changes(changes, base, (*here, "set")),
        _only(table.get("only", {}), axes, (*here, "only"), f"{key}.only"),
    )
    _changes_nothing_swept(variant, axes)
    return variant


def _only(written: Any, axes: Mapping[str, Axis], here: Location, key: str) -> dict[str, frozenset[str]]:
    example = 'expected axes and their values, such as only = { "path.rtt" = ["550 ms"] }'
    if not isinstance(written, dict):
        raise fault(Origin(here), key, shown(written), example)
    only = {}
    for name, values in written.items():
        origin = Origin((*here, name))
        if name not in axes:
            asked = did_you_mean(name, axes)
            there = f"Axes of this lab: {', '.join(axes)}" if axes else "This lab has no [sweep]"
            raise fault(origin, f"{key}.{name}", f'"{name}", which is not swept', f"{asked}{there}")
        if not isinstance(values, list) or not values:
            raise fault(origin, f"{key}.{name}", shown(values), "expected a list of the axis's values")
        only[name] = frozenset(
            canonical(axes[name].value_named(value, f"{key}.{name}", Origin((*here, name, index))).shown)
            for index, value in enumerate(values)
        )
    return only


def _changes_nothing_swept(variant: Variant, axes: Mapping[str, Axis]) -> None:
    """Raises `ChangeError` for a key that an axis changes too, where the two are crossed."""
    for axis in axes.values():
        met = [value for value in axis.values if variant.meets(axis.name, value)]
        swept = {change.key for value in met for change in value.changes}
        for change in variant.changes:
            if change.key in swept:
                by = f"the axis {axis.name}" if axis.named else "[sweep]"
                remedy = "expected a key that is not swept" + (
                    f", or only = {{ {axis.name} = [..] }} with values that leave it alone"
                    if axis.named
                    else ""
                )
                found = f'a key that both the variant "{variant.name}" and {by} change'
                raise fault(change.origin, change.key, found, remedy)
