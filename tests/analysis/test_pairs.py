"""Runs are compared in pairs of the same point and seed; what is in no pair is counted."""

import re

import pytest
from made_up import failed, run, sweep, tried

from bentpipe.analysis.comparisons import IDENTICAL, MORE, NO_INTERVAL, NO_PAIR, Comparison, compare_all
from bentpipe.analysis.pairs import LeftOut, matched, things, unmatched
from bentpipe.errors import ComparisonError


def goodput(compared: list[Comparison], point: object = None) -> Comparison:
    return next(
        each
        for each in compared
        if each.metric.name == "workload.download.goodput_mbit_s" and each.point == point
    )


def test_a_pair_is_two_runs_of_the_same_point_and_seed() -> None:
    points = [{"path.rtt": "20 ms"}, {"path.rtt": "80 ms"}]
    runs = [each for point in points for each in tried(lambda seed: 20.0 + seed, seeds=3, point=point)]
    (thing,) = things([sweep(reversed(runs))])
    places = matched(thing)
    assert sorted(place.point["path.rtt"] for place in places) == ["20 ms", "80 ms"]
    for place in places:
        assert sorted(pair.seed for pair in place.pairs) == [1, 2, 3]
        for pair in place.pairs:
            assert pair.theirs["seed"] == pair.ours["seed"] == pair.seed
            assert pair.theirs["point"] == pair.ours["point"] == place.point


def test_points_that_are_written_in_other_units_are_the_same_point() -> None:
    ours = {"path.rtt": "550 ms", "path.rate": "16 Mbit/s"}
    theirs = {"path.rate": "16000 kbit/s", "path.rtt": "0.55 s"}
    before = sweep([run(10.0, seed=seed, point=theirs) for seed in (1, 2)], "before")
    after = sweep([run(20.0, seed=seed, point=ours) for seed in (1, 2)], "after")
    found = goodput(compare_all([before, after]))
    assert (found.pairs, found.left_out) == (2, LeftOut())


def test_what_is_in_no_pair_is_counted_by_its_reason() -> None:
    runs = [
        *tried(lambda seed: 20.0 + seed, seeds=4),
        run(variant="as is", seed=9),
        failed("tuned", 9),
        run(variant="as is", seed=10, reliable=False),
        run(variant="tuned", seed=10),
        run(variant="tuned", seed=11),
    ]
    found = goodput(compare_all([sweep(runs)]))
    assert found.pairs == 4
    assert found.left_out == LeftOut(failed=1, unreliable=1, without_partner=1)


def test_a_variant_that_is_not_run_at_every_point_leaves_nothing_out() -> None:
    everywhere = [run(seed=seed, point={"path.rtt": rtt}) for rtt in ("20 ms", "80 ms") for seed in (1, 2)]
    here = [run(20.0, variant="tuned", seed=seed, point={"path.rtt": "80 ms"}) for seed in (1, 2)]
    found = goodput(compare_all([sweep([*everywhere, *here])]))
    assert (found.pairs, found.left_out) == (2, LeftOut())
    (of_folders,) = things([sweep(everywhere, "a"), sweep(here, "b")])
    assert sum(place.left_out.without_partner for place in matched(of_folders)) == 2


def test_a_figure_that_only_one_of_two_has_makes_no_pair_of_it() -> None:
    runs = tried(lambda _seed: 20.0, seeds=3)
    runs[-1]["workloads"]["download"]["goodput_mbit_s"] = None
    found = goodput(compare_all([sweep(runs)]))
    assert found.pairs == 2
    assert found.left_out.not_known == 1


def test_a_time_that_has_no_end_is_no_number_and_is_counted() -> None:
    asked = {"spec": {"workloads": [{"name": "download", "size_bytes": 10**6}]}}
    runs = []
    for variant, times in (("as is", (8.0, 8.0, None)), ("tuned", (4.0, None, None))):
        for seed, time_s in enumerate(times):
            runs.append(run(variant=variant, seed=seed, entry={"completion_s": time_s}, **asked))
    found = next(
        each for each in compare_all([sweep(runs)]) if each.metric.name == "workload.download.completion_s"
    )
    assert found.pairs == 1
    assert found.left_out.not_finished == 2
    assert found.ratio == pytest.approx(0.5)


