"""What the gateways do on a satellite link: the tables of docs/gateway.md, of `sim` or with `--live`.

    make bench-gateway
    make bench-gateway SEEDS=20
    make bench-gateway-live

Figures are medians over the seeds, with the least and the greatest.
"""

import argparse
from collections.abc import Iterator, Sequence
from statistics import median

import polars as pl
from labs import DOWNLOAD, GEO, KEYS, OBJECT_BYTES, OBJECTS, PAGE, ceiling_mbit_s, page_bytes_s

from bentpipe import Lab, Results
from live import tables

LOSSES = (0, 0.001, 0.01, 0.05)
LEO = """
title = "gateways over a constellation"
duration = "{seconds} s"
[path]
rtt = "90 ms"
rate = "16 Mbit/s"
queue = "200 kB"
loss = 0.002
jitter = {{ spread = "15 ms", distribution = "uniform", reorder = true }}
handover = {{ every = "15 s", step = "15 ms", outage = "60 ms" }}
"""
CURES = {"as is": "", "split, BBR": '[split]\npath.congestion_control = "bbr"\n', "gateway": "[gateway]\n"}

LAWS = {
    "fixed": "[gateway]\n",
    "capped at 12 Mbit/s": '[gateway]\nrate = { cap = "12 Mbit/s" }\n',
    "fair": '[gateway]\nrate = "fair"\n',
}
BESIDE = (
    ("cubic", 0, "1100 kB"),
    ("cubic", 0, "200 kB"),
    ("cubic", 0.001, "1100 kB"),
    ("cubic", 0.001, "200 kB"),
    ("bbr", 0, "1100 kB"),
    ("bbr", 0, "200 kB"),
)
RIVALS = """
[[workload]]
name = "download"
kind = "bulk"
omit = "10 s"
[[workload]]
name = "beside"
kind = "bulk"
start = "1 s"
omit = "9 s"
congestion_control = "{control}"
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python benches/gateway")
    parser.add_argument("--seeds", type=int, metavar="N", help="default: 5 in `sim`, 3 in `live`")
    parser.add_argument("--live", action="store_true", help="on this machine's kernel, some 20 minutes")
    asked = parser.parse_args()
    if asked.live:
        for line in tables(asked.seeds or 3):
            print(line, flush=True)
        return
    seeds = asked.seeds or 5
    for table in (_downloads, _keystrokes, _pages, _constellation, _laws_alone, _laws_beside):
        print("\n".join(table(seeds)), end="\n\n")


def _run(text: str, seeds: int) -> Results:
    return Lab.loads(text).run(engine="sim", seeds=range(1, seeds + 1))


def _spread(values: Sequence[float], digits: int = 1) -> str:
    low, high = min(values), max(values)
    return f"{median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _goodputs(results: Results) -> list[float]:
    return [record["workloads"]["download"]["goodput_mbit_s"] for record in results.records]


def _downloads(seeds: int) -> Iterator[str]:
    yield "A download over 16 Mbit/s and 550 ms, a minute from 4 s on: Mbit/s, share of the ceiling"
    yield "| loss | as is | split, BBR | gateway | share of the ceiling, % |"
    yield "|---|---|---|---|---|"
    for loss in LOSSES:
        rows = {}
        for name, cure in CURES.items():
            lab = GEO.format(seconds=64, loss=loss) + cure + DOWNLOAD.format(start="0 s")
            rows[name] = _goodputs(_run(lab, seeds))
        shares = [100 * each / ceiling_mbit_s(loss) for each in rows["gateway"]]
        cells = " | ".join(_spread(rows[name], 2) for name in CURES)
        yield f"| {100 * loss:g} % | {cells} | {_spread(shares)} |"


def _keystrokes(seeds: int) -> Iterator[str]:
    yield "Keystrokes in ms, on the idle path and beside a download: median, 99th percentile, most"
    yield "| loss | cure | idle p50 | idle p99 | loaded p50 | loaded p99 | loaded, most |"
    yield "|---|---|---|---|---|---|---|"
    for loss in LOSSES:
        for name, cure in CURES.items():
            path = GEO.format(seconds=50, loss=loss) + cure
            idle = _delays(_run(path + KEYS, seeds))
            loaded = _delays(_run(path + KEYS + DOWNLOAD.format(start="0 s"), seeds))
            cells = [each.quantile(share) for each in (idle, loaded) for share in (0.5, 0.99)]
            cells.append(loaded.quantile(1))
            shown = " | ".join(f"{1000 * float(cell):.0f}" for cell in cells)  # type: ignore[arg-type]
            yield f"| {100 * loss:g} % | {name} | {shown} |"


def _delays(results: Results) -> pl.Series:
    return results.pings.filter(pl.col("workload") == "keys")["rtt_s"].drop_nulls()


def _pages(seeds: int) -> Iterator[str]:
    bytes_s = page_bytes_s()
    yield f"A page of {OBJECTS} objects of {OBJECT_BYTES} B in s; its bytes alone take {bytes_s:.2f} s."
    yield "Over 60 connections, as HTTP/2 asks for all at once: also the round trips beside the bytes"
    yield "| loss | cure | 6 connections | 60 connections | round trips |"
    yield "|---|---|---|---|---|"
    for loss in LOSSES:
        for name, cure in CURES.items():
            path = GEO.format(seconds=120, loss=loss) + cure
            times = {
                connections: [
                    record["workloads"]["page"]["completion_s"] or 120.0
                    for record in _run(path + PAGE.format(connections=connections), seeds).records
                ]
                for connections in (6, OBJECTS)
            }
            trips = [(each - bytes_s) / 0.55 for each in times[OBJECTS]]
            cells = f"{_spread(times[6])} | {_spread(times[OBJECTS], 2)} | {_spread(trips)}"
            yield f"| {100 * loss:g} % | {name} | {cells} |"


def _constellation(seeds: int) -> Iterator[str]:
    yield "A download over 90 ms with jitter of 30 ms that reorders, and a handover each 15 s: Mbit/s"
    yield "| as is | split, BBR | gateway | share of the ceiling, % |"
    yield "|---|---|---|---|"
    rows = {
        name: _goodputs(_run(LEO.format(seconds=94) + cure + DOWNLOAD.format(start="0 s"), seeds))
        for name, cure in CURES.items()
    }
    shares = [100 * each / ceiling_mbit_s(0.002) for each in rows["gateway"]]
    yield f"| {' | '.join(_spread(rows[name], 2) for name in CURES)} | {_spread(shares)} |"


def _laws_alone(seeds: int) -> Iterator[str]:
    yield "A download through gateways with each control law, a minute from 12 s on: Mbit/s"
    yield f"| loss | {' | '.join(LAWS)} |"
    yield "|---|---|---|---|"
    download = DOWNLOAD.format(start="0 s").replace('omit = "4 s"', 'omit = "12 s"')
    for loss in LOSSES:
        labs = [GEO.format(seconds=72, loss=loss) + cure + download for cure in LAWS.values()]
        cells = " | ".join(_spread(_goodputs(_run(lab, seeds)), 2) for lab in labs)
        yield f"| {100 * loss:g} % | {cells} |"


def _laws_beside(seeds: int) -> Iterator[str]:
    yield "Two downloads, one of them through gateways, two minutes from 10 s on: Mbit/s through, and beside"
    yield "In the first column of figures neither is: what the second one gets beside CUBIC"
    yield "| beside | loss | queue | no gateway | fixed | fair |"
    yield "|---|---|---|---|---|---|"
    laws = {"no gateway": "", **{law: LAWS[law] + 'carries = ["download"]\n' for law in ("fixed", "fair")}}
    for control, loss, queue in BESIDE:
        cells = []
        for cure in laws.values():
            path = GEO.format(seconds=130, loss=loss).replace('"200 kB"', f'"{queue}"')
            results = _run(path + cure + RIVALS.format(control=control), seeds)
            both = [
                [record["workloads"][name]["goodput_mbit_s"] for record in results.records]
                for name in ("download", "beside")
            ]
            cells.append(f"{median(both[0]):.2f}, {_spread(both[1], 2)}")
        yield f"| {control.upper()} | {100 * loss:g} % | {queue} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
