"""Checks a page's request to run a lab, and turns it into the request of run_process.py."""

import datetime
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bentpipe import engines
from bentpipe.errors import StoreError
from bentpipe.lab.files import MOST_BYTES
from bentpipe.lab.shipped import shipped_labs

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_MOST_REPEATS = 1000


def lab_request(asked: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    """Raises StoreError. A shipped lab is asked for by its name alone, any other with its text."""
    name, text = asked.get("lab"), asked.get("text")
    engine, set_, repeat = asked.get("engine", engines.DEFAULT), asked.get("set", []), asked.get("repeat")
    if engine not in list(engines.REGISTRY):
        raise StoreError(f"expected one of the engines {', '.join(engines.REGISTRY)}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise StoreError("expected a name for the lab: letters, digits, points, `-` and `_`")
    if text is None and name not in shipped_labs():
        raise StoreError("expected the lab's text, or the name of a lab that comes with bentpipe")
    if text is not None and (not isinstance(text, str) or len(text.encode()) > MOST_BYTES):
        raise StoreError("expected the text of a lab, at most 4 MiB")
    if not (isinstance(set_, list) and all(isinstance(each, str) for each in set_)):
        raise StoreError("expected changes as texts: key=value")
    if repeat is not None and not (type(repeat) is int and 1 <= repeat <= _MOST_REPEATS):
        raise StoreError(f"expected 1 to {_MOST_REPEATS} repeats")
    return {
        "lab": name,
        "text": text,
        "engine": engine,
        "set": set_,
        "repeat": repeat,
        "out": str(_free(runs, name)),
    }


def _free(runs: Path, name: str) -> Path:
    """A folder that is not there yet: NAME-DATE, with a number where one has that name."""
    base = f"{name.removesuffix('.toml')}-{datetime.date.today().isoformat()}"
    names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2)))
    return next(runs / each for each in names if not (runs / each).exists())
