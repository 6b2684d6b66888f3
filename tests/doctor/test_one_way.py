"""Waits on one way, by time stamps of a clock whose rate and offset are not known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.doctor.one_way import one_way_waits

SENT_S = np.arange(0.0, 20.0, 0.02)
TICK_S = 1e-3


def ticks(sent_s: np.ndarray, tick_s: float = TICK_S) -> np.ndarray:
    return np.floor((sent_s + 1234.5678) / tick_s)


@given(
    grows_to_s=st.floats(0.0, 2.0),
    offset_s=st.floats(-1e4, 1e4),
    drift=st.floats(-5e-5, 5e-5),
    every_s=st.sampled_from([1e-6, 1e-3]),
)
def test_waits_are_found_whatever_the_offset_and_the_drift(
    grows_to_s: float, offset_s: float, drift: float, every_s: float
) -> None:
    """A queue that fills from the tenth second on, and empties in the last five."""
    waits = np.clip((SENT_S - 10) / 5, 0, 1) * grows_to_s * (SENT_S < 15)
    found = one_way_waits((SENT_S + 0.1 + waits + offset_s) * (1 + drift), ticks(SENT_S, every_s))
    assert found is not None
    assert np.abs(found - waits).max() <= 2 * TICK_S + grows_to_s * 1e-4


@pytest.mark.parametrize("every_s", [0.01, 0.1, 0.5])
def test_a_coarse_clock_tells_nothing(every_s: float) -> None:
    assert one_way_waits(SENT_S, ticks(SENT_S, every_s)) is None


def test_what_is_not_known_stays_unknown() -> None:
    said = ticks(SENT_S)
    said[::2] = np.nan
    found = one_way_waits(SENT_S, said)
    assert found is not None
    assert np.isnan(found[::2]).all()
    assert np.isfinite(found[1::2]).all()


@pytest.mark.parametrize("said", [np.zeros(SENT_S.size), np.full(SENT_S.size, np.nan), -ticks(SENT_S)])
def test_a_clock_that_stands_still_or_runs_backwards_tells_nothing(said: np.ndarray) -> None:
    assert one_way_waits(SENT_S, said) is None
