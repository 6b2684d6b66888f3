"""What is said of a thing tried is what its pairs show, in figures and in words."""

import io
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import Record, failed, run, sweep, tried
from rich.console import Console

from bentpipe.analysis.comparisons import (
    IDENTICAL,
    LESS,
    MORE,
    NO_DIFFERENCE,
    NO_INTERVAL,
    Comparison,
    compare_all,
)
from bentpipe.report import comparison


def found(runs: list[Record], name: str = "workload.download.goodput_mbit_s") -> Comparison:
    return next(each for each in compare_all([sweep(runs)]) if each.metric.name == name)


def printed(runs: list[Record], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison.render(compare_all([sweep(runs)])))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_an_upload_by_a_download_is_called_an_upload() -> None:
    up = tried(lambda seed: 20.0 + seed, entry={"direction": "up"})
    assert "Transfers: upload" in printed(up)
    assert "Transfers: download" in printed(tried(lambda seed: 20.0 + seed))


def test_a_comparison_says_over_which_interval_goodput_is_counted() -> None:
    assert "over the transfer's own time" in " ".join(printed(tried(lambda seed: 20.0 + seed)).split())


def headings(folders: list[Any]) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(comparison.render(compare_all(folders)))
    assert isinstance(console.file, io.StringIO)
    return next(line for line in console.file.getvalue().splitlines() if line[:1] == " " and " times" in line)


def test_what_is_compared_heads_its_column() -> None:
    two = tried(lambda seed: 20.0 + seed)
    assert headings([sweep(two)]).split()[:3] == ["as", "is", "tuned"]
    three = [*two, *(run(30.0, variant="BBR", seed=seed) for seed in range(1, 6))]
    assert headings([sweep(three)]).split()[:3] == ["as", "is", "variant"]
    plain = [each for each in two if each["variant"] == "as is"]
    folders = [sweep(plain, name) for name in ("before", "after", "later")]
    assert headings(folders[:2]).split()[:2] == ["before", "after"]
    assert headings(folders).split()[:2] == ["before", "folder"]
    assert "As is and tuned: means over the pairs." in " ".join(printed(two).split())


def wobble(seed: int, much: float = 0.02) -> float:
    return math.exp(random.Random(seed).gauss(0, much))


def sway(seed: int) -> float:
    """One per cent up and down, in the mean of an even number nothing."""
    return float(1.01 ** (-1) ** seed)


def points(*rtts: str) -> list[dict[str, str]]:
    return [{"path.rtt": rtt} for rtt in rtts]


def test_the_ratio_is_the_geometric_mean_of_the_pairs_ratios() -> None:
    runs = tried(lambda seed: 10.0 * 2.0**seed, seeds=3)
    assert found(runs).ratio == pytest.approx(4.0)
    difference = found(runs).difference
    assert difference is not None
    assert difference.value == pytest.approx((10 + 30 + 70) / 3)


def test_pairs_take_out_what_the_seed_does_to_both() -> None:
    runs = tried(lambda seed: 11.0 * seed * wobble(seed), theirs=lambda seed: 10.0 * seed, seeds=8)
    assert found(runs).verdict == MORE
    interval = found(runs).ratio_interval
    assert interval is not None
    assert 1.05 < interval.low < 1.1 < interval.high < 1.15


def test_a_difference_that_chance_could_have_made_is_not_seen_and_says_what_would_settle_it() -> None:
    runs = tried(lambda seed: 10.1 * wobble(seed, 0.2), seeds=5)
    assert found(runs).verdict == NO_DIFFERENCE
    text = " ".join(printed(runs).split())
    assert "tuned: no difference seen in goodput" in text
    assert "would have been seen" in text
    assert "repeats in all would settle it" in text


