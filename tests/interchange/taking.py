"""Files of other programs for these tests: real ones (samples/), and small ones written in their form."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bentpipe.interchange.folder import Called, take
from bentpipe.runs.store import Results

SAMPLES = Path(__file__).parent / "samples"
ZERO_S = 1_800_000_000.0
PINGS = [{"seq": n, "t": ZERO_S + n / 5, "val": 20.0 + n} for n in (1, 2, 4)]


def taken(out: Path, *files: str | Path, called: Called | None = None) -> Results:
    """Imports samples, by name, or files."""
    take([SAMPLES / file if isinstance(file, str) else file for file in files], out, called or Called())
    return Results.open(out)


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text())
    return found


def written(path: Path, *documents: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, documents)))
    return path


def rates(of_mbit_s: Sequence[float], step_s: float = 0.2, begin_s: float = 5.0) -> list[dict[str, float]]:
    """A stream's raw values, each of them ending at its time."""
    return [
        {"t": ZERO_S + begin_s + (n + 1) * step_s, "val": of, "dur": step_s} for n, of in enumerate(of_mbit_s)
    ]


def flent(
    series: dict[str, list[dict[str, float]]], *, version: int | None = 4, **metadata: Any
) -> dict[str, Any]:
    """A data file's document with these raw values."""
    found = {
        "metadata": {
            "NAME": "tcp_1down",
            "HOST": "server.example",
            "T0": "2027-01-15T08:00:00.000000Z",
            "TIME": "2027-01-15T07:59:58.000000Z",
            "IP_VERSION": 4,
            "LENGTH": 2,
            "STEP_SIZE": 0.2,
            "FLENT_VERSION": "2.3.0",
            "SERIES_META": {},
            **metadata,
        },
        "raw_values": series,
        "results": {name: [each.get("val") for each in values] for name, values in series.items()},
        "x_values": [n / 5 for n in range(max(map(len, series.values()), default=0))],
        "version": version,
    }
    return {key: value for key, value in found.items() if value is not None}


def packed(path: Path, document: Any) -> Path:
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path