def test_of_several_folders_the_first_is_the_baseline_and_variants_meet_themselves() -> None:
    before = sweep([run(10.0), run(5.0, variant="tuned")], "a/out")
    after = sweep([run(20.0), run(15.0, variant="tuned"), run(1.0, variant="new")], "b/out")
    found = [each for each in compare_all([before, after]) if each.metric.role == "first"]
    assert [(each.name, each.thing.baseline, each.ratio) for each in found] == [
        ("b/out, as is", "a/out, as is", pytest.approx(2.0)),
        ("b/out, tuned", "a/out, tuned", pytest.approx(3.0)),
    ]
    assert unmatched([before, after]) == ["new"]
    turned = compare_all([before, after], baseline="b/out")
    assert turned[0].ratio == pytest.approx(0.5)


def test_a_single_variant_in_each_folder_is_compared_whatever_its_name() -> None:
    (found,) = [
        each
        for each in compare_all([sweep([run(10.0)], "a"), sweep([run(20.0, variant="BBR")], "b")])
        if each.metric.role == "first"
    ]
    assert (found.name, found.verdict, found.ratio) == ("b, BBR", NO_INTERVAL, pytest.approx(2.0))


def test_the_baseline_may_be_any_variant_of_a_folder() -> None:
    found = goodput(compare_all([sweep(tried(lambda _seed: 20.0))], baseline="tuned"))
    assert (found.name, found.ratio) == ("as is", pytest.approx(0.5))


def test_where_no_variant_is_as_is_the_first_is_the_baseline() -> None:
    runs = [run(10.0, variant="before"), run(20.0, variant="after")]
    found = goodput(compare_all([sweep(runs)]))
    assert (found.name, found.thing.baseline) == ("after", "before")


@pytest.mark.parametrize(
    ("sweeps", "baseline", "named"),
    [
        ([sweep([run()])], None, "second folder"),
        ([sweep([run(variant="a"), run(variant="b")])], "as is", '"a", "b"'),
        ([sweep(tried(lambda _seed: 1.0))], "tunde", 'did you mean "tuned"'),
        ([sweep([run()], "a"), sweep([run()], "b")], "c", '"a", "b"'),
        ([sweep([run(seed=1)], "a"), sweep([run(seed=2)], "b")], None, "seeds 2 here, 1 there"),
        (
            [sweep([run(), run(variant="x")], "a"), sweep([run(variant="y")], "b")],
            None,
            "no variant in common",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_what_would_do(
    sweeps: list[object], baseline: str | None, named: str
) -> None:
    with pytest.raises(ComparisonError, match=re.escape(named)):
        compare_all(sweeps, baseline)


def test_a_name_that_no_run_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(ComparisonError, match=r"workload\.download\.goodput_mbit_s"):
        compare_all([sweep(tried(lambda _seed: 1.0))], names=["workload.downlaod.goodput"])


def test_a_star_stands_for_one_part_of_a_name() -> None:
    found = compare_all([sweep(tried(lambda _seed: 1.0))], names=["workload.*.retransmits"])
    assert {each.metric.name for each in found} == {"workload.download.retransmits"}
    assert {each.verdict for each in found} == {IDENTICAL}


def test_runs_of_which_none_counts_are_shown_as_such_and_compared_with_nothing() -> None:
    runs = [dict(each, reliable=False) for each in tried(lambda _seed: 20.0)]
    found = goodput(compare_all([sweep(runs)]))
    assert (found.verdict, found.pairs, found.doubtful) == (NO_PAIR, 0, (10.0, 20.0))


def test_what_a_cache_had_and_what_it_had_not_are_two_things() -> None:
    def fetched(variant: str, seed: int, times: dict[str | None, float]) -> dict[str, object]:
        listed = [{"total_s": time_s, "bytes": 1, "cache": outcome} for outcome, time_s in times.items()]
        return run(variant=variant, seed=seed, entry={"kind": "http", "per_fetch": listed})

    runs = [fetched("as is", seed, {None: 8.0 + seed}) for seed in (1, 2, 3)]
    runs += [fetched("cached", seed, {"miss": 8.1 + seed, "hit": 0.1}) for seed in (1, 2, 3)]
    found = {each.name: each for each in compare_all([sweep(runs)]) if each.metric.role == "first"}
    assert found["cached, hit"].ratio == pytest.approx(0.1 / (9 * 10 * 11) ** (1 / 3))
    assert found["cached, miss"].verdict == MORE


def test_where_only_the_points_differ_the_error_names_two_of_them() -> None:
    here, there = (sweep([run(point={"path.rtt": rtt})], rtt) for rtt in ("80 ms", "0.09 s"))
    with pytest.raises(ComparisonError, match=r"such as path\.rtt = 0\.09 s here, path\.rtt = 80 ms there"):
        compare_all([here, there])
