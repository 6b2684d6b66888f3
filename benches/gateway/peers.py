"""bentpipe's gateways beside others on this machine's kernel: the tables of docs/labs/gateway-peers.md.

    make bench-gateway-peers                                     all paths and all work: hours
    make bench-gateway-peers ARGS='--what page --path "GEO, 1 %"'
    make bench-gateway-peers ARGS="--show"                       the tables of what was run so far

Runs are kept in runs/gateway-peers, and what was run is not run again. With --beside N so many runs go on at
once, which a slow link allows. A run that this machine was too busy for has an asterisk.
"""

import argparse
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from bentpipe import Results

LAB = "gateway-peers"
KEPT = Path("runs") / LAB
PAYLOAD_SHARE = 1430 / 1500
"""Of a packet of the gateways. The ceiling of the others lies up to 2 % above it."""
FILE_MBIT = 800
MEASURED_S = 30
"""Of a download, the last."""


def main() -> None:
    lab = tomllib.loads((files("bentpipe.labs") / f"{LAB}.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(prog="python benches/gateway/peers.py", description=__doc__)
    paths, whats = lab["sweep"]["path_kind"], lab["sweep"]["what"]
    parser.add_argument("--path", action="append", choices=list(paths), metavar="NAME")
    parser.add_argument("--what", action="append", choices=list(whats))
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--beside", type=int, default=1, metavar="N")
    parser.add_argument("--show", action="store_true", help="run nothing")
    asked = parser.parse_args()
    cells = [(path, what) for what in asked.what or whats for path in asked.path or paths]
    if not asked.show:
        with ThreadPoolExecutor(asked.beside) as pool:
            runs = [pool.submit(_run, *cell, asked.seeds) for cell in cells]
            try:
                for run in as_completed(runs):
                    run.result()
            except BaseException:  # interrupted, or a row failed: those that go on end by themselves
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    print(f"Linux {platform.release()}, {os.cpu_count()} processors. A run with an asterisk is not reliable.")
    for path, what in cells:
        if (folder := _folder(path, what)).is_dir():
            print("\n".join(("", *_table(Results.open(folder), path, what, paths[path]))))


def _folder(path: str, what: str) -> Path:
    return KEPT / "".join(each if each.isalnum() else "-" for each in f"{path} {what}")


def _run(path: str, what: str, seeds: int) -> None:
    """One row of the lab's grid: all variants. A folder that has it goes on where it stopped."""
    settings = [f'path_kind="{path}"', f'what="{what}"']
    command = [sys.executable, "-m", "bentpipe", "run", LAB, "--engine", "live", "--quiet"]
    command += ["--repeat", str(seeds), "--out", str(_folder(path, what))]
    for setting in settings:
        command += ["--set", setting]
    # It ends with 1 where a run was not reliable, which the tables say.
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{path}, {what}: {done.stderr}")


def _table(results: Results, path: str, what: str, keys: dict[str, Any]) -> Iterator[str]:
    rows = {
        "bulk and keystrokes": _bulk,
        "neighbour": _neighbour,
        "page": _objects,
        "users": _objects,
        "file": _file,
    }[what]
    heads = {
        "bulk and keystrokes": "Mbit/s | of the ceiling | keys p50, p99 ms | queue ms | sent per payload | "
        "processor s per Gbit | MB near, far",
        "file": "100 MB, s | Mbit/s | of the ceiling",
        "neighbour": "download Mbit/s | neighbour Mbit/s | of an equal share | queue ms",
    }
    head = heads.get(what, "all objects, s | one object: p50, p95 s")
    yield f"{path}: {what}"
    yield f"| | {head} |"
    yield "|---" * (head.count("|") + 2) + "|"
    variants: dict[str, list[int]] = {}
    for place, record in enumerate(results.records):
        variants.setdefault(record["variant"], []).append(place)
    rate = float(str(keys["path.rate"]).split()[0])
    loss = _loss(keys)
    for variant, places in variants.items():
        done = [place for place in places if _has_measured(results, place)]
        good = [place for place in done if results.records[place]["reliable"]] or done
        stars = "*" * (len(places) - len([place for place in done if results.records[place]["reliable"]]))
        cells = rows(results, good, rate, loss) if good else ("failed",)
        yield f"| {variant}{stars} | {' | '.join(cells)} |"


def _has_measured(results: Results, place: int) -> bool:
    """Whether its work began: through a gateway without a session nothing does."""
    return results.records[place]["status"] == "done" and bool(
        results.of_run(results.names[place], "flows").height
    )


def _loss(keys: dict[str, Any]) -> float:
    """Of a channel of the lab in the long run."""
    loss = keys.get("path.loss", 0)
    if isinstance(loss, dict):
        return float(loss["p"]) / (float(loss["p"]) + float(loss["r"]))
    return float(loss)


def _bulk(results: Results, places: Sequence[int], rate: float, loss: float) -> Iterator[str]:
    rates = [_rate(results, place, "bulk") for place in places]
    yield f"{median(rates):.3g}"
    yield f"{100 * median(rates) / _ceiling(rate, loss):.0f} %"
    delays = pl.concat(results.of_run(results.names[place], "pings") for place in places)
    yield _shares(delays.filter(workload="keys")["rtt_s"].drop_nulls() * 1e3, (0.5, 0.99), 0)
    yield _queue(results, places, rate)
    moved = [place for place, each in zip(places, rates, strict=True) if each]
    yield f"{median(_sent_per_payload(results, place) for place in moved):.3f}" if moved else "no payload"
    costs = [_processor_s(results.records[place]) / _payload_gbit(results, place) for place in moved]
    yield f"{median(costs):.2f}" if any(costs) else "none"
    yield ", ".join(_memory(results, places, host) for host in ("near", "far"))


def _neighbour(results: Results, places: Sequence[int], rate: float, loss: float) -> Iterator[str]:
    through, beside = ([_rate(results, place, name) for place in places] for name in ("bulk", "neighbour"))
    yield f"{median(through):.3g}"
    yield f"{median(beside):.3g}"
    yield f"{100 * median(beside) / (_ceiling(rate, loss) / 2):.0f} %"
    yield _queue(results, places, rate)


def _objects(results: Results, places: Sequence[int], _rate: float, _loss: float) -> Iterator[str]:
    flows = pl.concat(
        results.of_run(results.names[place], "flows").with_columns(place=place) for place in places
    ).filter(pl.col("workload").is_in(["page", "users"]))
    if flows["end_s"].null_count():
        yield "not all came"
    else:
        whole_s = flows.group_by("place").agg(pl.col("end_s").max() - pl.col("start_s").min())["end_s"]
        yield f"{whole_s.median():.2f}"
    yield _shares((flows["end_s"] - flows["start_s"]).drop_nulls(), (0.5, 0.95), 2)


def _file(results: Results, places: Sequence[int], rate: float, loss: float) -> Iterator[str]:
    """From the request to the last byte."""
    flows = pl.concat(results.of_run(results.names[place], "flows") for place in places).filter(
        workload="file"
    )
    took_s = (flows["end_s"] - flows["start_s"]).drop_nulls()
    if len(took_s) < len(places):
        yield from ("not in time", "", "")
        return
    mbit_s = FILE_MBIT / float(took_s.median() or 0)
    yield f"{took_s.median():.1f}"
    yield f"{mbit_s:.3g}"
    yield f"{100 * mbit_s / _ceiling(rate, loss):.0f} %"


def _ceiling(rate: float, loss: float) -> float:
    return rate * (1 - loss) * PAYLOAD_SHARE


def _shares(values: pl.Series, shares: Sequence[float], digits: int) -> str:
    quantiles = [values.quantile(share, "linear") for share in shares]
    return ", ".join("none" if each is None else f"{each:.{digits}f}" for each in quantiles)


def _rate(results: Results, place: int, workload: str) -> float:
    return float(results.records[place]["workloads"][workload]["goodput_mbit_s"] or 0)


def _down(results: Results, place: int) -> pl.DataFrame:
    """The path down while the download was measured: iperf3 begins when it has made its connections."""
    flows = results.of_run(results.names[place], "flows").filter(workload="bulk")
    link = results.of_run(results.names[place], "link").filter(pipe="down")
    to_s = link["time_s"].max() if flows["end_s"].null_count() else flows["end_s"].max()
    return link.filter(pl.col("time_s").is_between(to_s - MEASURED_S, to_s, closed="left"))


def _queue(results: Results, places: Sequence[int], rate: float) -> str:
    """The mean queue, as the time that it takes to leave at the link's rate."""
    waits = [_down(results, place)["queue_bytes_mean"].mean() * 8e-3 / rate for place in places]
    return f"{median(waits):.0f}"


def _sent_per_payload(results: Results, place: int) -> float:
    """Bytes that the path down carried, for each byte of the download's payload, while it was measured."""
    sent_mbit_s = _down(results, place)["throughput_bytes"].sum() * 8e-6 / MEASURED_S
    return sent_mbit_s / _rate(results, place, "bulk")


def _payload_gbit(results: Results, place: int) -> float:
    """Of the whole run, as far as each payload byte costs as much as while it was measured."""
    link = results.of_run(results.names[place], "link").filter(pipe="down")
    return float(link["throughput_bytes"].sum()) * 8e-9 / _sent_per_payload(results, place)


def _processor_s(record: Any) -> float:
    """What the programs at near and at far ran, in the whole run."""
    hosts = record["engine_error"]["hosts"]
    found = (program for host in ("near", "far") for program in (hosts.get(host) or {}).get("programs") or [])
    return sum(program["ran_s"] or 0.0 for program in found)


def _memory(results: Results, places: Sequence[int], host: str) -> str:
    """The most that the programs there held. bentpipe's gateways are threads of the engine here:
    nothing tells them from the rest of it.
    """
    hosts = [results.records[place]["engine_error"]["hosts"].get(host) or {} for place in places]
    each = [
        sum(held)
        for found in hosts
        if (held := [it["memory_max_mb"] for it in found.get("programs") or [] if it.get("memory_max_mb")])
    ]
    return f"{median(each):.0f}" if each else "none"


if __name__ == "__main__":
    main()
