"""Durations as people read them: "5 s", "2 min 10 s", "4 h 05 min", "12 days"."""

_LONGEST_YEARS = 100
_DAY_S = 86_400
_YEAR_S = 365 * _DAY_S


def spoken(seconds: float) -> str:
    """The duration in at most two units; above 100 years only that it is more."""
    if seconds > _LONGEST_YEARS * _YEAR_S:
        return f"more than {_LONGEST_YEARS} years"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours = minutes // 60
    return f"{hours} h {minutes % 60:02d} min" if hours < 48 else f"{round(whole / _DAY_S)} days"
