"""Units of one quantity: those of a publication and ours."""

_BIT_S = {"Mbit/s": 1e6, "KiB/s": 8 * 1024.0, "B/s": 8.0}


def per_unit(unit: str, shown: str) -> float:
    """By what a figure in `unit` is multiplied to be one in `shown`. Raises KeyError for two quantities."""
    return 1.0 if unit == shown else _BIT_S[unit] / _BIT_S[shown]
