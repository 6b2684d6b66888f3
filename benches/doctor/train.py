"""Trees by the signs of what drops, from the training half: `make train-doctor`.

Gradient-boosted decision trees over the signs of drop_signs.py, arrival_signs.py and envelope_signs.py, by
scikit-learn. They are fitted to runs of the training half's seeds only, with samples every 100 ms and every
10 or 30 ms, and to the first seconds of the same runs: to labs as they are drawn, to twice as many with other
congestion controls, several connections and uploads among them, to half as many over two, four or eight
connections (variants.py), to transfers of 6 s and more with all of these, to transfers whose limits have
other means, by other hosts (wider.py), to as many with other surroundings (around.py), to transfers of 6 s
and more whose ACKs come in bunches, to labs whose payload comes late now and then (jitter), to twice as
many transfers of 6 s and more whose receiver is busy, and to such transfers that lose a few packets beside
their limit. For sockets, the kinds in _TWICE have twice as many labs, each of half the weight. Labs of OTHERS
are among all of them. Half of the paced senders are paced by their socket's option. Rows are kept in
`runs/doctor-rows`, so that a fit that was stopped goes on where it was.

`--left-out` prints how often a fit is right of the third of these runs that it left out. `--captures` renews
the trees for captures alone, from captures at both ends, whole and their first seconds, of labs as they are
drawn, of as many transfers of 6 s and more, of as many of both with other congestion controls, several
connections and uploads among them, of as many transfers of 6 s and more whose ACKs come in bunches, of as
many with jitter, of as many of wider.py, of half as many of around.py, of as many with busy receivers, and of
as many with a few losses.
"""

import argparse
import io
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import kept_rows
import numpy as np
from around import BY_WIDER
from captured import can_be_captured, captured
from fitting import model, trees
from planted import BY_BBR, KINDS, OTHERS, REAL, SHORT, SMALLER, WHOLE, Plan, Planted, Range, draw
from records import has_its_limit, kept
from variants import VARIANTS
from wider import WIDE, WIDER

from bentpipe.doctor import drop_causes
from bentpipe.doctor.boosted import Trees
from bentpipe.doctor.drop_causes import AT_RECEIVER, CAUSES, FULL, IN_CAPTURES, all_signs
from bentpipe.doctor.evidence import Evidence, SeenFrom
from bentpipe.doctor.viewed import view
from bentpipe.whole_file import write_whole

_PLANTED = {
    "random-loss": "random-loss",
    "short-queue": "short-queue",
    "policer": "policer",
    "line-drops": "line-drops",
    "timeouts": "timeouts",
    "reordering": "reordering",
    # A full queue overflows too. That the path is full says another family.
    "capacity": "short-queue",
    "bufferbloat": "short-queue",
    "aqm-full": "short-queue",
    "aqm-short": "short-queue",
    "bursty-loss": "random-loss",
    "late-loss": "random-loss",
    "bbr-loss": "random-loss",
    "bbr-full": "short-queue",
    "send-buffer": "send-buffer",
    "sender-application": "sender-application",
    "pacing": "pacing",
    "ack-path": "ack-path",
}
_COMMON = {"capacity", "bufferbloat", *OTHERS}
"""Kinds of labs with the cause of another."""
_FULL = {"capacity", "bufferbloat", "aqm-full", "bbr-full"}
_HALF = 0.5
_FINE_S = (0.01, 0.03)
_COARSE_S = 0.1
_CUT_S = (5.0, 12.0)
_CUT_ROUND_TRIPS = 40
_ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")
_PACKETS = ("packets at sender", "packets at receiver")
_SEVERAL = ("sender of several", "receiver of several")
_BBR = "sender of bbr"
_SENDERS = (_ENDS[0], _SEVERAL[0], _BBR)
_DRAWS = 8
_FOLDS = 3
_TWICE = ("random-loss", "short-queue", "policer", "line-drops")
"""Kinds with twice as many labs, each of half the weight: they are the hardest to tell apart, and more labs
help most there."""


@dataclass(frozen=True)
class Source:
    """Labs of the training half."""

    first_seed: int
    variant: str | None
    of: Range
    share: float
    """Of `--runs`, how many of each kind."""


