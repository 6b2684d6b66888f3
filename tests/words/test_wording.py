"""Figures and units in sentences."""

from bentpipe.words.wording import unbroken

NB = "\N{NO-BREAK SPACE}"


def test_no_line_ends_between_a_figure_and_its_unit_and_elsewhere_any_may() -> None:
    words = (
        "20 % slower, −11 to +13 %; queue delay −1.03 ms; 1.5 times as fast; +12 percentage points; "
        "5 runs at 2 Mbit/s"
    )
    assert unbroken(words) == (
        f"20{NB}% slower, −11 to +13{NB}%; queue delay −1.03{NB}ms; 1.5{NB}times as fast; "
        f"+12{NB}percentage points; 5 runs at 2{NB}Mbit/s"
    )
