"""A lab that reproduces a path as it was seen, and the transfer on it.

What was not seen is left to the lab's defaults: a path whose rate is not known has the rate that it carried
at least, 16 times over, so that it is no limit. A window that bound is set by the buffer that gives it
(buffers_seen.py).

What drops without a queue is written where it was diagnosed: a policer of the rate that passed and the
largest burst, or a delay line for what was in flight when it lost: a window that leaves the path idle goes as
one burst. So is a slow way back: it carries the acknowledgements that came while they waited. A full path
that changed its rate has its steps (rate_steps.py). A short queue that overflowed holds what waited at most
before it did. Where segments come late one by one, the smallest round trip is that of the earliest: the usual
one is as much longer as they are late, either way. Losses that are clearly of several segments each are the
bursts of a Gilbert-Elliott channel (loss_bursts.py). What took less than a twentieth of the time is not
written: it would limit the simulated transfer all the time.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.doctor.arrays import middle
from bentpipe.doctor.buffers_seen import buffers_seen
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.matching import matched
from bentpipe.doctor.path_seen import BY_ITSELF, DROPS, PathSeen, large, short_queue_bytes
from bentpipe.doctor.rate_steps import Step, rate_steps
from bentpipe.doctor.view import HEADERS_BYTES
from bentpipe.errors import StoreError
from bentpipe.whole_file import write_whole

_NO_LIMIT = 16
_LEAST_RATE_BIT_S = 1e3
_LONGEST_S = 120.0
_MTU = 1500
_LEAST_BURST = 4
_LEAST_QUEUE = 10
_LEAST_BACK_BIT_S = 1000
_BEFORE_PAYLOAD = 5
"""Round trips that a bulk workload takes before its first payload arrives: it connects twice, as iperf3
does."""
_BEFORE_FILE = 2
"""Round trips that an http workload takes."""
_TITLE = "The path as "


def lab_seen(path: PathSeen, found: Sequence[Diagnosis]) -> dict[str, Any]:
    """The lab as a document."""
    of = max(found, key=lambda each: each.evidence.bytes)
    late_s = _late_s(of)
    shape: dict[str, Any] = {"rtt": f"{((path.rtt_s or 0.0) + late_s) * 1e3:.3f} ms"}
    direction = of.evidence.direction or path.direction or "down"
    opposite = "up" if direction == "down" else "down"
    way, back = _droppers(of, path), _way_back(of)
    # What was seen of the path is of one way, which may be the other one than this transfer's.
    seen = way if (path.direction or direction) == direction else back
    by_drops = path.rate_from not in BY_ITSELF and ("policer" in way or "delay_limit" in way)
    never_full = not path.rate_bit_s or by_drops
    least = path.least_rate_bit_s or 0.0
    # What overflows is full then.
    rate = (least if "queue" in way else _NO_LIMIT * least) if never_full else (path.rate_bit_s or 0.0)
    if rate >= _LEAST_RATE_BIT_S:
        shape["rate"] = f"{round(rate)} bit/s"
    if not never_full and path.queue_bytes and path.queue_bytes >= _MTU:
        seen.setdefault("queue", f"{round(path.queue_bytes)} B")
    if late_s:
        way["jitter"] = {"spread": f"{late_s * 1e3:.3f} ms", "distribution": "uniform", "reorder": True}
    if path.loss:
        seen["loss"] = _loss(path, path.loss)
    # A file that was over before the path was full. A capture does not show its end if the connection stays.
    is_short = of.findings[0].kind == "slow-start" and of.evidence.of_packets
    whole = bool((of.evidence.ended == "finished" or is_short) and of.evidence.bytes)
    before_s = _BEFORE_PAYLOAD * (path.rtt_s or 0.0)
    if steps := rate_steps(of):
        way["rate"] = {"steps": _in_the_lab(steps, _BEFORE_FILE * (path.rtt_s or 0.0) if whole else before_s)}
    shape |= {name: pipe for name, pipe in ((direction, way), (opposite, back)) if pipe}
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    lab: dict[str, Any] = {
        "title": f"{_TITLE}{of.evidence.name} saw it",
        "duration": f"{max(min(of.evidence.duration_s, _LONGEST_S), 1.0) + before_s:.1f} s",
        "path": shape,
    }
    if of.evidence.congestion_control:
        lab["host"] = {"congestion_control": of.evidence.congestion_control}
    lab.update(buffers_seen(of, sender, receiver))
    streams = max(len(np.unique(of.view.connection)), 1)
    work: dict[str, Any] = {"name": "transfer", "kind": "bulk", "direction": direction}
    if streams > 1:
        work["streams"] = min(streams, 128)
    if whole:
        work = {"name": "transfer", "kind": "http", "direction": direction, "size": f"{of.evidence.bytes} B"}
        lab["until"] = "done"
        lab["duration"] = f"{max(10 * of.evidence.duration_s, 60.0):.1f} s"
    lab["workload"] = [work]
    if others := round(of.at_once):
        beside = {"name": "neighbours", "kind": "bulk", "direction": direction}
        lab["workload"].append({**beside, "streams": min(others, 128)})
    return lab


def _loss(path: PathSeen, events: float) -> float | dict[str, Any]:
    """Single losses, or bursts where they are clearly longer."""
    if not path.loses_in_bursts or not path.loss_burst_segments or not path.loss_burst_chance:
        return float(f"{events:.3g}")
    begins, ends = path.loss_burst_chance, 1 / path.loss_burst_segments
    return {"model": "gilbert-elliott", "p": float(f"{begins:.3g}"), "r": float(f"{ends:.3g}")}


def _in_the_lab(steps: Sequence[Step], before_s: float) -> list[list[str]]:
    """As a lab has them. `before_s`: from the lab's beginning to the first payload."""
    first, *later = steps
    begins_s = [0.0, *(before_s + each.at_s for each in later)]
    rates = [f"{round(each.rate_bit_s)} bit/s" for each in (first, *later)]
    return [[f"{at_s:.3f} s", rate] for at_s, rate in zip(begins_s, rates, strict=True)]


