"""Reads runs' records (run.json), and stores many of them together with repeated parts stored once.

Runs of a sweep differ little in what they were asked and not at all in the machine they ran on. So those
parts of a record are texts of their own, which a Parquet file stores once for all runs that have the same.
"""

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from bentpipe.errors import StoreError
from bentpipe.runs import record_shape
from bentpipe.runs.layout import RECORD
from bentpipe.runs.memory_place import MemoryPlace
from bentpipe.runs.place import Place

_REPEATED = ("spec", "sysctl", "machine", "versions")
TEXT_COLUMNS = ("record_json", *(f"{part}_json" for part in _REPEATED))


def read_record(folder: Place) -> dict[str, Any]:
    """With the folder as it is named and found now: it may have been moved since."""
    place = folder / RECORD
    record = read_object(place)
    record_shape.check(record, place)
    return located(record, folder.name, folder)


def located(record: dict[str, Any], run: str, folder: Place) -> dict[str, Any]:
    record["run"], record["folder"] = run, None if isinstance(folder, MemoryPlace) else str(folder)
    return record


class Repeated:
    """What runs have in common, one object for all that have the same."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}
        self._texts: dict[int, str] = {}
        self._checked: set[tuple[str, str]] = set()
        self.shapes = record_shape.Shapes()
        """Of the rest of the records."""

    def of(self, text: str) -> Any:
        """The part that is written so."""
        if text not in self._parts:
            self._parts[text] = part = json.loads(text)
            self._texts[id(part)] = text
        return self._parts[text]

    def checked(self, key: str, text: str, place: Place) -> Any:
        """The record's part of that key. Its shape is checked once for each text. Raises StoreError."""
        part = self.of(text)
        if (key, text) not in self._checked:
            record_shape.check({key: part}, place)
            self._checked.add((key, text))
        return part

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
    except (ValueError, RecursionError) as error:
        remedy = "; remove this run's folder to read the others" * (place.name == RECORD)
        raise StoreError(
            f"{place}: found invalid JSON ({error}); expected a record as bentpipe wrote it{remedy}"
        ) from error
    if not isinstance(found, dict):
        raise StoreError(f"{place} holds no JSON object")
    return found


class Packed:
    """Records put away as they come: a row of texts for each."""

    def __init__(self, repeated: Repeated) -> None:
        self._repeated = repeated
        self._rests: list[str] = []
        self._parts: dict[str, list[str | None]] = {part: [] for part in _REPEATED}

    def add(self, record: Mapping[str, Any]) -> None:
        self._rests.append(
            json.dumps({key: None if key in _REPEATED else value for key, value in record.items()})
        )
        for part, texts in self._parts.items():
            texts.append(self._repeated.text(record[part]) if part in record else None)

    def frame(self) -> pl.DataFrame:
        columns: list[Sequence[str | None]] = [self._rests, *self._parts.values()]
        return pl.DataFrame([_texts(name, texts) for name, texts in zip(TEXT_COLUMNS, columns, strict=True)])


def _texts(name: str, texts: Sequence[str | None]) -> pl.Series:
    """A column in which texts that are equal take their room once."""
    number = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return pl.Series(name, list(number), pl.String).gather([number[text] for text in texts])


def unpacked(rows: pl.DataFrame, repeated: Repeated, place: Place) -> Iterator[dict[str, Any] | None]:
    """The records; None for a row whose texts are no record. `place` is the file that the rows are from."""
    for record_json, *texts in rows.select(TEXT_COLUMNS).iter_rows():
        try:
            yield _unpacked(record_json, texts, repeated, place)
        except (StoreError, ValueError, TypeError, RecursionError):
            yield None


def _unpacked(
    record_json: str, texts: Sequence[str | None], repeated: Repeated, place: Place
) -> dict[str, Any]:
    record = repeated.shapes.read(record_json, place, apart=_REPEATED)
    for key, text in zip(_REPEATED, texts, strict=True):
        if text is not None:
            record[key] = repeated.checked(key, text, place)
        else:
            record.pop(key, None)
    return record


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
