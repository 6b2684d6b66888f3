"""Weights of the signs of what drops, from the training half: `make train-doctor`.

Multinomial logistic regression over the signs of drop_signs.py, their squares and their products, with a
penalty on the weights. It is fitted to runs of the training half's seeds only, with samples every 10, 30
and 100 ms (of several connections 30 and 100 ms), and printed with its accuracy on the third of these runs
that each fit left out. `--captures` renews the weights for captures alone, from captures at both ends;
`--streams` those for transfers over several connections, from labs that carry two, four or eight
(variants.py).
"""

import argparse
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from captured import can_be_captured, captured
from planted import SMALLER, draw
from records import kept
from variants import VARIANTS

from bentpipe.doctor import drop_causes
from bentpipe.doctor.arrays import Floats
from bentpipe.doctor.drop_causes import CAUSES, SENDER_SIDE, Weights, all_signs
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.view import view

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
    "send-buffer": "send-buffer",
    "sender-application": "sender-application",
    "pacing": "pacing",
}
_COMMON = {"capacity", "bufferbloat"}
_EVERY_S = (0.01, 0.03, 0.1)
_ENDS: tuple[SeenFrom, ...] = ("sender", "receiver")
_PACKETS = ("packets at sender", "packets at receiver")
_SEVERAL = ("sender of several", "receiver of several")
_SENDERS = (_ENDS[0], _SEVERAL[0])
_DRAWS = 8
_PENALTY = 1e-3
_STEPS = 600
_FOLDS = 3
_DIGITS = 4


@dataclass(frozen=True)
class Seen:
    kind: str
    number: int
    end: str
    every_s: float
    signs: dict[str, float]
    counts: float = 1.0
    """Of several connections each is a part."""


def seen(number: int, kind: str) -> list[Seen]:
    """Of the first draw of that number whose run has its planted limit."""
    for seed in range(number * _DRAWS, (number + 1) * _DRAWS):
        planted = draw(kind, seed)
        run = kept(planted.lab)
        if not planted.least_used <= run.used_share <= planted.most_used:
            continue
        found = []
        for end in _ENDS:
            for every_s in _EVERY_S:
                for evidence in run.seen_from(end, every_s):
                    found += _rows(kind, number, end, every_s, all_signs(view(evidence)))
        return found
    return []


def _rows(kind: str, number: int, end: str, every_s: float, found: list[dict[str, float]]) -> list[Seen]:
    return [Seen(kind, number, end, every_s, each, 1 / len(found)) for each in found]


def streams_seen(number: int, kind: str) -> list[Seen]:
    """The same of several connections at once."""
    for seed in range(number * _DRAWS, (number + 1) * _DRAWS):
        planted = VARIANTS["streams"](draw(kind, seed, of=SMALLER))
        if planted is None:
            continue
        run = kept(planted.lab)
        if not planted.least_used <= run.used_share <= planted.most_used:
            continue
        found = []
        for end in _ENDS:
            for every_s in _EVERY_S[1:]:
                for evidence in run.seen_from(end, every_s):
                    of = view(evidence)
                    found += _rows(kind, number, drop_causes.place(of), every_s, all_signs(of))
        return found
    return []


def captured_seen(number: int, kind: str) -> list[Seen]:
    """The same by captures at both ends."""
    for seed in range(number * _DRAWS, (number + 1) * _DRAWS):
        planted = draw(kind, seed)
        if not can_be_captured(planted.lab):
            continue
        if not planted.least_used <= kept(planted.lab).used_share <= planted.most_used:
            continue
        seen_by = {end: view(each) for end, (each,) in captured(planted.lab).items()}
        return [
            row
            for each in seen_by.values()
            for row in _rows(kind, number, drop_causes.place(each), 0.01, all_signs(each))
        ]
    return []


def fitted(rows: list[Seen]) -> Weights:
    causes = CAUSES if rows[0].end in _SENDERS else (*CAUSES, *SENDER_SIDE)
    names = sorted({name for each in rows for name in each.signs})
    values = np.array([[each.signs.get(name, np.nan) for name in names] for each in rows])
    middle, spread = np.nanmean(values, axis=0), np.maximum(np.nanstd(values, axis=0), 10.0**-_DIGITS)
    weights = Weights(names, middle, spread, np.zeros((0, 0)), causes)
    matrix = np.array([weights.terms(each.signs) for each in rows])
    target = np.eye(len(causes))[[causes.index(_PLANTED[each.kind]) for each in rows]]
    counts = np.array([each.counts * (0.5 if each.kind in _COMMON else 1.0) for each in rows])
    return Weights(names, middle, spread, _descended(matrix, target, counts / counts.sum()), causes)


def _descended(matrix: Floats, target: Floats, counts: Floats) -> Floats:
    """By Nesterov's accelerated gradient."""
    penalty = np.full((matrix.shape[1], 1), _PENALTY)
    penalty[0] = 0.0
    steepest = np.linalg.norm(matrix * np.sqrt(counts)[:, None], 2) ** 2 / 4 + _PENALTY
    now = ahead = np.zeros((matrix.shape[1], target.shape[1]))
    pace = 1.0
    for _ in range(_STEPS):
        wrong = (drop_causes.chances(matrix @ ahead) - target) * counts[:, None]
        after = ahead - (matrix.T @ wrong + penalty * ahead) / steepest
        faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        ahead = after + (pace - 1) / faster * (after - now)
        now, pace = after, faster
    return np.asarray(now)


def left_out(rows: list[Seen]) -> str:
    """How often a fit without a third of the runs is right of these."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for fold in range(_FOLDS):
        weights = fitted([each for each in rows if each.number % _FOLDS != fold])
        for each in rows:
            if each.number % _FOLDS == fold:
                chances = weights.of(each.signs)
                said = max(chances, key=lambda cause: chances[cause])
                (right if said == _PLANTED[each.kind] else wrong)[each.kind] += 1
    return ", ".join(f"{kind} {right[kind] / max(right[kind] + wrong[kind], 1):.0%}" for kind in _PLANTED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of each kind")
    parser.add_argument("--captures", action="store_true", help="the weights for captures alone")
    parser.add_argument("--streams", action="store_true", help="those for several connections alone")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    one = captured_seen if asked.captures else streams_seen if asked.streams else seen
    rows: list[Seen] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in _PLANTED:
            for each in pool.map(partial(one, kind=kind), range(asked.runs), chunksize=4):
                rows += each
    file = Path(drop_causes.__file__).with_name("drop_weights.json")
    found = json.loads(file.read_text())
    for end in _PACKETS if asked.captures else _SEVERAL if asked.streams else _ENDS:
        own = [each for each in rows if each.end == end]
        if end in _SENDERS:
            own = [each for each in own if _PLANTED[each.kind] in CAUSES]
        found[end] = fitted(own).as_json(_DIGITS)
        print(f"{end}, {len(own)} runs and intervals, each judged by the others: {left_out(own)}")
    file.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
