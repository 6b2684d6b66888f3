"""Fits the sizes of satellite-baselines' flows to its published mean throughputs: `make calibrate`.

The original drew its flows' sizes from a distribution that is not published beyond "very many tiny flows, few
above some kB, and rare long ones". Three mean throughputs are: at a queue of 100 kB, 4.5 Mbit/s with 20
channels ("not more than"), 9.0 with 50 and 14.0 with 100. Three numbers bear few parameters, so the family is
a bounded Pareto with two of its three free:

- `shape`, how rare the long flows are, and `max`, the longest, are fitted;
- `min` is fixed at 500 B, an answer that is little more than its header.

A pair's misfit is the root of the mean squared relative error of the three means, over a grid and several
seeds. Pairs whose misfit is above the least by no more than chance are as good. Of them the one with the
largest shape is taken, which has the fewest flows above some kB, as the description says. Then fresh seeds,
which had no part in the choice, say how well it does.

Assumptions, apart from the family:
- A published mean throughput is of all that left the link on the island's side in the whole 600 s, so the
  40 MB download and its headers are in it (0.55 Mbit/s of each).
- "Not more than 4.5" is taken as 4.5.
- The rest is as the lab has it: round trip, token bucket, terrestrial delays.

The download's times are not looked at: with this choice they are predictions.
"""

import argparse
import sys

from fit import PUBLISHED_MBIT_S, Pair, measured

SHAPES = (0.5, 0.6, 0.7, 0.8)
MAXIMA_MB = (2, 3.5, 5, 10, 20, 50, 100)
FRESH_SEED = 1001


def main() -> int:
    parser = argparse.ArgumentParser(prog="make calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="runs of each load, at least 2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shapes", type=float, nargs="*", default=SHAPES)
    parser.add_argument("--maxima-mb", type=float, nargs="*", default=MAXIMA_MB)
    asked = parser.parse_args()
    pairs = [Pair(shape, most) for shape in asked.shapes for most in asked.maxima_mb]
    loads = (load.partition(",")[0] for load in PUBLISHED_MBIT_S)
    print(f"{'':22}" + "".join(f"{load:>16}" for load in loads) + "  misfit  chance")
    print(" shape  max MB  mean kB" + f"{'Mbit/s':>16}" * 3 + "       %       %")
    fits = sorted(measured(pairs, range(1, asked.seeds + 1), asked.jobs), key=lambda fit: fit.misfit)
    as_good = [fit for fit in fits if fit.misfit <= fits[0].misfit + fits[0].chance]
    for fit in fits[: max(len(as_good), 12)]:
        print(fit.row(), " as good" if fit in as_good else "")
    best = max(as_good, key=lambda fit: fit.pair.shape)
    print("\nfresh seeds:")
    (fresh,) = measured([best.pair], range(FRESH_SEED, FRESH_SEED + asked.seeds), asked.jobs)
    print(fresh.row())
    print(f"\nsize = {best.pair.size()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
