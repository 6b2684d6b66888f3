"""Figures that others published, which a lab cites by key and a report prints beside its own."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _figures() -> dict[str, dict[str, Any]]:
    text = (files("bentpipe") / "published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def published_keys() -> tuple[str, ...]:
    """The keys that a lab's `published` may name."""
    return tuple(_figures())


def published(key: str) -> dict[str, Any]:
    """The published table of that key: `title`, `source`, `setup`, `claims` and columns named with their
    units.

    Raises KeyError for a key that is not there.
    """
    return _figures()[key]