SOURCES = (
    Source(0, None, WHOLE, 1.0),
    Source(20_000, "fresh", WHOLE, 2.0),
    Source(0, "streams", SMALLER, 0.5),
    Source(40_000, "fresh", SHORT, 2.0),
    Source(50_000, "bunched", SHORT, 1.0),
    Source(30_000, "late", SMALLER, 1.0),
    Source(140_000, "busy", SHORT, 2.0),
    Source(110_000, "wide", WIDE, 2.0),
    Source(150_000, "around", WIDE, 2.0),
    Source(170_000, "rare", SHORT, 1.0),
)
CAPTURED = (
    Source(0, None, WHOLE, 1.0),
    Source(20_000, "fresh", SMALLER, 1.0),
    Source(40_000, None, SHORT, 1.0),
    Source(40_000, "fresh", SHORT, 1.0),
    Source(50_000, "bunched", SHORT, 1.0),
    Source(30_000, "late", SHORT, 1.0),
    Source(110_000, "wide", WIDE, 1.0),
    Source(150_000, "around", WIDE, 0.5),
    Source(140_000, "busy", SHORT, 1.0),
    Source(170_000, "rare", SHORT, 1.0),
)


@dataclass(frozen=True)
class Seen:
    kind: str
    number: int
    end: str
    every_s: float
    signs: dict[str, float]


def seen(number: int, kind: str, source: Source) -> list[Seen]:
    """Of the first draw of that number whose run has its planted limit."""
    first = source.first_seed + number * _DRAWS
    for seed in range(first, first + _DRAWS):
        changed = _drawn(kind, seed, number, source)
        if changed is None:
            continue
        run = kept(changed.lab)
        if not has_its_limit(changed, run):
            continue
        fine_s, coarse_s = _FINE_S[number % len(_FINE_S)], _COARSE_S
        cut_s = _cut_s(changed, seed)
        found = []
        for end in _ENDS:
            for every_s in (fine_s, coarse_s):
                for whole in filter(_has_samples, run.seen_from(end, every_s)):
                    ones = [whole, _begun(whole, cut_s)] if every_s == coarse_s else [whole]
                    for of in map(view, ones):
                        found += _rows(kind, number, drop_causes.place(of), every_s, all_signs(of))
        return found
    return []


def _drawn(kind: str, seed: int, number: int, source: Source) -> Planted | None:
    planted = draw(kind, seed, _ways(number, source), source.of)
    return planted if source.variant is None else {**VARIANTS, **BY_WIDER}[source.variant](planted)


def _ways(number: int, source: Source) -> Mapping[str, Plan]:
    """Every second time a program paces by its socket, as on real hosts."""
    paced = {"pacing": (REAL if number % 2 else KINDS)["pacing"]}
    return {**(WIDER if source.variant in BY_WIDER else KINDS), **paced, **OTHERS}


def _cut_s(planted: Planted, seed: int) -> float:
    rtt_s = float(planted.lab["path"]["rtt"].split()[0]) / 1e3
    return max(random.Random(seed).uniform(*_CUT_S), _CUT_ROUND_TRIPS * rtt_s)


def _has_samples(of: Evidence) -> bool:
    return of.samples.height > 0


def _begun(whole: Evidence, until_s: float) -> Evidence:
    """Its first seconds, as of a shorter transfer."""
    end_s = min(whole.end_s, whole.start_s + until_s)
    samples = whole.samples.filter(whole.samples["time_s"] <= end_s)
    return replace(whole, samples=samples, end_s=end_s, ended="open")


def _rows(kind: str, number: int, end: str, every_s: float, found: dict[str, float]) -> list[Seen]:
    return [Seen(kind, number, end, every_s, found)] if found else []


def captured_seen(number: int, kind: str, source: Source) -> list[Seen]:
    """The same by captures at both ends."""
    first = source.first_seed + number * _DRAWS
    for seed in range(first, first + _DRAWS):
        planted = _drawn(kind, seed, number, source)
        if planted is None or not can_be_captured(planted.lab):
            continue
        if not has_its_limit(planted, kept(planted.lab)):
            continue
        cut_s = _cut_s(planted, seed)
        found = []
        for transfers in captured(planted.lab).values():
            for whole in filter(_has_samples, transfers):
                for each in map(view, (whole, _begun(whole, cut_s))):
                    found += _rows(kind, number, drop_causes.place(each), 0.01, all_signs(each))
        return found
    return []


def _of_all(pool: Executor, one: Callable[[int], list[Seen]], count: int) -> list[Seen]:
    return [row for found in pool.map(one, range(count), chunksize=4) for row in found]


