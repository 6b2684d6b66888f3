"""How often the intervals of `bentpipe compare` hold the true mean, simulated, beside scipy's own.

    python benches/intervals                 the tables of docs/compare.md
    python benches/intervals --trials 1000   quicker, rougher
    python benches/intervals --runs DIR      of runs: a sweep of one point, two variants and many seeds
    python benches/intervals --points A B    how alike the points of two sweeps are in what one seed gives

What came out, and what it means, is on that page.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from draws import KINDS, fetch_ratios, points
from scipy import stats

from bentpipe.analysis.intervals import FROM, LEVEL, Array, bounds, repeats_to_see, together_at
from runs import correlations, measured

COUNTS = (2, 3, 4, 5, 6, 8, 10, 20)
_RESAMPLES = 1999
_CHUNK = 500
Ends = tuple[Array, Array]


def main() -> None:
    parser = argparse.ArgumentParser(prog="intervals", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=Path, metavar="DIR")
    parser.add_argument("--points", type=Path, metavar="DIR", nargs="+")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    if asked.points:
        for point, row in correlations(asked.points):
            print(f"{point:>12}", *(f"{value:5.2f}" for value in row))
        return
    if asked.runs:
        counts = COUNTS[1:]
        print(*_head("percent of trials", [f"{count}" for count in counts]), sep="\n")
        for words, shares in measured(asked.runs, counts, asked.trials, _ours, rng):
            print(_row(words, shares))
        return
    print(f"Held the true mean, in percent of {asked.trials} trials, at a level of {LEVEL:.0%}:")
    print("Student's t below", FROM, "values, from there the bootstrap.\n")
    print(*_one_point(rng, asked.trials), sep="\n")
    print("\nThe same of scipy's own percentile and BCa intervals:\n")
    print(*_scipy(rng, max(asked.trials // 10, 200)), sep="\n")
    print("\nOver 20 points of a few seeds, of which one gives correlated values at all points:\n")
    print(*_many_points(rng, asked.trials), sep="\n")
    print("\nOf runs whose fetches are drawn alike, in percent of trials something is said to differ:\n")
    print(*_tails(rng, max(asked.trials // 10, 200)), sep="\n")
    print("\nWhere none was seen, the repeats said to settle it were half to twice those that would:\n")
    print(*_repeats(rng, max(asked.trials // 10, 200)), sep="\n")


def _one_point(rng: np.random.Generator, trials: int) -> Iterator[str]:
    yield from _head("drawn from", [f"{count}" for count in COUNTS])
    every = []
    for kind in KINDS.values():
        held = [_held(_chunked(kind.draw(rng, (trials, count)), _ours), kind.mean) for count in COUNTS]
        every.append(held)
        yield _row(kind.about, held)
    yield _row("**least**", [min(of_count) for of_count in zip(*every, strict=True)])


def _scipy(rng: np.random.Generator, trials: int) -> Iterator[str]:
    counts = [3, 5, 10, 20]
    yield from _head("drawn from", [f"{how} {n}" for how in ("percentile", "BCa") for n in counts])
    for name in ("normal", "lognormal 0.8"):
        kind = KINDS[name]
        drawn = {count: kind.draw(rng, (trials, count)) for count in counts}
        yield _row(
            kind.about,
            [
                _held(_chunked(drawn[count], _by_scipy(how)), kind.mean)
                for how in ("percentile", "BCa")
                for count in counts
            ],
        )


def _many_points(rng: np.random.Generator, trials: int) -> Iterator[str]:
    counts = (3, 5, 10)
    yield from _head("correlation", [f"{how} {n}" for how in ("by seed", "every pair") for n in counts])
    for correlation in (0.0, 0.5, 0.9):
        drawn = {count: points(rng, (trials, 20, count), correlation) for count in counts}
        by_seed = [_held(_chunked(drawn[count].mean(axis=1), _ours), 0.0) for count in counts]
        by_pair = [_held(_stratified(drawn[count]), 0.0) for count in counts]
        yield _row(f"{correlation:g}", [*by_seed, *by_pair])


def _tails(rng: np.random.Generator, trials: int) -> Iterator[str]:
    """The median alone, and any of p95 and p99: judged together, and as if each were the only one."""
    yield from _head("of 100 fetches a run", [f"{count}" for count in COUNTS])
    said: dict[str, list[float]] = {}
    for count in COUNTS:
        median, *tails = fetch_ratios(rng, (trials, count), (50, 95, 99))
        for words, samples, level in (
            ("the median", [median], LEVEL),
            ("p95 or p99, judged together", tails, together_at(LEVEL, len(tails))),
            ("p95 or p99, each at 95 %", tails, LEVEL),
        ):
            found = [_chunked(each, partial(_ours, level=level)) for each in samples]
            differ = np.any([(low > 0) | (high < 0) for low, high in found], axis=0)
            said.setdefault(words, []).append(float(differ.mean()))
    yield from (_row(words, shares) for words, shares in said.items())


def _repeats(rng: np.random.Generator, trials: int) -> Iterator[str]:
    """Normal values; true differences so large that so many repeats would settle them."""
    counts = [3, 5, 8, 12]
    yield from _head("it takes", [f"after {count}" for count in counts])
    for mean in (0.8, 0.5, 0.3):
        true = repeats_to_see(mean, 1.0)
        assert true is not None
        shares = []
        for count in counts:
            drawn = rng.normal(mean, 1, (trials, count))
            low, high = _chunked(drawn, _ours)
            unseen = drawn[(low <= 0) & (high >= 0)]
            said = [repeats_to_see(float(each.mean()), float(each.std(ddof=1))) for each in unseen]
            shares.append(sum(n is not None and true / 2 <= n <= 2 * true for n in said) / len(said))
        yield _row(f"{true}", shares)


def _ours(samples: Array, level: float = LEVEL) -> Ends:
    return bounds(samples, level, resamples=_RESAMPLES)


def _by_scipy(method: str) -> Callable[[Array], Ends]:
    def ends(samples: Array) -> Ends:
        found = stats.bootstrap(
            (samples,), np.mean, axis=1, vectorized=True, method=method, n_resamples=_RESAMPLES, rng=1
        )
        return found.confidence_interval.low, found.confidence_interval.high

    return ends


def _stratified(samples: Array) -> Ends:
    """Every pair taken as independent, its point as a stratum."""
    _, count, seeds = samples.shape
    variance = samples.var(axis=2, ddof=1).sum(axis=1) / seeds / count**2
    half = stats.t.ppf((1 + LEVEL) / 2, count * (seeds - 1)) * np.sqrt(variance)
    mean = samples.mean(axis=(1, 2))
    return mean - half, mean + half


def _chunked(samples: Array, ends: Callable[[Array], Ends]) -> Ends:
    parts = [ends(samples[start : start + _CHUNK]) for start in range(0, len(samples), _CHUNK)]
    return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])


def _held(ends: Ends, mean: float) -> float:
    low, high = ends
    return float(((low <= mean) & (mean <= high)).mean())


def _head(first: str, others: list[str]) -> Iterator[str]:
    yield f"| {first} | {' | '.join(others)} |"
    yield f"|---|{'--:|' * len(others)}"


def _row(first: str, shares: list[float]) -> str:
    return f"| {first} | {' | '.join(f'{100 * share:.0f}' for share in shares)} |"


main()