def _droppers(of: Diagnosis, path: PathSeen) -> dict[str, Any]:
    """What drops beside a long queue, if that is what was found first of what drops."""
    each = large(of, *DROPS)
    if each is None:
        return {}
    if each.kind == "policer" and each.evidence.get("rate_mbit_s"):
        rate = each.evidence["rate_mbit_s"] * 1e6 * of.view.wire_scale
        burst = max(each.evidence.get("burst_bytes") or 0.0, _LEAST_BURST * _MTU)
        return {"policer": {"rate": f"{round(rate)} bit/s", "burst": f"{round(burst)} B"}}
    if each.kind == "line-drops" and each.evidence.get("in_flight_bytes"):
        packets = round(each.evidence["in_flight_bytes"] / of.view.mss)
        return {"delay_limit": f"{max(packets, 1)} packets"}
    if (held := short_queue_bytes(of, path.rate_bit_s)) is not None:
        return {"queue": f"{round(max(held, _LEAST_QUEUE * _MTU))} B"}
    return {}


def _late_s(of: Diagnosis) -> float:
    """How late segments that lose their order are, beyond the smallest round trip; 0 if they keep it."""
    if large(of, "reordering") is None:
        return 0.0
    calm = of.view.queue_s[~of.view.standing & np.isfinite(of.view.queue_s)]
    return max(middle(calm), 0.0) if calm.size else 0.0


def _way_back(of: Diagnosis) -> dict[str, Any]:
    """The rate of a way back on which acknowledgements waited; a receiver does not see it."""
    if not any(each.kind == "ack-path" for each in of.findings) or not of.view.sees_acks_return:
        return {}
    view = of.view
    waits = view.returning & (view.dt_s > 0)
    took_s = float(view.dt_s[waits].sum())
    if took_s <= 0 or not view.knows("acks"):
        return {}
    acks_per_s = float(view.grown("acks")[waits].sum()) / took_s
    return {"rate": f"{max(round(acks_per_s * HEADERS_BYTES * 8), _LEAST_BACK_BIT_S)} bit/s"}


def write_lab(file: Path, path: PathSeen, found: Sequence[Diagnosis]) -> Diagnosis:
    """Write the lab as TOML, with its queue or delay line as large as what was seen asks for. Returns the
    transfer in it. Raises StoreError where the file cannot be written."""
    of = max(found, key=lambda each: each.evidence.bytes)
    document = matched(lab_seen(path, found), of, path)
    try:
        write_whole(file, toml(document).encode())
    except OSError as error:
        raise StoreError(f"--lab {file}: {error.strerror or error}") from error
    return of


def is_lab_seen(file: Path) -> bool:
    """Whether the file is a lab that was written here, or empty."""
    begin = f'title = "{_TITLE}'.encode()
    with file.open("rb") as stream:
        return stream.read(len(begin)) in (begin, b"")


def toml(document: dict[str, Any]) -> str:
    """Of a document of tables, lists and plain values."""
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    lists = {name: value for name, value in document.items() if _is_tables(value)}
    lines = [f"{k} = {_value(v)}" for k, v in document.items() if k not in tables and k not in lists]
    for name, table in tables.items():
        lines += ["", *_section(name, table)]
    for name, entries in lists.items():
        for entry in entries:
            lines += ["", f"[[{name}]]", *_table(entry)]
    return "\n".join(lines) + "\n"


def _section(name: str, table: dict[str, Any]) -> list[str]:
    """A table, and the tables in it."""
    lines = [f"[{name}]", *_table(table)]
    for inner, values in table.items():
        if isinstance(values, dict):
            lines += _section(f"{name}.{inner}", values)
    return lines


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _table(table: dict[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in table.items() if not isinstance(value, dict)]


def _value(value: Any) -> str:
    if isinstance(value, str):
        escaped = "".join(f"\\u{ord(c):04x}" if c in '"\\' or ord(c) < 32 else c for c in value)
        return f'"{escaped}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
