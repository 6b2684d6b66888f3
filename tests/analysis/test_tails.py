"""Where most fetches are as quick as before and the slowest are not, a comparison says so."""

import io
import math
import random

import pytest
from made_up import Record, run, sweep
from rich.console import Console

from bentpipe.analysis.comparisons import MORE, NO_DIFFERENCE, Comparison, compare_all
from bentpipe.report import comparison
from bentpipe.runs.figures.times import times


def fetches(variant: str, seed: int, slow: float, count: int = 100) -> Record:
    """Every tenth of them is so much slower."""
    draws = random.Random(f"{variant} {seed}")
    took = [2.0 * math.exp(draws.gauss(0, 0.02)) * (slow if n % 10 == 0 else 1) for n in range(count)]
    listed = [{"total_s": time_s, "bytes": 1} for time_s in took]
    entry = {"kind": "http", "per_fetch": listed, "fetch_times": times(took)}
    return run(None, variant=variant, seed=seed, name="page", entry=entry)


def compared(slow: float, seeds: int = 5, count: int = 100) -> tuple[dict[str, Comparison], str]:
    runs = [fetches("as is", seed, 1.2, count) for seed in range(seeds)]
    runs += [fetches("outages", seed, slow, count) for seed in range(seeds)]
    found = compare_all([sweep(runs)])
    console = Console(file=io.StringIO(), width=500)
    console.print(comparison.render(found))
    assert isinstance(console.file, io.StringIO)
    return {each.metric.name.partition("page.")[2]: each for each in found}, console.file.getvalue()


def test_a_slow_tail_is_said_first_where_the_median_shows_nothing() -> None:
    found, text = compared(slow=2.4)
    assert found["median_fetch_s"].verdict == NO_DIFFERENCE
    p95 = found["fetch_times.p95_s"]
    assert p95.verdict == MORE
    assert p95.ratio == pytest.approx(2.0, rel=0.05)
    verdict = next(line for line in text.splitlines() if line.startswith("outages:"))
    assert verdict.startswith("outages: fetch p95 4.79 instead of 2.39 s")
    assert verdict.index("fetch p95") < verdict.index("no difference seen in fetch time")
    assert "times as long" in verdict


def test_percentiles_of_the_same_times_are_judged_together_at_a_higher_level() -> None:
    found, text = compared(slow=2.4)
    for name in ("fetch_times.p95_s", "fetch_times.p99_s"):
        judged = found[name].as_json()
        assert (judged["judged_among"], judged["level"]) == (2, pytest.approx(0.975))
    assert found["median_fetch_s"].as_json()["level"] == 0.95
    assert "judged together, each at 97.5 %" in text


def test_a_percentile_that_the_fetches_are_too_few_for_is_not_judged() -> None:
    found, _ = compared(slow=2.4, count=50)
    assert "fetch_times.p99_s" not in found
    assert (found["fetch_times.p95_s"].among, found["fetch_times.p95_s"].verdict) == (1, MORE)
    found, _ = compared(slow=2.4, count=19)
    assert "fetch_times.p95_s" not in found


def test_a_percentile_that_was_not_finished_is_no_number() -> None:
    runs = [fetches("as is", seed, 1.2) for seed in range(5)]
    runs += [fetches("outages", seed, 1.2) for seed in range(5)]
    for each in runs[5:]:
        each["workloads"]["page"]["fetch_times"] |= {"count": 94, "not_finished": 6}
    found = {each.metric.name: each for each in compare_all([sweep(runs)])}
    assert found["workload.page.fetch_times.p95_s"].left_out.not_finished == 5


def pings(variant: str, seed: int, p95_ms: float) -> Record:
    draws = random.Random(f"{variant} {seed}")
    entry = {"median_ms": 40.0 + draws.random(), "p95_ms": p95_ms + draws.random(), "sent": 50, "lost": 0}
    return run(variant=variant, seed=seed, name="rtt", entry={"kind": "ping", **entry})


def test_of_pings_the_tail_is_judged_too() -> None:
    runs = [pings("as is", seed, 45.0) for seed in range(5)]
    runs += [pings("jitter", seed, 90.0) for seed in range(5)]
    found = {each.metric.name: each for each in compare_all([sweep(runs)])}
    assert found["workload.rtt.median_ms"].verdict == NO_DIFFERENCE
    assert found["workload.rtt.p95_ms"].verdict == MORE


def test_pings_beside_a_transfer_are_judged_where_they_are_enough_for_a_tail() -> None:
    def beside(variant: str, seed: int, p95_ms: float | None) -> Record:
        rtt = pings(variant, seed, p95_ms or 0.0)["workloads"]["rtt"] | {"p95_ms": p95_ms}
        both = run(10.0, variant=variant, seed=seed)
        both["workloads"]["rtt"] = rtt
        return both

    def judged(tails_ms: tuple[float | None, float | None]) -> dict[str, Comparison]:
        variants = zip(("as is", "queue of 2 bdp"), tails_ms, strict=True)
        runs = [
            beside(variant, seed, None if tail_ms is None else tail_ms + seed)
            for variant, tail_ms in variants
            for seed in range(5)
        ]
        return {each.metric.name: each for each in compare_all([sweep(runs)])}

    assert judged((45.0, 90.0))["workload.rtt.p95_ms"].verdict == MORE
    assert not any(name.startswith("workload.rtt.") for name in judged((None, None)))


def test_shares_differ_by_percentage_points() -> None:
    def sent_again(variant: str, seed: int, again: int) -> Record:
        entry = {"bytes": 1448 * 1000, "retransmits": again + seed}
        return run(10.0 + seed / 10, variant=variant, seed=seed, entry=entry)

    runs = [sent_again("as is", seed, 10) for seed in range(5)]
    runs += [sent_again("tuned", seed, 140 + seed) for seed in range(5)]
    console = Console(file=io.StringIO(), width=200)
    console.print(comparison.render(compare_all([sweep(runs)])))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "sent again +13 percentage points" in text
    assert "again pp" in text
    assert "pp: percentage points." in text


def test_imported_runs_have_no_seed_in_common() -> None:
    runs = [
        run(10.0 + seed + 5 * number, variant=variant, seed=seed, engine="imported")
        for number, variant in enumerate(("before", "after"))
        for seed in (1, 2, 3)
    ]
    console = Console(file=io.StringIO(), width=200)
    console.print(comparison.render(compare_all([sweep(runs)])))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "3 pairs of runs of the same repeat number" in text
    assert "seed" not in text


def test_the_note_says_how_far_the_coverage_of_an_interval_can_fall() -> None:
    runs = [
        run(10.0 + seed / 10, variant=variant, seed=seed)
        for variant in ("as is", "tuned")
        for seed in range(5)
    ]
    console = Console(file=io.StringIO(), width=400)
    console.print(comparison.render(compare_all([sweep(runs)])))
    assert isinstance(console.file, io.StringIO)
    assert "their coverage can fall to 70 % if a few runs are outliers" in console.file.getvalue()
