"""The table of runs: one row per run, made from the records.

What all runs have is a column. What depends on the lab is in structs, so that SQL and data frames reach it by
dots: `point.path.rtt`, `workload.download.goodput_mbit_s`. That dotted path is the figure's name everywhere.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from bentpipe.runs.asked import base_rtt_s
from bentpipe.runs.schema import FLAG, FLOAT, INTEGER, TEXT, Column, Table

Record = Mapping[str, Any]
Path = tuple[str, ...]
_STRUCT = pl.Struct({})

RUNS = Table(
    "runs",
    "One row per run of a sweep. Kept as `runs.parquet` in the sweep's folder.",
    (
        Column("run", TEXT, "name of the run's folder"),
        Column("lab", TEXT, "name of the lab"),
        Column("title", TEXT, "its title"),
        Column("published", TEXT, "key of the published figures; null: none"),
        Column("engine", TEXT, "`sim`, `live` or `imported`"),
        Column("seed", INTEGER, "the run's seed"),
        Column("repeat_index", INTEGER, "which repeat of its point, from 0"),
        Column("variant", TEXT, "the variant's name; `as is`: the plain lab"),
        Column("status", TEXT, "`done` or `failed`"),
        Column(
            "reliable",
            FLAG,
            "whether the engine's own error was within the lab's limits; not known of `imported` ones",
        ),
        Column("why", pl.List(pl.String()), "why not, a sentence each"),
        Column("started", pl.Datetime("us"), "when it began, UTC"),
        Column("wall_s", FLOAT, "how long it took"),
        Column("rtt_s", FLOAT, "base round trip between client and server, as configured"),
        Column("point", _STRUCT, "what was swept: `point.path.rtt`; as written in the lab, or numbers"),
        Column("workload", _STRUCT, "figures of each workload: `workload.download.goodput_mbit_s`"),
        Column("pipe", _STRUCT, "figures of each pipe: `pipe.down.drops.tail`"),
        Column("queue", _STRUCT, "how each pipe's queue behaved: `queue.down.delay_s_p95`"),
        Column("tunnel", _STRUCT, "figures of a tunnel's directions: `tunnel.down.residual_loss`"),
        Column("split", _STRUCT, "figures of the proxies that split TCP: `split.far.down_bytes`"),
        Column("gateway", _STRUCT, "figures of bentpipe's gateways: `gateway.far.exact_repairs`"),
        Column("engine_error", _STRUCT, "the engine's own error report: `engine_error.lateness_us_p99`"),
    ),
)
"""A struct that no run has anything of is left out, and which fields it has depends on the lab."""

FIXED = tuple(column for column in RUNS.columns if column.dtype != _STRUCT)


class RunRows:
    """The rows of runs that come one by one. Neither columns nor types depend on their order."""

    def __init__(self) -> None:
        self._count = 0
        self._plain: dict[str, list[Any]] = {column.name: [] for column in FIXED}
        self._leaves: dict[str, dict[Path, list[Any]]] = {name: {} for name in STRUCTS}

    def add(self, record: Record) -> None:
        for column in FIXED:
            self._plain[column.name].append(_plain(column, record))
        for name, of in STRUCTS.items():
            leaves = self._leaves[name]
            for path, value in of(record).items():
                values = leaves.setdefault(path, [])
                values.extend([None] * (self._count - len(values)))
                values.append(value)
        self._count += 1

    def frame(self) -> pl.DataFrame:
        for leaves in self._leaves.values():
            for values in leaves.values():
                values.extend([None] * (self._count - len(values)))
        plain = [pl.Series(column.name, self._plain[column.name], column.dtype) for column in FIXED]
        nested = [_struct(name, leaves) for name, leaves in self._leaves.items() if leaves]
        return pl.DataFrame([*plain, *nested])


def runs_table(records: Iterable[Record]) -> pl.DataFrame:
    """A row for each record, in their order."""
    rows = RunRows()
    for record in records:
        rows.add(record)
    return rows.frame()


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """The table with a column for each field of its structs, by its dotted name."""
    return table.select(*_leaves(table.schema))


def _leaves(fields: Mapping[str, Any], within: str = "", of: pl.Expr | None = None) -> Iterator[pl.Expr]:
    for name, dtype in fields.items():
        value = pl.col(name) if of is None else of.struct.field(name)
        if isinstance(dtype, pl.Struct):
            yield from _leaves(dict(dtype.to_schema()), f"{within}{name}.", value)
        else:
            yield value.alias(f"{within}{name}")


_ACCEPTED: Mapping[Any, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    INTEGER: lambda value: type(value) is int,
    FLOAT: lambda value: type(value) in {int, float},
    FLAG: lambda value: isinstance(value, bool),
}


def _plain(column: Column, record: Record) -> Any:
    """Null where the record has it not, or not of that type: a record may come from another program."""
    if column.name == "rtt_s":
        return base_rtt_s(record)
    value = record.get(column.name)
    if column.name == "started":
        return _moment(value)
    if column.name == "why":
        return [why for why in value if isinstance(why, str)] if isinstance(value, list) else []
    return value if _ACCEPTED[column.dtype](value) else None


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (TypeError, ValueError, OverflowError):  # its zone may lead out of the years that there are
        return None


def _point(record: Record) -> dict[Path, Any]:
    """By the parts of its key; a list or an object as its text."""
    values = record.get("point", {}).items()
    return {tuple(key.split(".")): json.dumps(v) if isinstance(v, dict | list) else v for key, v in values}


def _part(key: str) -> Callable[[Record], dict[Path, Any]]:
    """The scalars below a key of the record."""

    def scalars(record: Record) -> dict[Path, Any]:
        found: dict[Path, Any] = {}
        _scalars(found, (), record.get(key) or {})
        return found

    return scalars


def _error(record: Record) -> dict[Path, Any]:
    report = record.get("engine_error") or {}
    return {(key,): value for key, value in report.items() if not isinstance(value, dict | list)}


def _scalars(found: dict[Path, Any], within: Path, part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if isinstance(value, dict):
            _scalars(found, (*within, key), value)
        elif not isinstance(value, list):
            found[(*within, key)] = value


STRUCTS: Mapping[str, Callable[[Record], dict[Path, Any]]] = {
    "point": _point,
    "workload": _part("workloads"),
    "pipe": _part("pipes"),
    "queue": _part("queue"),
    "tunnel": _part("tunnel"),
    "split": _part("split"),
    "gateway": _part("gateway"),
    "engine_error": _error,
}


def _struct(name: str, leaves: Mapping[Path, Sequence[Any]]) -> pl.Series:
    """A path that goes on elsewhere keeps its own values, if it has any, in a field `value`."""
    fields: dict[str, dict[Path, Sequence[Any]]] = {}
    for (first, *rest), values in leaves.items():
        fields.setdefault(first, {})[tuple(rest)] = values
    series = []
    for field in sorted(fields):
        below = fields[field]
        own = below.pop((), None)
        if not below and own is not None:
            series.append(_typed(field, own))
            continue
        if own is not None and any(value is not None for value in own):
            below[("value",)] = own
        series.append(_struct(field, below))
    return pl.DataFrame(series).to_struct(name)


def _typed(name: str, values: Sequence[Any]) -> pl.Series:
    """Numbers, booleans or text, where all are; else the text of each. Without any value: numbers."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Series(name, values, pl.Boolean)
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pl.Series(name, values, pl.Int64)
    if kinds <= {int, float}:
        return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, pl.String)
