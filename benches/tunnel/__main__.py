"""What a coded tunnel does for one download over a satellite link, in `sim`: the tables of docs/coding.md.

    make bench-coded
    make bench-coded SEEDS=20

The download is CUBIC's over 16 Mbit/s and 550 ms. The channel behind the bottleneck loses packets at random.
The figures are medians over the seeds. The last table has the packets that `sim` carries per CPU second, with
its tables in memory, in turns.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from bentpipe import Lab

LOSSES = (0, 0.001, 0.01, 0.03, 0.05)
RATE_BIT_S = 16e6
LAB = """
title    = "A download through a coded tunnel"
duration = "{seconds} s"
[path]
rtt  = "550 ms"
rate = "16 Mbit/s"
[host]
congestion_control = "cubic"
tcp_wmem = [4096, 16384, 33554432]
tcp_rmem = [4096, 131072, 33554432]
[[workload]]
name = "download"
kind = "bulk"
{tunnel}
[path.down]
loss = {loss}
"""
TUNNELS = {
    "no tunnel": "",
    "fixed": "[tunnel]\nredundancy = {ratio}",
    "adaptive": '[tunnel]\nredundancy = "adaptive"',
    "titrated": '[tunnel]\nredundancy = "titrated"',
    "both": '[tunnel]\nrepair = "both"',
    "exact": '[tunnel]\nrepair = "exact"',
}
PAYLOAD_SHARE = 1410 / (1462 + 4 + 28)
"""TCP payload of a packet in the tunnel (MTU 1462, timestamps) by the bytes that cross for it."""
SPLIT = """[split]
path.congestion_control = { name = "fixed-rate", rate = "{rate} bit/s" }
"""
UNCODED_RATE_BIT_S = int(0.999 * RATE_BIT_S * 1448 / 1500)
"""Payload per second that fits without a tunnel."""
SPLIT_SECONDS = 600
"""So long that the start of the transfer is less than 1 % of it."""
STARTED_S = 10
REPORT_BIT_S = (56 + 28) * 8 / 0.05
"""What reports about the other direction take: their length with the outer headers, one in 50 ms."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python benches/tunnel")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--seconds", type=int, default=120, metavar="S")
    asked = parser.parse_args()
    runs = {
        (loss, name): _runs(_lab(tunnel, loss, asked.seconds), asked.seeds)
        for loss in LOSSES
        for name, tunnel in TUNNELS.items()
    }
    print("\n".join(_goodput(runs)), end="\n\n")
    print("\n".join(_tunnels(runs)), end="\n\n")
    print("\n".join(_split(asked.seeds)), end="\n\n")
    print("\n".join(_speed()))


def _lab(tunnel: str, loss: float, seconds: int) -> Lab:
    return Lab.loads(
        LAB.format(tunnel=tunnel.replace("{ratio}", str(_ratio(loss))), loss=loss, seconds=seconds)
    )


def _ratio(loss: float) -> float:
    """Of a fixed redundancy: one and a half times as many repairs as losses."""
    return round(1.5 * loss / (1 - loss), 4)


_Runs = Sequence[Mapping[str, Any]]


def _runs(lab: Lab, seeds: int) -> _Runs:
    return lab.run(engine="sim", seeds=range(1, seeds + 1)).records


def _goodput_mbit_s(runs: _Runs) -> float:
    return median(run["workloads"]["download"]["goodput_mbit_s"] for run in runs)


def _goodput(runs: Mapping[tuple[float, str], _Runs]) -> Iterator[str]:
    yield f"| goodput, Mbit/s | {' | '.join(TUNNELS)} |"
    yield "|---|" + "---:|" * len(TUNNELS)
    for loss in LOSSES:
        found = [_goodput_mbit_s(runs[loss, name]) for name in TUNNELS]
        times = [f" ({each / found[0]:.3g} times)" if each is not found[0] else "" for each in found]
        cells = [f"{each:.3g}{of}" for each, of in zip(found, times, strict=True)]
        yield f"| {loss:.2g} lost | {' | '.join(cells)} |"


