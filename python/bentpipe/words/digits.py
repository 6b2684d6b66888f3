"""Numbers with as many significant digits as a reader wants."""

import math

_THOUSANDS = "\N{NARROW NO-BREAK SPACE}"


def digits(value: float, count: int = 3) -> str:
    """`count` significant digits, never as a power of ten, no trailing zeros after the point."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = max(count - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{places}f}".replace(",", _THOUSANDS)
    return text.rstrip("0").rstrip(".") if "." in text else text
