"""The doctor on labs with known limits, in `sim`: `make check-doctor`.

It prints the confusion matrix for each half of the seeds and each end. Rules and weights come from runs of
the training half; runs of the other half were only counted. A lab whose run did not have its planted limit,
by the pipe's own table, is drawn again and not counted. `--mixtures` counts runs with two limits.
`--captures` judges by captures at both ends instead of sockets, and leaves out rates above 50 Mbit/s.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mixed import MIXTURES
from planted import KINDS, Planted, draw
from records import kept

import bentpipe
from bentpipe.doctor import from_capture
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

_TRAINING, _HELD_OUT = 0, 100_000
_ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")
_DRAWS = 8
_MOST_CAPTURED_MBIT_S = 50.0
"""A capture holds every packet: a minute of 1 Gbit/s is 8 GB."""


_LEAST_SHARE = 0.01
"""Of the time, from which on a finding names a cause."""


@dataclass(frozen=True)
class Found:
    planted: str
    kind: str
    seed: int
    end: str
    half: str
    first: str
    named: frozenset[str]
    """All findings of a hundredth of the time or more."""
    also: str | None
    path: str

    @property
    def both(self) -> bool:
        return {self.planted, self.also or self.planted} <= self.named

    @property
    def also_missing(self) -> bool:
        return self.also is not None and self.also not in self.named


def diagnosed(number: int, kind: str, half: str, captures: bool, every_s: float) -> list[Found]:
    """Of the first draw of that number whose run has its planted limit."""
    base = _TRAINING if half == "training" else _HELD_OUT
    for draws in range(_DRAWS):
        seed = base + number * _DRAWS + draws
        planted = draw(kind, seed, {**KINDS, **MIXTURES})
        if captures and float(planted.lab["path"]["rate"].split()[0]) > _MOST_CAPTURED_MBIT_S:
            continue
        run = kept(planted.lab)
        if planted.least_used <= run.used_share <= planted.most_used:
            seen = _captured(planted) if captures else {end: run.seen_from(end, every_s) for end in _ENDS}
            return [
                _found(planted, transfers, end, kind=kind, seed=seed, half=half)
                for end, transfers in seen.items()
            ]
    return []


def _captured(planted: Planted) -> dict[str, list[Evidence]]:
    """The largest transfer of a capture at each end."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        options = EngineOptions(pcap=("client", "server"))
        execute(bentpipe.Lab(**planted.lab), engine="sim", out=out, options=options)
        (folder,) = out.glob("[!.]*/")
        hosts = {"sender": "server", "receiver": "client"}
        return {
            end: list(from_capture.read(folder / f"{host}.pcapng").transfers[:1])
            for end, host in hosts.items()
        }


def _found(
    planted: Planted, transfers: list[Evidence], end: str, *, kind: str, seed: int, half: str
) -> Found:
    findings = diagnose(transfers[0]).findings if transfers else ()
    kinds = [each.kind for each in findings]
    path = planted.lab["path"]
    return Found(
        planted.kind,
        kind,
        seed,
        end,
        half,
        kinds[0] if kinds else "unknown",
        frozenset(each.kind for each in findings if each.share >= _LEAST_SHARE),
        planted.also,
        f"{path['rate']}, {path['rtt']}",
    )


def matrix(found: list[Found]) -> Iterator[str]:
    """A line per planted kind: how many, first finding right, and which others were first."""
    for kind in KINDS:
        own = [each for each in found if each.kind == kind]
        if not own:
            yield f"| {kind} | 0 | | no draw had this limit |"
            continue
        right = sum(each.first == each.planted and not each.also_missing for each in own)
        wrong = Counter(
            each.first if each.first != each.planted else "second not named"
            for each in own
            if each.first != each.planted or each.also_missing
        )
        others = ", ".join(f"{name} {count}" for name, count in wrong.most_common())
        yield f"| {kind} | {len(own)} | {right / len(own):.0%} | {others} |"


def both_named(found: list[Found]) -> Iterator[str]:
    """A line per mixture: how often both causes are named, in each half and from each end."""
    columns = [(half, end) for half in ("training", "held out") for end in _ENDS]
    yield "| both planted | " + " | ".join(f"{half}, {end}" for half, end in columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for kind in (*MIXTURES, None):
        cells = []
        for half, end in columns:
            own = [
                each.both
                for each in found
                if each.half == half and each.end == end and kind in (each.kind, None)
            ]
            cells.append(f"{sum(own) / len(own):.0%} of {len(own)}" if own else "none")
        yield f"| {kind or 'all'} | " + " | ".join(cells) + " |"


def summary(found: list[Found], kinds: Mapping[str, object]) -> str:
    def share(of: list[bool]) -> str:
        return f"{sum(of) / len(of):.1%} of {len(of)}" if of else "none"

    healthy = [each for each in found if each.planted == "capacity"]
    ill = [each.first != "capacity" for each in healthy]
    return (
        f"First finding right: {share([each.first == each.planted for each in found])}. "
        f"Healthy called ill: {share(ill)}. "
        f"Cannot tell: {share([each.first == 'unknown' for each in found])}. Kinds: {len(kinds)}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each kind and half")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample-ms", type=int, default=100, help="time between samples, a multiple of 10")
    parser.add_argument("--captures", action="store_true", help="by captures instead of sockets")
    parser.add_argument("--mixtures", action="store_true", help="two limits at once: both named?")
    parser.add_argument("--wrong", action="store_true", help="name the wrong ones of the training half")
    asked = parser.parse_args()
    chosen = list(MIXTURES) if asked.mixtures else asked.kinds.split(",")
    kinds = [kind for kind in (*KINDS, *MIXTURES) if kind in chosen]
    found: list[Found] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in kinds:
            for half in ("training", "held out"):
                run = partial(
                    diagnosed,
                    kind=kind,
                    half=half,
                    captures=asked.captures,
                    every_s=asked.sample_ms / 1e3,
                )
                for each in pool.map(run, range(asked.runs)):
                    found += each
            print(f"{kind} done", file=sys.stderr)
    if asked.mixtures:
        print("\n".join(both_named(found)))
        return
    for half in ("training", "held out"):
        for end in _ENDS:
            own = [each for each in found if each.half == half and each.end == end]
            print(f"\n### {half.capitalize()} half, seen from the {end}\n{summary(own, KINDS)}\n")
            print("| planted | runs | right | first finding otherwise |\n|---|---:|---:|---|")
            print("\n".join(line for line in matrix(own) if line.split(" ")[1] in kinds))
    if asked.wrong:
        for each in found:
            if each.half == "training" and each.first != each.planted:
                print(f"{each.kind} {each.seed} {each.end}: {each.first} ({each.path})", file=sys.stderr)


if __name__ == "__main__":
    main()
