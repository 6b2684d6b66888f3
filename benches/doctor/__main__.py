"""The doctor on labs with known limits, in `sim`: `make check-doctor`.

It prints the confusion matrix for each half of the seeds and each end. Rules and trees come from runs of
the training half; runs of the other half were only counted. A lab whose run did not have its planted limit
(`has_its_limit` in records.py) is drawn again and not counted. `--mixtures` counts runs with two limits.
`--captures` judges by captures at both ends instead of sockets, and leaves out paths that carry more than
150 MB in the run. `--halves fresh`, `new` and `development` draw labs of other seeds, with other congestion
controls, several connections and uploads among them: the first two judge finished rules, the last is of the
training half's kind and may be looked at. `short` and `short held out` are transfers of 6 s and more over
paths of 1 to 100 Mbit/s and up to 250 ms, as many a test is; the first may be looked at. So are `wide` and
`around`, of other hosts and other surroundings (wider.py, around.py), and their `held out`. `near` is of
round trips from 0.2 to 5 ms, for which the doctor is not made; not every kind can be drawn there. `--cures`
compares what the doctor predicts of a cure with what the lab gives (cured.py).
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from around import BY_WIDER
from captured import can_be_captured, captured
from confusion import ENDS, Found, both_named, found_of, matrix, summary
from cured import CURED, of_kind, table
from mixed import MIXTURES
from planted import KINDS, NEAR, OTHERS, SHORT, SMALLER, WHOLE, Planted, draw
from records import has_its_limit, kept
from variants import VARIANTS
from wider import WIDE, WIDER

_FIRST_SEEDS = {
    "training": 0,
    "development": 60_000,
    "held out": 100_000,
    "variant": 300_000,
    "fresh": 700_000,
    "new": 900_000,
    "short": 80_000,
    "short held out": 1_100_000,
    "wide": 120_000,
    "wide held out": 1_300_000,
    "around": 160_000,
    "near": 200_000,
    "around held out": 1_500_000,
}
_VARIED = {
    **dict.fromkeys(("fresh", "new", "development"), "fresh"),
    **dict.fromkeys(("wide", "wide held out"), "wide"),
    **dict.fromkeys(("around", "around held out"), "around"),
}
"""Sets of labs of which each differs from those of KINDS, by the variant of that name."""
_RANGES = {
    **dict.fromkeys(("short", "short held out"), SHORT),
    "near": NEAR,
    **dict.fromkeys(("wide", "wide held out", "around", "around held out"), WIDE),
}
"""Sets of other paths than WHOLE."""
_JUDGES = ("held out", "fresh", "new", "short held out", "wide held out", "around held out")
_DRAWS = 8


def diagnosed(
    number: int, *, kind: str, half: str, captures: bool, every_s: float, variant: str | None
) -> list[Found]:
    """Of the first draw of that number whose run has its planted limit."""
    for draws in range(_DRAWS):
        seed = _FIRST_SEEDS[half] + number * _DRAWS + draws
        planted = _drawn(kind, seed, variant, half)
        if planted is None:
            continue
        if captures and not can_be_captured(planted.lab):
            continue
        run = kept(planted.lab)
        if has_its_limit(planted, run):
            seen = captured(planted.lab) if captures else {end: run.seen_from(end, every_s) for end in ENDS}
            return [
                found_of(planted, transfers, end, kind=kind, seed=seed, half=half)
                for end, transfers in seen.items()
            ]
    return []


def _drawn(kind: str, seed: int, variant: str | None, half: str) -> Planted | None:
    of = _RANGES.get(half, WHOLE if variant in (None, *_VARIED.values()) else SMALLER)
    ways = {**OTHERS, **WIDER} if variant in BY_WIDER else {**KINDS, **OTHERS, **MIXTURES}
    planted = draw(kind, seed, ways, of)
    return planted if variant is None else {**VARIANTS, **BY_WIDER}[variant](planted)


def _cures(runs: int, jobs: int, *, captures: bool, every_s: float) -> None:
    with ProcessPoolExecutor(jobs) as pool:
        found = [
            each
            for end in ENDS
            for kind in CURED
            for one in pool.map(of_kind(kind, end, captures=captures, every_s=every_s), range(runs))
            for each in one
        ]
    print("\n".join(table(found, runs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each kind and half")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample-ms", type=int, default=100, help="time between samples, a multiple of 10")
    parser.add_argument("--captures", action="store_true", help="by captures instead of sockets")
    parser.add_argument("--mixtures", action="store_true", help="two limits at once: both named?")
    parser.add_argument(
        "--halves", default="training,held out", help=f"which seeds, of {', '.join(_FIRST_SEEDS)}"
    )
    parser.add_argument("--cures", action="store_true", help="predicted against real, by cure")
    parser.add_argument("--as", dest="variant", choices=VARIANTS, help="one thing about all labs changed")
    parser.add_argument(
        "--wrong", action="store_true", help="name the wrong ones, but not of those that judge"
    )
    asked = parser.parse_args()
    if asked.cures:
        _cures(asked.runs, asked.jobs, captures=asked.captures, every_s=asked.sample_ms / 1e3)
        return
    chosen = list(MIXTURES) if asked.mixtures else asked.kinds.split(",")
    kinds = [kind for kind in (*KINDS, *OTHERS, *MIXTURES) if kind in chosen]
    halves = tuple(asked.halves.split(","))
    if asked.variant:
        halves = ("fresh",) if asked.variant == "fresh" else ("variant",)
    if unknown := set(halves) - set(_FIRST_SEEDS):
        parser.error(
            f"--halves: expected some of {', '.join(_FIRST_SEEDS)}, got {', '.join(sorted(unknown))}"
        )
    found: list[Found] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in kinds:
            for half in halves:
                run = partial(
                    diagnosed,
                    kind=kind,
                    half=half,
                    captures=asked.captures,
                    every_s=asked.sample_ms / 1e3,
                    variant=asked.variant or _VARIED.get(half),
                )
                for each in pool.map(run, range(asked.runs)):
                    found += each
            print(f"{kind} done", file=sys.stderr)
    if asked.mixtures:
        print("\n".join(both_named(found)))
        return
    for half in halves:
        for end in ENDS:
            own = [each for each in found if each.half == half and each.end == end]
            of = (
                f"With {asked.variant}"
                if asked.variant
                else f"{half.capitalize()} {'set' if half in _VARIED or half in _RANGES else 'half'}"
            )
            print(f"\n### {of}, seen from the {end}\n{summary(own, KINDS)}\n")
            print("| planted | runs | right | first finding otherwise |\n|---|---:|---:|---|")
            print("\n".join(line for line in matrix(own) if line.split(" ")[1] in kinds))
    if asked.wrong:
        for each in found:
            if each.half not in _JUDGES and each.first != each.planted:
                print(
                    f"{each.kind} {each.seed} {each.end}: {each.first} {each.certainty} ({each.path})",
                    file=sys.stderr,
                )


if __name__ == "__main__":
    main()