def test_a_time_that_shrinks_is_told_as_faster() -> None:
    runs = tried(lambda _seed: 1.0, seeds=3)
    for each in runs:
        tuned = each["variant"] == "tuned"
        time_s = (4.0 if tuned else 12.0) * wobble(each["seed"] + 100 * tuned)
        entry = {"kind": "http", "per_fetch": [{"total_s": time_s, "bytes": 1}]}
        each["workloads"] = {"page": entry}
    each = found(runs, "workload.page.median_fetch_s")
    assert (each.verdict, each.metric.more_is_better) == (LESS, False)
    assert "tuned: 3 times as fast, 2." in printed(runs)


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("queue_delay_ms", "2 times as much"),
        ("delay_s_mean", "2 times as much"),
        ("duration_s", "0.5 times as fast"),
    ],
)
def test_only_work_is_faster_or_slower_and_no_time_spent_waiting(figure: str, words: str) -> None:
    runs = tried(lambda _seed: 1.0, seeds=3)
    for each in runs:
        tuned = each["variant"] == "tuned"
        each["workloads"]["download"][figure] = (8.0 if tuned else 4.0) * wobble(
            each["seed"] + 100 * tuned, 0.001
        )
    name = f"workload.download.{figure}"
    console = Console(file=io.StringIO(), width=80)
    console.print(comparison.render(compare_all([sweep(runs)], names=[name])))
    assert isinstance(console.file, io.StringIO)
    assert words in console.file.getvalue()


def test_costs_stand_in_the_verdict_where_they_are_seen() -> None:
    def pinged(each: Record, delay_ms: float) -> Record:
        spec = {"path": {"base_rtt_ns": 50_000_000}, "workloads": [{"name": "rtt", "kind": "ping"}]}
        ping = {"kind": "ping", "median_ms": 50.0 + delay_ms, "sent": 1, "lost": 0}
        return each | {"spec": spec, "workloads": {**each["workloads"], "rtt": ping}}

    runs = [
        pinged(
            each, (143.0 if each["variant"] == "tuned" else 3.0) + each["seed"] / 100 * len(each["variant"])
        )
        for each in tried(lambda seed: 31.0 * wobble(seed), seeds=6)
    ]
    assert "; queue delay +140 ms" in printed(runs)


def test_a_cost_is_named_in_words_and_not_by_its_key() -> None:
    def pinged(each: Record) -> Record:
        shortest_ms = 50.0 + each["seed"] / 100 + (56.17 if each["variant"] == "tuned" else 0)
        ping = {"kind": "ping", "median_ms": 200.0, "min_ms": shortest_ms, "sent": 1, "lost": 0}
        return each | {"workloads": {"rtt": ping}}

    text = " ".join(
        printed([pinged(each) for each in tried(lambda seed: 31.0 * wobble(seed), seeds=6)]).split()
    )
    assert "; shortest round trip +56.17 ms" in text


def test_an_interval_that_says_nothing_has_no_digits_in_a_verdict() -> None:
    ratios = [1.1, 3000.0]
    text = " ".join(printed(tried(lambda seed: 10.0 * ratios[seed % 2], seeds=2)).split())
    assert "interval too wide" in text
    assert " to +" not in text


def test_equal_runs_are_identical_in_every_pair() -> None:
    assert found(tried(lambda _seed: 10.0)).verdict == IDENTICAL
    assert "tuned: goodput identical in every pair" in printed(tried(lambda _seed: 10.0))


def test_the_same_change_in_every_pair_is_said_to_be_so() -> None:
    assert "tuned: 2 times as fast, the same in every pair" in printed(tried(lambda _seed: 20.0))


def test_one_pair_has_no_interval() -> None:
    runs = tried(lambda _seed: 20.0, seeds=1)
    assert found(runs).verdict == NO_INTERVAL
    assert "tuned: 2 times as fast (one pair: no interval)" in printed(runs)


def test_points_of_one_seed_each_are_no_sample_of_anything() -> None:
    runs = [
        each
        for number, point in enumerate(points("20 ms", "80 ms", "200 ms"))
        for each in tried(lambda _seed, number=number: 20.0 + number, seeds=1, point=point)
    ]
    overall = compare_all([sweep(runs)])[0]
    assert (overall.point, overall.verdict, overall.pairs) == (None, NO_INTERVAL, 3)
    assert "one pair at each point: no interval" in printed(runs)


