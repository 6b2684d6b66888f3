"""How near the doctor is to the length of loss bursts, and how near the lab of the path to what was seen.

`make check-doctor-bursts`: single losses and bursts of 3 and 8 segments in `sim`, seen by the sender's
sockets.
A lab with bursts is compared with the same lab with single losses, by the mean of |log(simulated / seen)|.
"""

import argparse
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import bentpipe
from bentpipe.doctor import from_run
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.path_seen import path_seen
from bentpipe.doctor.reproduced import SEEDS, lab_of
from bentpipe.doctor.simulating import goodputs

PATHS = ((30, 10), (60, 30), (100, 20), (300, 50))
"""Round trip in ms, and Mbit/s."""
LOSSES = ((0.002, 1), (0.005, 1), (0.02, 1), (0.01, 3), (0.005, 8), (0.02, 8))
"""Share of segments, and segments of a burst."""
_FIRST_SEED = 500


@dataclass(frozen=True)
class Seen:
    segments: int
    """Of a burst in truth, in the mean."""
    found: float | None
    holds: bool
    """Whether the interval holds the truth."""
    is_bursty: bool
    single: float | None
    """log(simulated / seen) with single losses."""
    bursts: float | None
    """The same with bursts."""


def seen(rtt_ms: int, rate_mbit_s: int, share: float, segments: int, seed: int) -> Seen | None:
    """None: losses are not what was found first."""
    loss: Any = share
    if segments > 1:
        loss = {"model": "gilbert-elliott", "p": share / segments, "r": 1 / segments}
    path = {"rtt": f"{rtt_ms} ms", "rate": f"{rate_mbit_s} Mbit/s", "queue": "2 bdp", "down": {"loss": loss}}
    work = {"name": "download", "kind": "bulk", "direction": "down"}
    run = bentpipe.simulate(bentpipe.Lab(duration="25 s", path=path, workload=[work], seed=seed))
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (of,) = (diagnose(each) for each in from_run.transfers(run.record, tables, "sender"))
    found = path_seen([of])
    if of.findings[0].kind != "random-loss" or found is None:
        return None
    low, high = found.loss_burst_interval
    holds = low is not None and high is not None and low <= segments <= high
    goodput = of.evidence.goodput_bit_s
    single = bursts = None
    if found.loses_in_bursts and goodput:
        labs = lab_of(of, replace(found, loss_burst_interval=(None, None))), lab_of(of, found)
        single, bursts = (
            None if lab is None else math.log(float(np.mean(goodputs(lab, {}, SEEDS))) / goodput)
            for lab in labs
        )
    return Seen(segments, found.loss_burst_segments, holds, found.loses_in_bursts, single, bursts)


def _of(asked: tuple[int, int, float, int, int]) -> tuple[tuple[int, float, int], Seen | None]:
    rtt_ms, _, share, segments, _ = asked
    return (rtt_ms, share, segments), seen(*asked)


def rows(every: list[tuple[tuple[int, float, int], Seen | None]]) -> Iterator[str]:
    yield "| RTT | lost | segments of a burst | runs | mean found | interval holds it | called bursts |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for key in dict.fromkeys(key for key, _ in every):
        own = [each for at, each in every if at == key and each is not None and each.found is not None]
        if own:
            mean = np.mean([each.found for each in own if each.found is not None])
            held, called = sum(each.holds for each in own), sum(each.is_bursty for each in own)
            rtt_ms, share, segments = key
            yield (
                f"| {rtt_ms} ms | {share:.1%} | {segments} | {len(own)} | {mean:.2f} | {held} | {called} |"
            )
    known = [each for _, each in every if each is not None and each.found is not None]
    yield f"\nThe interval holds the true length in {sum(each.holds for each in known)} of {len(known)}."
    pairs = [
        (each.single, each.bursts)
        for each in known
        if each.single is not None and each.bursts is not None and each.segments > 1
    ]
    single, bursts = (np.mean(np.abs([pair[place] for pair in pairs])) for place in (0, 1))
    yield (
        f"Goodput of the lab of {len(pairs)} bursty paths, mean of |log(simulated / seen)|: "
        f"{single:.3f} with single losses, {bursts:.3f} with bursts."
    )


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=5, help="of each path and loss")
    asked.add_argument("--jobs", type=int, default=2)
    options = asked.parse_args()
    every = [
        (*path, *loss, _FIRST_SEED + seed)
        for path in PATHS
        for loss in LOSSES
        for seed in range(options.runs)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        print("\n".join(rows(list(pool.map(_of, every)))))


if __name__ == "__main__":
    main()
