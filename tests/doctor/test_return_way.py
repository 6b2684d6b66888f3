"""On which way packets wait: the one whose rate is constant."""

import numpy as np
import pytest

from bentpipe.doctor.return_way import Spreads, spreads

TIME_S = np.arange(0.0, 20.0, 0.1)
STEADY = 1000 * TIME_S
VARYING = 1000 * TIME_S + 800 * np.sin(TIME_S)
A_LITTLE = 1000 * TIME_S + 35 * np.sin(TIME_S)
"""Its rate varies by 7 %."""


def seen(
    segments: np.ndarray,
    acks: np.ndarray | None,
    standing: np.ndarray | None = None,
    *,
    nothing_late: bool = False,
) -> Spreads | None:
    return spreads(
        time_s=TIME_S,
        connection=np.zeros(TIME_S.size, dtype=np.int64),
        segments=segments,
        acks=acks,
        standing=np.ones(TIME_S.size, bool) if standing is None else standing,
        base_s=0.1,
        nothing_late=nothing_late,
    )


@pytest.mark.parametrize(
    ("segments", "acks", "on_return"),
    [
        (VARYING, STEADY / 2, True),
        (STEADY, VARYING / 2, False),
        (STEADY, STEADY / 2, False),
        (VARYING, VARYING / 2, False),
        (VARYING, None, True),
        (STEADY, None, False),
        (A_LITTLE, STEADY / 2, True),
        (A_LITTLE, A_LITTLE / 2, False),
        (A_LITTLE, None, False),
    ],
)
def test_the_queue_is_on_the_way_with_the_constant_rate(
    segments: np.ndarray, acks: np.ndarray | None, on_return: bool
) -> None:
    found = seen(segments, acks)
    assert found is not None
    assert found.waits_on_return is on_return


@pytest.mark.parametrize(("nothing_late", "on_return"), [(True, True), (False, False)])
def test_a_receiver_needs_less_where_no_segment_came_late(nothing_late: bool, on_return: bool) -> None:
    found = seen(A_LITTLE, None, nothing_late=nothing_late)
    assert found is not None
    assert found.waits_on_return is on_return


def test_over_slow_paths_windows_are_shorter() -> None:
    """100 segments in 20 s are two windows of 40."""
    found = seen(5 * TIME_S + 4 * np.sin(TIME_S), 5 * TIME_S)
    assert found is not None
    assert found.exact == pytest.approx(0.1, abs=0.02)
    assert found.waits_on_return


def test_nothing_is_said_where_no_queue_stood_long_enough() -> None:
    assert seen(VARYING, STEADY, np.arange(TIME_S.size) < 5) is None


def test_of_connections_that_share_a_queue_the_sum_counts() -> None:
    """Each one's rate varies, and both together have what the queue serves."""
    one, other = 500 * TIME_S + 400 * np.sin(TIME_S), 500 * TIME_S - 400 * np.sin(TIME_S)
    found = spreads(
        time_s=np.concatenate((TIME_S, TIME_S)),
        connection=np.repeat([0, 1], TIME_S.size),
        segments=np.concatenate((one, other)),
        acks=None,
        standing=np.ones(2 * TIME_S.size, bool),
        base_s=0.1,
        nothing_late=False,
    )
    assert found is not None
    assert not found.waits_on_return


def test_behind_a_queue_each_window_has_as_many_segments_as_the_one_before() -> None:
    """The path's rate is another one after a while, and 45 segments in a window count to two only."""
    rates = np.where(TIME_S < 7, 240.0, np.where(TIME_S < 14, 180.0, 225.0))
    found = seen(np.floor(np.cumsum(rates * 0.1)), None)
    assert found is not None
    assert found.served_evenly
    with_acks = seen(np.floor(225 * TIME_S + 30 * np.sin(3 * TIME_S)), None)
    assert with_acks is not None
    assert not with_acks.served_evenly
