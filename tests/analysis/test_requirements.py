"""What is required is read as it is written, checked at every point, and never met by silence."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import Record, failed, run, sweep, tried
from rich.console import Console

from bentpipe.analysis.required import Check, check
from bentpipe.analysis.requirement import Requirement, parse
from bentpipe.errors import ComparisonError
from bentpipe.report import requirements

GOODPUT = "workload.download.goodput_mbit_s"


def checked(runs: list[Record], *texts: str) -> list[Check]:
    return check([sweep(runs)], None, [parse(text) for text in texts])


def words(checks: list[Check]) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(requirements.render(checks))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("text", "at_least", "strict", "factor", "offset"),
    [
        ("a.b >= 0.95 * baseline", True, False, 0.95, 0.0),
        ("a.b>=baseline*0.95", True, False, 0.95, 0.0),
        ("a.b <= baseline + 5", False, False, 1.0, 5.0),
        ("a.b < 2 * baseline - 1e-3", False, True, 2.0, -0.001),
        ("  a.b  >  10 ", True, True, 0.0, 10.0),
        ("a.b >= -.5", True, False, 0.0, -0.5),
        ("a.b <= baseline", False, False, 1.0, 0.0),
    ],
)
def test_a_requirement_is_a_figure_and_a_bound(
    text: str, at_least: bool, strict: bool, factor: float, offset: float
) -> None:
    assert parse(text) == Requirement(" ".join(text.split()), "a.b", at_least, strict, factor, offset)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        ">= 5",
        "a.b == 5",
        "a.b >= ",
        "a.b >= 5 Mbit/s",
        "a.b >= -1 * baseline",
        "a.b >= 0 * baseline",
        "a.b >= baseline * baseline",
        "a.b >= baseline 5",
        "a.b >= 1e999",
        "a.b >= nan",
        "a.b >= 5; import os",
        "a b >= 5",
    ],
)
def test_what_cannot_be_read_is_one_line_that_shows_it_and_what_would_do(text: str) -> None:
    with pytest.raises(ComparisonError, match="expected") as refused:
        parse(text)
    assert f'"{" ".join(text.split())}"' in str(refused.value)
    assert "\n" not in str(refused.value)


numbers = st.floats(-1e12, 1e12, allow_subnormal=False)
factors = st.floats(1e-6, 1e6)


@given(factors, numbers, st.sampled_from([">=", "<=", ">", "<"]))
def test_every_bound_that_is_written_is_read_as_it_was_meant(
    factor: float, offset: float, operator: str
) -> None:
    text = f"a.b {operator} {factor!r} * baseline {'-' if offset < 0 else '+'} {abs(offset)!r}"
    found = parse(text)
    assert (found.factor, found.offset) == (factor, offset)
    assert parse(f"a.b {operator} {offset!r}").offset == offset


@settings(max_examples=60)
@given(st.text(alphabet="a.*b<>= +-0123456789e baseline\n\"'()", max_size=40) | st.text(max_size=30))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except ComparisonError as refused:
        assert len(str(refused).splitlines()) == 1
    else:
        assert found.figure
        assert found.factor >= 0


def test_a_ratio_is_judged_over_pairs() -> None:
    runs = tried(lambda seed: 9.0 * seed, theirs=lambda seed: 10.0 * seed)
    (held,) = checked(runs, f"{GOODPUT} >= 0.89 * baseline")
    (broken,) = checked(runs, f"{GOODPUT} >= 0.91 * baseline")
    assert (held.met, held.sure, broken.met, broken.sure) == (True, True, False, True)
    assert broken.found == pytest.approx(0.9)
    assert "0.9 times the baseline" in words([broken])
    assert "more repeats would hardly change it" in words([broken])


def test_what_stands_at_the_bound_meets_it_unless_it_is_strict() -> None:
    runs = tried(lambda seed: 10.0 + seed / 3, theirs=lambda seed: 10.0 + seed / 3)
    assert [each.met for each in checked(runs, f"{GOODPUT} >= baseline", f"{GOODPUT} <= baseline")] == [
        True,
        True,
    ]
    assert [each.met for each in checked(runs, f"{GOODPUT} > baseline", f"{GOODPUT} < baseline")] == [
        False,
        False,
    ]


def test_a_broken_one_says_whether_more_repeats_could_change_it() -> None:
    runs = tried(lambda seed: 10.0 + (-1) ** seed * 3.0 - 0.5, seeds=6)
    (broken,) = checked(runs, f"{GOODPUT} >= baseline")
    assert (broken.met, broken.sure) == (False, False)
    assert "more repeats could change it: about " in words([broken])
    (single,) = checked(tried(lambda _seed: 9.0, seeds=1), f"{GOODPUT} >= baseline")
    assert (single.met, single.sure, single.low) == (False, False, None)
    assert "more repeats could change it" in words([single])


def test_every_point_is_checked_and_a_broken_one_is_named() -> None:
    runs = [
        each
        for rtt, factor in (("20 ms", 1.1), ("80 ms", 0.8))
        for each in tried(lambda _seed, factor=factor: 10 * factor, point={"path.rtt": rtt})
    ]
    found = checked(runs, f"{GOODPUT} >= 0.95 * baseline")
    assert [(each.point["path.rtt"], each.met) for each in found] == [("20 ms", True), ("80 ms", False)]
    assert "broken tuned, rtt 80 ms: 0.8 times the baseline" in words(found)


def test_a_figure_that_may_be_0_is_judged_by_its_difference() -> None:
    runs = tried(lambda _seed: 10.0)
    for each in runs:
        each["workloads"]["download"]["retransmits"] = 0 if each["variant"] == "as is" else each["seed"]
    name = "workload.*.retransmits"
    assert [each.met for each in checked(runs, f"{name} <= baseline + 3", f"{name} <= baseline + 2")] == [
        True,
        False,
    ]
    (ratio,) = checked(runs, f"{name} <= 2 * baseline")
    assert (ratio.met, ratio.found_as, ratio.found) == (False, "difference", 3.0)


def test_a_plain_number_needs_no_baseline_and_is_required_of_every_variant() -> None:
    (held,) = checked([run(10.0, seed=seed) for seed in (1, 2, 3)], f"{GOODPUT} >= 10")
    assert (held.thing, held.met, held.count) == ("as is", True, 3)
    assert [each.met for each in checked(tried(lambda _seed: 20.0), f"{GOODPUT} > 15")] == [False, True]


@pytest.mark.parametrize("requirement", [f"{GOODPUT} >= 0.5 * baseline", f"{GOODPUT} >= 1"])
def test_where_no_run_counts_nothing_is_met(requirement: str) -> None:
    runs = [dict(each, reliable=False) for each in tried(lambda _seed: 20.0)]
    found = checked(runs, requirement)
    assert found
    assert not any(each.met for each in found)
    assert "unreliable" in words(found)


def test_a_point_where_all_failed_is_not_met() -> None:
    point = {"path.rtt": "80 ms"}
    runs = tried(lambda _seed: 20.0, point={"path.rtt": "20 ms"})
    runs += [run(seed=seed, point=point) for seed in (1, 2)]
    runs += [failed("tuned", seed) | {"point": point} for seed in (1, 2)]
    found = checked(runs, f"{GOODPUT} >= baseline")
    assert [(each.point["path.rtt"], each.met) for each in found] == [("20 ms", True), ("80 ms", False)]
    assert "tuned, rtt 80 ms: 2 of 2 runs failed" in words(found)


def test_a_run_that_failed_meets_nothing_and_one_of_the_baseline_is_left_out() -> None:
    runs = tried(lambda _seed: 20.0, seeds=3)
    assert [each.met for each in checked([*runs, failed("as is", 9)], f"{GOODPUT} >= baseline")] == [True]
    (broken,) = checked([*runs, failed("tuned", 9)], f"{GOODPUT} >= baseline")
    assert (broken.met, broken.why) == (False, "1 of 4 runs failed")


def test_a_point_that_the_other_folder_lacks_is_not_met() -> None:
    before = [run(seed=seed, point={"path.rtt": rtt}) for rtt in ("20 ms", "80 ms") for seed in (1, 2)]
    after = [each for each in before if each["point"]["path.rtt"] == "20 ms"]
    found = check([sweep(before, "a"), sweep(after, "b")], None, [parse(f"{GOODPUT} >= baseline")])
    assert [(each.point["path.rtt"], each.met) for each in found] == [("20 ms", True), ("80 ms", False)]
    assert found[1].why == "it was not run here"


def test_a_bound_is_as_sharp_for_large_figures_as_for_small_ones() -> None:
    runs = tried(lambda _seed: 10.0)
    for each in runs:
        each["workloads"]["download"]["bytes"] = 10**12 - 10**8 * (each["variant"] == "tuned")
    (found,) = checked(runs, "workload.download.bytes >= baseline")
    assert not found.met


def test_a_point_at_which_a_variant_is_not_run_is_not_asked_of_it() -> None:
    runs = tried(lambda _seed: 20.0, point={"what": "file"})
    runs += [run(seed=seed, point={"what": "page"}) for seed in (1, 2)]
    assert [each.met for each in checked(runs, f"{GOODPUT} >= baseline")] == [True]


def test_a_transfer_that_was_cut_off_is_not_quick_enough() -> None:
    asked = {"spec": {"workloads": [{"name": "download", "size_bytes": 10**6}]}}
    runs = [
        run(variant=variant, seed=seed, entry={"completion_s": time_s}, **asked)
        for variant, times in (("as is", (8.0, 8.0, 8.0)), ("tuned", (4.0, 4.0, None)))
        for seed, time_s in enumerate(times)
    ]
    (found,) = checked(runs, "workload.download.completion_s <= baseline")
    assert not found.met
    assert "not done by the run's end in 1 of 3" in words([found])


def test_beside_a_baseline_that_was_never_done_nothing_is_met_and_it_is_said() -> None:
    asked = {"spec": {"workloads": [{"name": "download", "size_bytes": 10**6}]}}
    runs = [
        run(variant=variant, seed=seed, entry={"completion_s": time_s}, **asked)
        for variant, time_s in (("as is", None), ("tuned", 4.0))
        for seed in (1, 2)
    ]
    (found,) = checked(runs, "workload.download.completion_s <= baseline")
    assert not found.met
    assert "the baseline was not done by the run's end in 2 of 2" in words([found])


def test_a_figure_that_none_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(ComparisonError, match=f'did you mean "{GOODPUT}"'):
        checked(tried(lambda _seed: 20.0), "workload.download.godput_mbit_s > 1")


def test_a_figure_that_is_null_in_every_run_is_none_that_may_be_required() -> None:
    runs = tried(lambda _seed: 11.0, entry={"completion_s": None})
    with pytest.raises(ComparisonError, match="no run has a figure"):
        checked(runs, "workload.download.completion_s <= 1.1 * baseline")
