"""How often the doctor calls a full path ill: ordinary hosts, whose buffers are Linux's own, and paths that
one transfer fills, or several.

    python benches/doctor/full_paths.py --runs 300

Each lab draws a rate (2 to 400 Mbit/s), a round trip (6 to 500 ms), a queue of 1 to 8 BDP, jitter, a slower
way back, the congestion control, the direction, and what is transferred: a stream, a file, several
connections, or two streams side by side. A lab counts if its transfers carry 92 % of the path's rate. Every
transfer of it should have `capacity` first.

`--alone`: each transfer is judged as if the others were those of another host, which nobody sees.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median
from typing import Any

from planted import MSS

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose, diagnose_all
from bentpipe.doctor.evidence import SeenFrom

_ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")
_CARRIED = 0.92
_DURATION_S = 20.0
_SAMPLE_S = 0.02
_FULL = ("capacity", "bufferbloat")
_FIRST_SEED = 5000


def drawn(number: int) -> dict[str, Any]:
    of = random.Random(_FIRST_SEED + number)
    rate_mbit_s, rtt_ms = 10 ** of.uniform(0.3, 2.6), 10 ** of.uniform(0.8, 2.7)
    bdp_bytes = rate_mbit_s * 1e3 * rtt_ms / 8
    path: dict[str, Any] = {"rtt": f"{rtt_ms:.1f} ms", "rate": f"{rate_mbit_s:.2f} Mbit/s"}
    queue = of.choice([None, 1, 2, 4, 8])
    if queue is not None:
        path["queue"] = f"{max(int(queue * bdp_bytes / 1000), 20)} kB"
    if of.random() < 0.2:
        path["jitter"] = f"{rtt_ms * of.choice([0.01, 0.03]):.2f} ms"
    if of.random() < 0.3:
        path["up"] = {"rate": f"{rate_mbit_s / of.choice([2, 4, 10]):.3f} Mbit/s"}
    host: dict[str, Any] = {"congestion_control": of.choice(["cubic", "cubic", "bbr", "reno"])}
    if of.random() < 0.15:
        host["tcp_rmem"] = [4096, 131_072, 131_072 + int(2.5 * bdp_bytes * of.choice([1, 2])) + 100_000]
    if of.random() < 0.15:
        host["tcp_wmem"] = [4096, 16_384, int(2.5 * bdp_bytes * of.choice([1, 2])) + 100_000]
    kind = of.choice(["stream", "stream", "stream", "file", "two", "connections"])
    direction = "up" if of.random() < 0.3 and "up" not in path else "down"
    stream = {"name": "main", "kind": "bulk", "direction": direction}
    work: list[dict[str, Any]] = [stream]
    if kind == "file":
        size_kb = max(int(rate_mbit_s * 1e3 / 8 * of.choice([8, 12])), 50)
        work = [{"name": "main", "kind": "http", "size": f"{size_kb} kB"}]
    if kind == "connections":
        stream["streams"] = of.choice([2, 4, 8])
    if kind == "two":
        work.append({**stream, "name": "other"})
    return {"duration": f"{_DURATION_S} s", "path": path, "host": host, "workload": work, "seed": number}


def judged(number: int, *, alone: bool) -> list[tuple[int, str, str, float]]:
    """Lab, end, first finding and its certainty, of each transfer; empty where the path is not full."""
    lab = drawn(number)
    run = bentpipe.simulate(bentpipe.Lab(**lab), sample_s=_SAMPLE_S)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    seen = {end: list(from_run.transfers(run.record, tables, end)) for end in _ENDS}
    rate_bit_s = float(lab["path"]["rate"].split()[0]) * 1e6 * MSS / (MSS + 52)
    carried = sum(each.goodput_bit_s or 0.0 for each in seen["sender"])
    if carried < _CARRIED * rate_bit_s:
        return []
    found = {
        end: [diagnose(each) for each in transfers] if alone else diagnose_all(transfers)
        for end, transfers in seen.items()
    }
    return [
        (number, end, each.findings[0].kind, each.findings[0].certainty)
        for end, every in found.items()
        for each in every
    ]


def table(rows: Iterator[tuple[int, str, str, float]] | list[tuple[int, str, str, float]]) -> Iterator[str]:
    every = list(rows)
    yield "| seen from | transfers | full paths called ill | as what | their certainty, median |"
    yield "|---|---:|---:|---|---:|"
    for end in _ENDS:
        own = [(kind, certainty) for _, at, kind, certainty in every if at == end]
        certain = [certainty for kind, certainty in own if kind not in _FULL]
        ill: Mapping[str, int] = Counter(kind for kind, _ in own if kind not in _FULL)
        named = ", ".join(f"{kind} {count}" for kind, count in sorted(ill.items(), key=lambda each: -each[1]))
        share = sum(ill.values()) / max(len(own), 1)
        usual = f"{median(certain):.0%}" if certain else ""
        yield f"| {end} | {len(own)} | {share:.1%} | {named} | {usual} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=100, help="labs to draw")
    parser.add_argument("--first", type=int, default=0, help="the number of the first lab")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="judge each transfer without its neighbours")
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.runs)
    with ProcessPoolExecutor(asked.jobs) as pool:
        rows = [row for found in pool.map(partial(judged, alone=asked.alone), numbers) for row in found]
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