def test_a_point_of_one_pair_is_not_in_the_mean_over_points_and_is_counted() -> None:
    runs = tried(lambda seed: 20.0 * wobble(seed), seeds=5, point={"path.rtt": "20 ms"})
    runs += tried(lambda _seed: 90.0, seeds=1, point={"path.rtt": "80 ms"})
    overall = compare_all([sweep(runs)])[0]
    assert overall.ratio == pytest.approx(2.0, rel=0.05)
    assert "tuned: of all points 1 point with a single pair" in printed(runs)


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (45.0, "tuned: 4.5 times as fast, 4."),
        (14.0, "tuned: 40 % faster, 39–41 %"),
        (8.0, "tuned: 20 % slower, 19–21 %"),
        (2.0, "tuned: 0.2 times as fast, 0.1"),
    ],
)
def test_a_change_is_told_in_the_words_that_fit_its_size(ours: float, words: str) -> None:
    assert words in printed(tried(lambda seed: ours * sway(seed), seeds=8))


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (3.0, "retransmits 70 % less, 69.8–70.2 %"),
        (12.0, "retransmits 20 % more, 19–21 %"),
        (40.0, "retransmits 4 times as much, 3.9"),
    ],
)
def test_what_is_no_speed_is_more_or_less(ours: float, words: str) -> None:
    runs = tried(lambda _seed: 10.0, seeds=8)
    for each in runs:
        count = ours * sway(each["seed"]) if each["variant"] == "tuned" else 10.0
        each["workloads"]["download"]["retransmits"] = count
    console = Console(file=io.StringIO(), width=80)
    console.print(comparison.render(compare_all([sweep(runs)], names=["workload.download.retransmits"])))
    assert isinstance(console.file, io.StringIO)
    assert f"tuned: workload.download.{words}" in console.file.getvalue()


def test_over_points_that_disagree_the_verdict_names_the_contrary_one() -> None:
    factor = {"20 ms": 0.8, "80 ms": 2.0, "200 ms": 3.0}
    runs = [
        each
        for point in points(*factor)
        for each in tried(
            lambda seed, rtt=point["path.rtt"]: 10 * factor[rtt] * wobble(seed), seeds=6, point=point
        )
    ]
    text = " ".join(printed(runs).split())
    assert "tuned: 1.7 times as fast" in text
    assert "slower at rtt 20 ms" in text
    rows = [line.split() for line in printed(runs).splitlines() if line.startswith(("all points", "rtt "))]
    assert [row[:2] for row in rows] == [["all", "points"], ["rtt", "20"], ["rtt", "80"], ["rtt", "200"]]


def test_of_many_points_that_differ_by_chance_none_is_named() -> None:
    rng = random.Random(1)
    runs = [
        each
        for point in points(*(f"{rtt} ms" for rtt in range(100)))
        for each in tried(lambda _seed: 10.0 * math.exp(rng.gauss(0, 0.1)), seeds=8, point=point)
    ]
    compared = [each for each in compare_all([sweep(runs)]) if each.metric.role == "first"]
    assert sum(each.verdict in {MORE, LESS} for each in compared if each.point) >= 2
    assert " at rtt " not in printed(runs).split("Transfers", 1)[0]


def test_what_is_left_out_is_counted_beneath() -> None:
    runs = [*tried(lambda seed: 20.0 * wobble(seed)), run(seed=9), failed("tuned", 9)]
    assert "Runs that failed: tuned 1." in printed(runs)
    unreliable = [dict(each, reliable=each["seed"] != 2) for each in tried(lambda _seed: 20.0)]
    assert "Runs that are unreliable: tuned 2." in printed(unreliable)


def test_runs_that_do_not_count_stand_in_brackets() -> None:
    runs = [dict(each, reliable=False) for each in tried(lambda _seed: 20.0)]
    row = next(line.split() for line in printed(runs).splitlines() if "(10)" in line)
    assert row[:3] == ["tuned", "(10)", "(20)"]


