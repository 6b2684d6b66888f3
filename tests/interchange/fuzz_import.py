"""Throws damaged files of iperf3 and flent at `bentpipe import` for some seconds.

Nothing but `StoreError` may come out, and what is taken must stand in a report and in an export.

Run as `python tests/interchange/fuzz_import.py [SECONDS] [SEED]`. Prints how many were tried, and what broke.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from taking import PINGS, SAMPLES, flent, rates

from bentpipe.errors import StoreError
from bentpipe.interchange import flent_export
from bentpipe.interchange.folder import Called, take
from bentpipe.report.terminal import table
from bentpipe.runs.store import Results

ODD = (
    *(None, True, False, 0, -1, 1, 2.5, 1e-300, 1e300, -1e300, 1e999, float("nan"), 2**62, 2**63, -(2**70)),
    *("", "TCP", "UDP", "up", "down", "\ud800", "\u0000", "x" * 3000, "2026-11-21T20:24:02.148282Z"),
    *([], {}, [[]], [None], {"": {}}, [1, 2, 3], {"kind": "bulk"}, {"t": 1.0, "val": 1.0, "dur": 0.1}),
)


def samples() -> list[Any]:
    """Documents of both programs, and one that bentpipe exported."""
    found = [json.loads(file.read_text()) for file in sorted(SAMPLES.glob("*.json"))]
    found.append(json.loads(gzip.decompress((SAMPLES / "idle.flent.gz").read_bytes())))
    found.append(json.loads(gzip.decompress((SAMPLES / "exported.flent.gz").read_bytes())))
    for version in (1, 3, 4):
        series = {"TCP upload::1": rates([1.0, 2.0] * 5), "TCP upload::2": rates([3.0] * 9)}
        found.append(flent({**series, "Ping (ms) UDP BE": PINGS, "HTTP latency": PINGS}, version=version))
    events = [{"event": "start", "data": found[0]["start"]}, {"event": "end", "data": found[0]["end"]}]
    return [*found, events]


def damaged(document: Any, random_: random.Random) -> Any:
    """A copy with a few of its values changed, moved, doubled or gone."""
    document = copy.deepcopy(document)
    for _ in range(random_.randint(1, 5)):
        places = list(_places(document))
        if not places:
            return random_.choice(ODD)
        holder, key = random_.choice(places)
        match random_.randrange(5):
            case 0:
                del holder[key]
            case 1:
                other, at = random_.choice(places)
                holder[key] = copy.deepcopy(other[at]) if _there(other, at) else None
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case _:
                holder[key] = copy.deepcopy(random_.choice(ODD))
    return document


def _places(of: Any) -> Any:
    """Every value by what holds it."""
    keys = of.keys() if isinstance(of, dict) else range(len(of)) if isinstance(of, list) else ()
    for key in list(keys):
        yield of, key
        yield from _places(of[key])


def _there(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def content_of(document: Any, random_: random.Random) -> bytes:
    """As a file: packed or not, and now and then with a byte changed or its end gone."""
    parts = document if isinstance(document, list) and random_.random() < 0.8 else [document]
    content = bytearray("\n".join(map(json.dumps, parts)).encode())
    if random_.random() < 0.3:
        content = bytearray(gzip.compress(bytes(content), 1))
    if random_.random() < 0.2:
        content[random_.randrange(len(content))] = random_.randrange(256)
    if random_.random() < 0.1:
        del content[random_.randrange(len(content)) :]
    return bytes(content)


def attempt(content: bytes, folder: Path) -> bool:
    """Imports a file; whether it was legal. Lets through whatever is no `StoreError`."""
    file = folder / "file"
    file.write_bytes(content)
    try:
        take([file], folder / "out", Called())
    except StoreError as error:
        assert str(error).startswith(str(file))
        assert "; " in str(error)
        assert "\n" not in str(error)
        assert not (folder / "out").exists()
        return False
    results = Results.open(folder / "out")
    with (folder / "said").open("w", encoding="utf-8") as said:
        Console(file=said, width=100).print(table(results))
    with suppress(StoreError):  # of a run that lasts for weeks
        flent_export.write(results, folder / "flent")
    return True


def main(seconds: float, seed: int) -> int:
    """Fuzzes for some seconds; 1 if anything broke."""
    random_ = random.Random(seed)
    documents = samples()
    tried = legal = 0
    until = time.process_time() + seconds
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there) / "fuzz"
        while time.process_time() < until:
            folder.mkdir()
            content = content_of(damaged(random_.choice(documents), random_), random_)
            try:
                legal += attempt(content, folder)
            except Exception:
                print(f"after {tried} files (seed {seed}) this one broke it:\n{content!r}", file=sys.stderr)
                raise
            shutil.rmtree(folder)
            tried += 1
    print(
        f"{tried} damaged files in {seconds:g} s: {legal} were legal, {tried - legal} were told what is wrong"
    )
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(float(arguments[0]) if arguments else 60.0, int(arguments[1]) if len(arguments) > 1 else 1))