def _tunnels(runs: Mapping[tuple[float, str], _Runs]) -> Iterator[str]:
    yield (
        "| loss | tunnel | repairs per packet | useless | sent again | lost for good | added delay, mean, ms "
        "| p95, ms | queue, mean, ms |"
    )
    yield "|---:|---|" + "---:|" * 7
    for (loss, name), of in runs.items():
        if name == "no tunnel":
            continue
        down = [run["tunnel"]["down"] for run in of]
        again = median(each["exact_repairs"] / each["packets"] for each in down)
        shares = [median(each[key] for each in down) for key in ("redundancy_sent", "redundancy_useless")]
        delays = [
            1e3 * median(each[key] for each in down) for key in ("added_delay_s_mean", "added_delay_s_p95")
        ]
        queue = 1e3 * median(run["queue"]["down"]["delay_s_mean"] for run in of)
        residual = median(each["residual_loss"] for each in down)
        cells = [
            *(f"{100 * share:.2g} %" for share in (*shares, again, residual)),
            *(f"{each:.3g}" for each in (*delays, queue)),
        ]
        yield f"| {loss:.2g} | {name} | {' | '.join(cells)} |"


def _split(seeds: int) -> Iterator[str]:
    """With TCP split and a fixed rate across the path, through a tunnel and without one.

    The ceiling is rate x (1 - loss) x payload share.
    """
    yield (
        "| loss | repairs per packet | sending rate, Mbit/s of payload | goodput, Mbit/s | of the ceiling "
        f"| without the first {STARTED_S} s | lost for good | segments sent again "
        "| without the tunnel, Mbit/s |"
    )
    yield "|---:|" + "---:|" * 8
    for loss in LOSSES:
        ratio = _ratio(loss)
        rate_bit_s = _rate_that_fits(ratio)
        split = SPLIT.replace("{rate}", str(rate_bit_s))
        runs = _runs(_lab(TUNNELS["fixed"] + "\n" + split, loss, SPLIT_SECONDS), seeds)
        uncoded = SPLIT.replace("{rate}", str(UNCODED_RATE_BIT_S))
        without = _goodput_mbit_s(_runs(_lab(uncoded, loss, SPLIT_SECONDS), seeds))
        ceiling = RATE_BIT_S / 1e6 * (1 - loss) * PAYLOAD_SHARE
        goodput = _goodput_mbit_s(runs)
        started = median(fmean(run["workloads"]["download"]["per_second_mbit_s"][STARTED_S:]) for run in runs)
        residual = median(run["tunnel"]["down"]["residual_loss"] for run in runs)
        again = median(run["split"]["far"]["retransmits"] for run in runs)
        yield (
            f"| {loss:.2g} | {ratio} | {rate_bit_s / 1e6:.4g} | {goodput:.4g} "
            f"| {100 * goodput / ceiling:.1f} % | {100 * started / ceiling:.1f} % "
            f"| {100 * residual:.2g} % | {again:.0f} | {without:.4g} |"
        )


def _rate_that_fits(ratio: float) -> int:
    """Payload per second that the path carries beside its repairs and reports."""
    repair_bytes = 1462 + 10 + 28
    wire_bytes = 1462 + 4 + 28 + ratio * repair_bytes
    return int((RATE_BIT_S - REPORT_BIT_S) * 1410 / wire_bytes)


def _speed() -> Iterator[str]:
    """Packets of the hosts per second of processor time, of 600 s without loss and with 5 %, in turns."""
    labs = {
        "no tunnel, no loss": _lab("", 0, 600),
        "coded, 1 % lost": _lab(TUNNELS["fixed"], 0.01, 600),
        "coded, 5 % lost": _lab(TUNNELS["fixed"], 0.05, 600),
    }
    found: dict[str, list[float]] = {name: [] for name in labs}
    for _ in range(3):
        for name, lab in labs.items():
            run = lab.run(engine="sim").records[0]
            found[name].append(_packets(run) / run["engine_error"]["cpu_s"])
    rates = {name: median(of) for name, of in found.items()}
    plain = rates["no tunnel, no loss"]
    yield "| cell | packets per CPU second | of the uncoded |"
    yield "|---|---:|---:|"
    for name, rate in rates.items():
        yield f"| {name} | {rate / 1e3:,.0f} thousand | {100 * rate / plain:.0f} % |"


def _packets(run: Mapping[str, Any]) -> float:
    if tunnel := run.get("tunnel"):
        return float(sum(of["packets"] for of in tunnel.values()))
    return float(sum(of["delivered_packets"] for of in run["totals"].values()))


if __name__ == "__main__":
    main()
