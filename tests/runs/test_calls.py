"""A call's figures: the E-model at known points and as a property, and jitter by RFC 3550."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.runs.figures.calls import call_figures, direction_figures, jitter_s
from bentpipe.runs.figures.e_model import delay_impairment, loss_impairment, mean_opinion_score, rating

DELAYS_MS = st.floats(0, 5_000)
LOSSES = st.floats(0, 1)


POINTS = [(93.2, 4.409), (90, 4.339), (80, 4.024), (70, 3.597), (60, 3.1), (50, 2.575)]
"""By hand, from the polynomial."""


@pytest.mark.parametrize(("r", "mos"), POINTS)
def test_the_score_is_the_polynomial_of_annex_b(r: float, mos: float) -> None:
    assert mean_opinion_score(r) == pytest.approx(mos, abs=0.0006)


def test_the_defaults_give_93_2_and_short_delays_do_not_impair() -> None:
    assert rating(0, 0) == rating(100, 0) == pytest.approx(93.2)
    # Where x is 1 (200 ms) and 2 (400 ms) the equation in closed form.
    assert delay_impairment(200) == pytest.approx(25 * (2 ** (1 / 6) - 3 * (1 + 3**-6) ** (1 / 6) + 2))
    assert delay_impairment(400) == pytest.approx(
        25 * (65 ** (1 / 6) - 3 * (1 + (2 / 3) ** 6) ** (1 / 6) + 2)
    )


def test_loss_impairs_half_of_95_at_bpl() -> None:
    assert loss_impairment(0.251) == pytest.approx(47.5)
    assert loss_impairment(0.043, concealed=False) == pytest.approx(47.5)


@given(DELAYS_MS, DELAYS_MS, LOSSES, LOSSES, st.booleans())
def test_more_delay_or_loss_is_never_better(
    delay: float, more_delay: float, loss: float, more_loss: float, concealed: bool
) -> None:
    delay, more_delay = sorted((delay, more_delay))
    loss, more_loss = sorted((loss, more_loss))
    better, worse = (
        rating(delay, loss, concealed=concealed),
        rating(more_delay, more_loss, concealed=concealed),
    )
    assert 0 <= worse <= better + 1e-9 <= 100 + 1e-9
    assert 1 <= mean_opinion_score(worse) <= mean_opinion_score(better) + 1e-9 <= 4.5 + 1e-9


def test_jitter_is_rfc_3550s_estimate() -> None:
    # Transit times 100, 116, 100 ms: |D| is 16 ms twice. J is 1, then 1 + 15/16.
    packets = [(0.0, 0.1), (0.02, 0.116), (0.04, 0.1)]
    assert jitter_s(packets) == pytest.approx((0.001 + 0.001 + 0.0009375) / 2)
    assert jitter_s([(0.02 * n, 0.1) for n in range(100)]) == 0


def test_what_comes_after_its_playout_is_late() -> None:
    packets = [(0.02 * n, 0.1) for n in range(90)] + [(1.8 + 0.02 * n, 0.2) for n in range(10)]
    figures = direction_figures(packets, playout_s=0.06, interval_s=0.02, concealed=True)
    assert figures["loss"] == 0
    assert figures["late_loss"] == pytest.approx(0.1)
    assert figures["r"] == pytest.approx(rating(180, 0.1))
    enough = direction_figures(packets, playout_s=0.15, interval_s=0.02, concealed=True)
    assert enough["late_loss"] == 0


def test_the_call_is_as_good_as_its_worse_direction_and_nothing_at_all_is_1() -> None:
    good = [(0.02 * n, 0.05) for n in range(100)]
    figures = call_figures(good, [(0.0, None)] * 10, playout_s=0.06, interval_s=0.02, concealed=True)
    assert figures["down"]["mos"] > 4.3
    assert figures["mos"] == figures["up"]["mos"] == 1
    nothing = call_figures([], [], playout_s=0.06, interval_s=0.02, concealed=True)
    assert nothing["mos"] is None
