"""Packages whose names are loaded when they are first used.

A package that re-exports what its modules hold would otherwise load all of them for any one.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The package's `__getattr__`. `homes`: the module that each of its names is in."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load
