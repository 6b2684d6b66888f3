"""A run as flent's data file (version 4), which flent's own reader takes.

Source: flent 2.3, flent/resultset.py and flent/formatters.py.
1. `raw_values` are in seconds since 1970, `T0` is where `x_values` begin, and `results` are the raw values
   put on steps of 100 ms by interpolation, as flent does it.
2. The test's name is one of flent's, so that its plots fit: by which transfers the run has.
3. What it does not know, flent ignores: `metadata.BENTPIPE` holds the run's names, point, seed and its
   workloads' figures, by which an import gives the same.
"""

import datetime
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe import _core
from bentpipe.errors import StoreError
from bentpipe.interchange import series
from bentpipe.interchange.all_or_none import AllOrNone
from bentpipe.interchange.flent_file import NEWEST, OURS
from bentpipe.interchange.series import Series
from bentpipe.lab.models.lab import AS_IS
from bentpipe.runs.asked import base_rtt_s
from bentpipe.runs.folder import write_file
from bentpipe.runs.store import Results
from bentpipe.runs.summary import BIN_S
from bentpipe.words.wording import point_words

SUFFIX = ".flent.gz"
_MOST_STEPS = 864_000


def write(results: Results, folder: Path, *, force: bool = False) -> list[Path]:
    """Write a file per run into `folder`: all or none. The paths written. Raises StoreError."""
    names = [f"{record['run']}{SUFFIX}" for record in results.records]
    with AllOrNone(folder, names, force=force) as written:
        for record, name in zip(results.records, names, strict=True):
            write_file(written.part(name), data_file(results, record))
    return written.paths


def data_file(results: Results, record: Mapping[str, Any]) -> bytes:
    """The file's content; the same for the same run."""
    document = _document(record, list(series.of_run(results, record)))
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def _document(record: Mapping[str, Any], found: Sequence[Series]) -> dict[str, Any]:
    times = [value["t"] - value.get("dur", 0.0) for each in found for value in each.values]
    ends = [value["t"] for each in found for value in each.values]
    first = min(0, round(min(times, default=0.0) / BIN_S - 0.5))
    last = max(round(max(ends, default=0.0) / BIN_S + 0.5), first + 1)
    if last - first > _MOST_STEPS:
        raise StoreError(
            f"{record['run']}: found a run of {(last - first) * BIN_S:.0f} s; expected a day at most"
        )
    x = [step * BIN_S for step in range(last - first + 1)]
    zero = _started(record)
    began = zero + datetime.timedelta(seconds=first * BIN_S)
    began_s = began.timestamp()
    zero_s = began_s - first * BIN_S
    raw, results, meta = {}, {}, {}
    for each in found:
        raw[each.name] = [{**value, "t": round(zero_s + value["t"], 6)} for value in each.values]
        results[each.name] = _on_steps(each.values, "val", x, first * BIN_S)
        meta[each.name] = _series_metadata(each)
        for key, unit in each.also.items():
            results[f"{each.name}::{key}"] = _on_steps(each.values, key, x, first * BIN_S)
            meta[f"{each.name}::{key}"] = {"UNITS": unit}
    return {
        "version": NEWEST,
        "metadata": _metadata(record, found, began, x[-1])
        | {"SERIES_META": meta, OURS: _ours(record, first)},
        "x_values": [round(at, 1) for at in x],
        "results": results,
        "raw_values": raw,
    }


def _started(record: Mapping[str, Any]) -> datetime.datetime:
    """The time that flent requires; 1971 for a run of unknown time."""
    text = record.get("started")
    return (
        datetime.datetime.fromisoformat(text) if text else datetime.datetime(1971, 1, 1, tzinfo=datetime.UTC)
    )


def _on_steps(
    values: Sequence[Mapping[str, Any]], key: str, x: Sequence[float], first_s: float
) -> list[float | None]:
    """Between two values on the line that joins them; before the first and after the last not known."""
    known = [(value["t"] - first_s, float(value[key])) for value in values if key in value]
    if not known:
        return [None] * len(x)
    at, what = zip(*known, strict=True)
    on_steps = np.interp(x, at, what, left=np.nan, right=np.nan)
    return [None if np.isnan(value) else round(float(value), 6) for value in on_steps]


