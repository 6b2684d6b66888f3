"""Runs' records (run.json), read one by one, and put away together with what repeats kept apart.

Runs of a sweep differ little in what they were asked and not at all in the machine they ran on. So those
parts of a record are texts of their own, which a Parquet file stores once for all runs that have the same.
"""

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from bentpipe.results.errors import StoreError
from bentpipe.results.layout import RECORD
from bentpipe.results.place import Place

_REPEATED = ("spec", "sysctl", "machine", "versions")
TEXT_COLUMNS = ("record_json", *(f"{part}_json" for part in _REPEATED))


def read_record(folder: Place) -> dict[str, Any]:
    """With the folder as it is named and found now: it may have been moved since."""
    return located(read_object(folder / RECORD), folder.name, folder)


def located(record: dict[str, Any], run: str, folder: Place) -> dict[str, Any]:
    record["run"], record["folder"] = run, str(folder)
    return record


class Repeated:
    """What runs have in common, one object for all that have the same."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}
        self._texts: dict[int, str] = {}

    def of(self, text: str) -> Any:
        """The part that is written so."""
        if text not in self._parts:
            self._parts[text] = part = json.loads(text)
            self._texts[id(part)] = text
        return self._parts[text]

    def text(self, part: Any) -> str:
        """How it is written; known at once of a part that came from here."""
        known = self._texts.get(id(part))
        return json.dumps(part) if known is None else known

    def shared(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record, with such parts taken from here."""
        for part in _REPEATED:
            if part in record:
                record[part] = self.of(json.dumps(record[part]))
        return record


def read_object(place: Place) -> dict[str, Any]:
    try:
        found = json.loads(place.read_bytes())
    except ValueError as error:
        raise StoreError(f"{place} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise StoreError(f"{place} holds no object")
    return found


def packed(records: Sequence[Mapping[str, Any]], repeated: Repeated) -> pl.DataFrame:
    """A row of texts for each record."""
    rows = []
    for record in records:
        rest = {key: None if key in _REPEATED else value for key, value in record.items()}
        parts = (repeated.text(record[part]) if part in record else None for part in _REPEATED)
        rows.append((json.dumps(rest), *parts))
    return pl.DataFrame(rows, schema=dict.fromkeys(TEXT_COLUMNS, pl.String), orient="row")


def unpacked(rows: pl.DataFrame, repeated: Repeated) -> list[dict[str, Any]]:
    """The records."""
    found = []
    for record_json, *texts in rows.select(TEXT_COLUMNS).iter_rows():
        record = json.loads(record_json)
        for key, text in zip(_REPEATED, texts, strict=True):
            if text is not None:
                record[key] = repeated.of(text)
        found.append(record)
    return found


@contextmanager
def many_objects() -> Iterator[None]:
    """While thousands of records are made: Python would look through all of them again and again for what may
    be thrown away, and find nothing. Afterwards they count as old, which it looks through seldom."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
        if enabled:
            gc.enable()
