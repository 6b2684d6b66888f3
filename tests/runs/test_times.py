"""Percentiles of few values, and what of a fetch's time its server thought."""

import pytest

from bentpipe.runs.figures.times import Request, of_fetches, percentile, seconds_goodput, think_s, times


@pytest.mark.parametrize(("percent", "least"), [(50, 1), (95, 20), (99, 100), (5, 20), (1, 100)])
def test_a_percentile_takes_so_many_values_that_one_lies_beyond_it(percent: float, least: int) -> None:
    values = [float(value) for value in range(least)]
    found = percentile(values, percent)
    assert found is not None
    assert sum(value >= found if percent >= 50 else value <= found for value in values) >= 1
    assert percentile(values[1:], percent) is None


def test_with_too_few_values_for_a_percentile_the_largest_is_given() -> None:
    found = times([1.0, 2.0, 9.0], not_finished=1)
    assert found == {"count": 3, "not_finished": 1, "p50_s": 2.0, "p95_s": None, "p99_s": None, "max_s": 9.0}


def test_no_values_have_no_percentiles() -> None:
    assert set(times([]).values()) == {0, None}


def test_the_tail_of_a_rate_is_that_of_the_slow_seconds() -> None:
    found = seconds_goodput([float(rate) for rate in range(100, 200)])
    assert found["p1_mbit_s"] < found["p5_mbit_s"] < found["p50_mbit_s"]
    assert (found["min_mbit_s"], found["max_mbit_s"], found["count"]) == (100.0, 199.0, 100)


def test_of_one_request_the_server_thought_as_long_as_it_thinks() -> None:
    assert think_s([Request(1.0, 2.0, 3.0, 0.5)]) == pytest.approx(0.5)


def test_what_another_request_carries_meanwhile_is_transfer_time() -> None:
    waits, carries = Request(0.0, 2.0, 3.0, 1.0), Request(0.0, 0.5, 1.5, 0.0)
    assert think_s([waits, carries]) == pytest.approx(0.5)


def test_requests_that_wait_at_once_are_counted_once() -> None:
    assert think_s([Request(0.0, 2.0, 3.0, 1.0)] * 6) == pytest.approx(1.0)


def test_requests_one_after_another_are_all_counted() -> None:
    assert think_s([Request(0.0, 2.0, 3.0, 1.0), Request(3.0, 5.0, 6.0, 1.0)]) == pytest.approx(2.0)


def test_of_a_request_without_an_end_nothing_is_known() -> None:
    assert think_s([Request(0.0, 1.0, None, 0.5)]) is None
    assert think_s([Request(0.0, None, 1.0, 0.5)]) is None
    assert think_s([]) == 0


def fetch(start_s: float, total_s: float | None, think: float = 0.0) -> dict[str, float | None]:
    transfer_s = None if total_s is None else total_s - think
    return {"start_s": start_s, "total_s": total_s, "think_s": think, "transfer_s": transfer_s}


def test_thinking_and_pauses_are_apart_from_transfer() -> None:
    found = of_fetches([fetch(0.0, 2.0, 0.5), fetch(3.0, 4.0, 0.5)], 0.0, 7.0)
    assert (found["think_s"], found["pause_s"]) == (1.0, 1.0)
    assert (found["fetch_times"]["max_s"], found["transfer_times"]["max_s"]) == (4.0, 3.5)


def test_a_fetch_that_the_end_cuts_off_is_no_pause_and_no_time() -> None:
    found = of_fetches([fetch(0.0, 2.0), fetch(2.5, None)], 0.0, 10.0)
    assert found["pause_s"] == pytest.approx(0.5)
    assert (found["fetch_times"]["count"], found["fetch_times"]["not_finished"]) == (1, 1)