def test_a_figure_that_only_one_of_the_two_has_is_named_and_has_no_row() -> None:
    runs = [run(seed=seed) for seed in (1, 2)]
    runs += [run(variant="tuned", seed=seed, name="upload") for seed in (1, 2)]
    text = printed(runs)
    assert "only one of the two has: workload.upload.goodput_mbit_s (tuned)" in " ".join(text.split())
    assert "Transfers" not in text


def test_a_figure_of_0_is_compared_by_its_difference() -> None:
    runs = tried(lambda _seed: 10.0, seeds=6)
    for each in runs:
        each["workloads"]["download"]["retransmits"] = 0 if each["variant"] == "as is" else 5 + each["seed"]
    compared = compare_all([sweep(runs)], names=["workload.download.retransmits"])
    assert (compared[0].ratio, compared[0].verdict) == (None, MORE)
    assert compared[0].difference is not None
    assert compared[0].difference.value == 8.5


def test_every_comparison_is_one_object_of_plain_numbers() -> None:
    runs = [
        each
        for point in points("20 ms", "80 ms")
        for each in tried(lambda seed: 20.0 * wobble(seed), seeds=6, point=point)
    ]
    objects = [each.as_json() for each in compare_all([sweep(runs)])]
    assert json.loads(json.dumps(objects, allow_nan=False)) == objects
    overall, first, second = objects[:3]
    assert [overall["point"], first["point"], second["point"]] == [None, *points("20 ms", "80 ms")]
    assert (overall["pairs"], overall["seeds"], first["pairs"]) == (12, 6, 6)
    assert (overall["metric"], overall["thing"], overall["baseline"]) == (
        "workload.download.goodput_mbit_s",
        "tuned",
        "as is",
    )
    assert (overall["level"], overall["method"], overall["verdict"]) == (0.95, "bootstrap", "more")
    assert overall["ratio_interval"][0] < overall["ratio"] < overall["ratio_interval"][1]


positive = st.integers(1, 10**6).map(lambda hundredths: hundredths / 100)


def channels(variant: str, seed: int, p95_s: float, not_finished: int) -> Record:
    small = {"count": 100 - not_finished, "not_finished": not_finished, "p50_s": 1.0, "p95_s": p95_s}
    entry = {"kind": "channels", "flows": 100, "failed": 0, "small_flows": small}
    return run(5.0, variant=variant, seed=seed, name="clients", entry=entry)


def test_of_channels_the_small_flows_percentiles_are_compared() -> None:
    runs = [channels("as is", seed, 2.0 + seed / 10, 5) for seed in range(6)]
    runs += [channels("tuned", seed, 1.0 + seed / 20, 5) for seed in range(6)]
    p95 = found(runs, "workload.clients.small_flows.p95_s")
    assert (p95.verdict, p95.metric.role, p95.ratio) == (LESS, "beside", pytest.approx(0.5))


def test_a_percentile_of_which_too_many_were_cut_off_is_no_number() -> None:
    runs = [channels("as is", seed, 2.0, 5) for seed in range(6)]
    runs += [channels("tuned", seed, 1.0, 6) for seed in range(6)]
    assert found(runs, "workload.clients.small_flows.p95_s").left_out.not_finished == 6
    assert found(runs, "workload.clients.small_flows.p50_s").pairs == 6


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=12))
def test_turned_around_a_comparison_says_the_reverse(values: list[tuple[float, float]]) -> None:
    runs = [
        run(value, variant=variant, seed=seed)
        for seed, both in enumerate(values)
        for variant, value in zip(("as is", "tuned"), both, strict=True)
    ]
    there = compare_all([sweep(runs)])[0]
    back = compare_all([sweep(runs)], baseline="tuned")[0]
    assert there.ratio is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    turned = {MORE: LESS, LESS: MORE}
    close = (
        there.judged is not None
        and there.judged.interval is not None
        and min(abs(there.judged.interval.low), abs(there.judged.interval.high))
        < 0.05 * (there.judged.interval.high - there.judged.interval.low)
    )
    assert back.verdict == turned.get(there.verdict, there.verdict) or close  # resamples are not mirrored
