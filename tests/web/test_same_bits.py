"""The simulator in WebAssembly gives the same bits as the native one: twenty labs, every cell and figure."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from node_programs import ran
from requests_of_labs import request_of

import bentpipe
from bentpipe.engines.sim_core import computed
from bentpipe.lab.point import Point

DOWNLOAD = """
duration = "6 s"
[path]
rtt = "{rtt}"
rate = "{rate}"
queue = {queue}
loss = {loss}
{jitter}
[host]
congestion_control = "{control}"
sack = {sack}
[[workload]]
name = "download"
kind = "bulk"
streams = {streams}
[[workload]]
name = "pings"
kind = "ping"
count = 20
interval = "200 ms"
"""
PLAIN = {
    "rtt": "60 ms",
    "rate": "16 Mbit/s",
    "queue": '"100 kB"',
    "loss": "0",
    "jitter": "",
    "control": "cubic",
    "sack": "true",
    "streams": "1",
}
CHANGES = {
    "a cubic download": {},
    "reno with loss": {"control": "reno", "loss": "0.01"},
    "bbr with jitter": {"control": "bbr", "jitter": 'jitter = "3 ms"'},
    "bbr3": {"control": "bbr3", "streams": "2"},
    "hybla on GEO": {"control": "hybla", "rtt": "550 ms"},
    "slow start alone": {"control": "slow-start"},
    "no SACK with loss": {"sack": "false", "loss": "0.02"},
    "many streams": {"streams": "16", "loss": "0.002"},
    "CoDel": {"queue": '{ limit = "1 MB", discipline = "codel" }'},
    "FQ-CoDel": {"queue": '{ limit = "1 MB", discipline = "fq_codel" }', "streams": "4"},
    "PIE": {"queue": '{ limit = "1 MB", discipline = "pie" }', "streams": "4"},
    "RED": {
        "queue": '{ limit = "300 kB", discipline = "red", min = "30 kB", max = "90 kB" }',
        "streams": "4",
    },
    "head drop": {"queue": '{ limit = "60 kB", discipline = "head-drop" }'},
    "bursts of loss": {"loss": '{ model = "gilbert-elliott", p = 0.005, r = 0.3 }', "control": "bbr"},
    "a fast path": {"rate": "200 Mbit/s", "rtt": "10 ms", "queue": '"250 kB"'},
}
SHIPPED = ("satellite-baselines", "satellite-orbits", "satellite-coded", "lossy-satellite", "satellite-queue")
"""Channels, handovers, a coded tunnel, proxies and gateways."""
ORDER = ("time_s", "start_s", "pipe", "host", "workload", "sequence", "flow", "local_port", "remote_port")


def _last_of(name: str) -> Point:
    """The first point of the last variant, which is the one with most parts."""
    points = bentpipe.Lab.load(name, set=["repeat=1", 'duration="13 s"']).points()
    return next(point for point in points if point.variant == points[-1].variant)


def _points() -> dict[str, Point]:
    made = {
        name: bentpipe.Lab.loads(DOWNLOAD.format(**(PLAIN | change))).points()[0]
        for name, change in CHANGES.items()
    }
    return made | {name: _last_of(name) for name in SHIPPED}


POINTS = _points()


@pytest.fixture(scope="module")
def in_wasm(
    wasm: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> dict[str, tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]]:
    """Every lab's figures and tables, from one process of node."""
    folder = tmp_path_factory.mktemp("wasm")
    requests = folder / "requests"
    requests.write_text("\n".join(json.dumps(request_of(point)) for point in POINTS.values()))
    root = pytestconfig.rootpath
    ran(root, root / "tests/web/columns.ts", folder, str(wasm), str(requests), str(folder))
    return {name: _read(folder, number) for number, name in enumerate(POINTS)}


def _read(folder: Path, number: int) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    about = json.loads((folder / f"{number}.json").read_text())
    texts = np.array([*about["texts"], None], dtype=object)
    cells = np.frombuffer((folder / f"{number}.bin").read_bytes(), dtype=np.float64)
    tables: dict[str, dict[str, np.ndarray]] = {}
    for column in about["columns"]:
        tables.setdefault(column["table"], {})[column["name"]] = cells[: column["rows"]]
        cells = cells[column["rows"] :]
    assert len(cells) == 0
    return about["results"], {"texts": {"": texts}, **tables}


@pytest.mark.parametrize("name", POINTS)
def test_wasm_and_native_give_the_same_tables_and_figures(name: str, in_wasm: dict[str, Any]) -> None:
    request = request_of(POINTS[name])
    native, files = computed(name, request["spec"], request["names"], request["question"])
    results, tables = in_wasm[name]
    assert results == native
    texts = tables.pop("texts")[""]
    assert set(tables) == set(files)
    for table, parquet in files.items():
        expected = pl.read_parquet(BytesIO(parquet))
        found = tables[table]
        assert list(found) == expected.columns
        frame = pl.DataFrame(
            {column: _as(expected[column].dtype, found[column], texts) for column in expected.columns},
            schema=expected.schema,
        )
        keys = [key for key in ORDER if key in expected.columns]
        one, other = frame.sort(keys), expected.sort(keys)
        for column in expected.columns:
            assert _bits(one[column]).equals(_bits(other[column]), null_equal=True), f"{table}.{column}"
    assert files["link"]
    assert len(tables["link"]["time_s"]) > 0


def _as(kind: Any, cells: np.ndarray, texts: np.ndarray) -> list[Any]:
    """The numbers as cells of a column of this type."""
    null = np.isnan(cells)
    if kind == pl.String:
        return list(texts[np.where(null, -1, cells).astype(int)])
    if kind == pl.Float64:
        return [None if missing else cell for cell, missing in zip(cells.tolist(), null, strict=True)]
    make = bool if kind == pl.Boolean else int
    return [None if missing else make(cell) for cell, missing in zip(cells.tolist(), null, strict=True)]


def _bits(column: pl.Series) -> pl.Series:
    """Floating-point numbers as their 64 bits, so that 0 and -0 differ."""
    return column.reinterpret(signed=False) if column.dtype == pl.Float64 else column