def fitted(rows: list[Seen]) -> Trees:
    causes = _causes(rows[0].end)
    names = sorted({name for each in rows for name in each.signs})
    values = np.array([[each.signs.get(name, np.nan) for name in names] for each in rows])
    counts = [_weight(each) for each in rows]
    fit = model()
    said = [causes.index(_cause(each.kind, each.end)) for each in rows]
    fit.fit(np.where(np.isfinite(values), values, np.nan), said, sample_weight=counts)
    kinds = {each.kind for each in rows}
    more = np.array([_log_more_frequent(cause, rows[0].end, kinds) for cause in causes])
    return trees(names, causes, fit, more)


def _weight(of: Seen) -> float:
    common = _HALF if of.kind in _COMMON else 1.0
    return common / 2 if of.kind in _TWICE and of.end not in _PACKETS else common


def _log_more_frequent(cause: str, end: str, kinds: set[str]) -> float:
    """By how much more frequent the labs of OTHERS make a cause among those that it was fitted to, as a
    logarithm. `kinds`: of the runs."""

    def often(kinds: Iterable[str]) -> float:
        own = (kind for kind in kinds if _cause(kind, end) == cause)
        return sum(_HALF if kind in _COMMON else 1.0 for kind in own)

    usually = often(kinds - set(OTHERS))
    return math.log(often(kinds) / usually) if usually else 0.0


def _causes(end: str) -> tuple[str, ...]:
    if end in _PACKETS:
        return IN_CAPTURES
    return CAUSES if end in _SENDERS else AT_RECEIVER


def _cause(kind: str, end: str) -> str:
    return FULL if kind in _FULL and end not in _SENDERS else _PLANTED[kind]


def left_out(rows: list[Seen]) -> str:
    """How often a fit without a third of the runs is right of these."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for fold in range(_FOLDS):
        without = fitted([each for each in rows if each.number % _FOLDS != fold])
        for each in rows:
            if each.number % _FOLDS == fold:
                chances = without.of(each.signs)
                said = max(chances, key=lambda cause: chances[cause])
                (right if said == _cause(each.kind, each.end) else wrong)[each.kind] += 1
    judged = right + wrong
    return ", ".join(f"{kind} {right[kind] / judged[kind]:.0%}" for kind in _PLANTED if judged[kind])


def _of_end(rows: list[Seen], end: str) -> list[Seen]:
    """The runs to which the trees of that end are fitted. Those of a sender have BBR's among them, but for
    its labs with random loss, which only BBR fills. Those of BBR have all."""
    if end not in _SENDERS:
        return [each for each in rows if each.end == end and _cause(each.kind, end) in _causes(end)]
    of = (_ENDS[0], _BBR) if end in (_ENDS[0], _BBR) else (end,)
    return [
        each
        for each in rows
        if each.end in of and _PLANTED[each.kind] in CAUSES and (end != _ENDS[0] or each.kind not in BY_BBR)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="of each kind as they are drawn")
    parser.add_argument("--captures", action="store_true", help="the trees for captures alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--left-out", action="store_true", help="judge three fits by what each left out")
    asked = parser.parse_args()
    kinds = [each for each in _PLANTED if not asked.captures or _PLANTED[each] in IN_CAPTURES]
    rows: list[Seen] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in kinds:
            for place, source in enumerate(CAPTURED if asked.captures else SOURCES):
                one = partial(captured_seen if asked.captures else seen, kind=kind, source=source)
                twice = 2 if kind in _TWICE and not asked.captures else 1
                count = round(asked.runs * source.share * twice)
                name = f"{'captures' if asked.captures else 'sockets'}-{kind}-{place}-{count}"
                rows += kept_rows.rows(name, partial(_of_all, pool, one, count))
            print(f"{kind} done", file=sys.stderr)
    file = Path(drop_causes.__file__).with_name(drop_causes.FILE)
    with np.load(file, allow_pickle=False) as kept:
        arrays = dict(kept)
    for end in _PACKETS if asked.captures else (*_ENDS, _BBR, *_SEVERAL):
        own = _of_end(rows, end)
        arrays |= fitted(own).as_arrays(end)
        judged = f", each judged by the others: {left_out(own)}" if asked.left_out else ""
        print(f"{end}, {len(own)} runs and intervals{judged}", flush=True)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    write_whole(file, packed.getvalue())


if __name__ == "__main__":
    main()