def _series_metadata(of: Series) -> dict[str, Any]:
    figures = {"MEAN_VALUE": of.mean, "MIN_VALUE": of.least, "MAX_VALUE": of.most}
    known = {key: value for key, value in figures.items() if value is not None}
    return {"UNITS": of.unit, "RUNNER": "bentpipe", **known, **({OURS: of.workload} if of.workload else {})}


def _metadata(
    record: Mapping[str, Any], found: Sequence[Series], began: datetime.datetime, length_s: float
) -> dict[str, Any]:
    when = began.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    streams = {
        way: sum(each.name.startswith(f"TCP {way}") for each in found) for way in ("download", "upload")
    }
    variant = record.get("variant", AS_IS)
    return {
        "NAME": _test(streams, found),
        "TITLE": ", ".join([variant, *point_words(record.get("point", {})), f"seed {record.get('seed', 1)}"]),
        "NOTE": record.get("title"),
        "TIME": when,
        "T0": when,
        "HOST": "server",
        "HOSTS": ["server"],
        "LOCAL_HOST": "client",
        "LENGTH": round(length_s, 1),
        "TOTAL_LENGTH": round(length_s, 1),
        "STEP_SIZE": BIN_S,
        "IP_VERSION": (record.get("spec", {}).get("client") or {}).get("ip", 4),
        "FLENT_VERSION": f"bentpipe {_core.__version__}",
        "DATA_FILENAME": f"{record['run']}{SUFFIX}",
        "BATCH_NAME": record.get("lab"),
        "BATCH_TIME": None,
        "BATCH_TITLE": record.get("title"),
        "BATCH_UUID": None,
        "TEST_PARAMETERS": {f"{way}_streams": str(count) for way, count in streams.items() if count > 1},
        "KERNEL_RELEASE": (record.get("machine") or {}).get("kernel"),
        "SYSCTLS": (record.get("sysctl") or {}).get("client", {}),
        "FAILED_RUNNERS": 0,
    }


def _test(streams: Mapping[str, int], found: Sequence[Series]) -> str:
    """The test of flent that has such series."""
    match streams["download"], streams["upload"]:
        case 0, 0:
            return "http" if any(each.name.startswith("HTTP") for each in found) else "ping"
        case 1, 0:
            return "tcp_1down"
        case 0, 1:
            return "tcp_1up"
        case _, 0:
            return "tcp_ndown"
        case 0, _:
            return "tcp_nup"
        case _:
            return "tcp_bidirectional"


def _path(record: Mapping[str, Any]) -> dict[str, Any]:
    base_s = base_rtt_s(record)
    mtu = record.get("spec", {}).get("path", {}).get("mtu")
    found = {"base_rtt_ns": None if base_s is None else round(base_s * 1e9), "mtu": mtu}
    return {key: value for key, value in found.items() if value is not None}


def _ours(record: Mapping[str, Any], first: int) -> dict[str, Any]:
    error = record.get("engine_error") or {}
    asked = record.get("spec", {}).get("workloads", [])
    return {
        "version": _core.__version__,
        "lab": record.get("lab"),
        "title": record.get("title"),
        "engine": record.get("engine"),
        "variant": record.get("variant", AS_IS),
        "point": record.get("point", {}),
        "seed": record.get("seed", 1),
        "started": record.get("started"),
        "status": record.get("status", "done"),
        "reliable": record.get("reliable", True),
        "why": record.get("why", []),
        "engine_error": {key: of for key, of in error.items() if not isinstance(of, dict | list)},
        "zero_s": round(-first * BIN_S, 1),
        "workloads": record.get("workloads", {}),
        "pipes": record.get("pipes", {}),
        "queue": record.get("queue", {}),
        "path": _path(record),
        "asked": list(asked),
    }
