"""Rows for the trees, kept in a folder, so that a fit that was stopped goes on where it was.

They depend on the doctor's code, on that of the labs and on the compiled simulator. If any of these changes,
all rows are made anew.
"""

import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import records

from bentpipe.doctor import drop_causes

FOLDER = records.FOLDER.with_name("doctor-rows")

Row = TypeVar("Row")


def rows(name: str, made: Callable[[], list[Row]]) -> list[Row]:
    """Those of that name; made if they are not there."""
    file = FOLDER / _code() / f"{name}.pickle"
    if file.exists():
        found: list[Row] = pickle.loads(file.read_bytes())
        return found
    found = made()
    records.keep(file, found)
    return found


@cache
def _code() -> str:
    """Changes with any file of the doctor and of these labs, and with the simulator."""
    found = hashlib.sha256(records.simulator().encode())
    for folder in (Path(drop_causes.__file__).parent, Path(__file__).parent):
        for file in sorted(folder.rglob("*.py")):
            found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:24]
