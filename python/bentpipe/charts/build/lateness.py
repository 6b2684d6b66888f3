"""The engine's own error: how much later than in the model packets left."""

from collections.abc import Mapping
from typing import Any

from bentpipe.charts.description import Axis, Chart, Mark, Panel, Role, Series
from bentpipe.words.wording import duration, plural


def build(record: Mapping[str, Any]) -> Chart | None:
    """None where nothing could be late, as in virtual time."""
    error = record.get("engine_error") or {}
    bins = [(upper, count) for upper, count in error.get("lateness_histogram") or [] if upper > 0]
    if not any(count for _, count in bins):
        return None
    uppers = [float(upper) for upper, _ in bins]
    lowers = [uppers[0] / 2, *uppers[:-1]]
    counts = [count or None for _, count in bins]
    series = Series("packets", [*lowers, uppers[-1]], [*counts, counts[-1]], Role.ENGINE, Mark.STEPS)
    return Chart(
        name=f"lateness-{record.get('run', '')}",
        title="How late packets left",
        sentence=sentence(error),
        x=Axis("after the model's time", "µs", log=True),
        panels=(
            Panel("lateness", "How late packets left", sentence(error), Axis("packets", "", True), (series,)),
        ),
    )


def sentence(error: Mapping[str, Any]) -> str:
    half, most, worst = (error.get(f"lateness_us_{name}") for name in ("p50", "p99", "max"))
    if half is None or most is None:
        return ""
    close, nearly = duration(half / 1e6), duration(most / 1e6)
    text = f"Half of the packets left within {close} of the model's time, 99 of 100 within {nearly}"
    if worst is not None:
        text += f", the latest {duration(worst / 1e6)}"
    count = error.get("lateness_count")
    return f"{text}; {plural(count, 'departure')} measured." if count else f"{text}."
