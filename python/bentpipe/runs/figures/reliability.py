"""Whether a run is reliable: the engine's own error report compared with the lab's limits."""

from collections.abc import Mapping
from typing import Any

from bentpipe.runs.figures import host_waits
from bentpipe.words.digits import digits


def assess(engine_error: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[bool, list[str]]:
    """(reliable, why not): one sentence for each limit passed. What the engine owes and does not say counts.

    `limits` has `lateness_p99_s`, `unintended_loss` (packets) and `rate_error` (a share); one that is absent
    or null does not bind. `rate_error` may be null in the report: the path then has no rate. `host_waits`
    says what the limits of the hosts are.
    """
    why = [
        sentence
        for sentence in (
            _lateness(engine_error, limits.get("lateness_p99_s")),
            _loss(engine_error, limits.get("unintended_loss")),
            _rate(engine_error, limits.get("rate_error")),
        )
        if sentence
    ]
    why += host_waits.why_not(engine_error, limits)
    return not why, why


def _lateness(engine_error: Mapping[str, Any], limit_s: float | None) -> str | None:
    if limit_s is None or engine_error.get("lateness_count") == 0:
        return None
    late_us = engine_error.get("lateness_us_p99")
    if late_us is None:
        return "The engine did not say how late packets left."
    if late_us <= limit_s * 1e6:
        return None
    return (
        f"One packet in a hundred left {_late(late_us)} or more after the model's time; "
        f"the limit is {_late(limit_s * 1e6)}. The machine was too busy for this path."
    )


def _loss(engine_error: Mapping[str, Any], limit: int | None) -> str | None:
    if limit is None:
        return None
    lost = engine_error.get("unintended_loss")
    if lost is None:
        return "The engine did not count what was lost outside the model."
    if lost <= limit:
        return None
    places = engine_error.get("unintended_loss_by") or {}
    where = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in places.items() if n)
    count = "1 packet was" if lost == 1 else f"{lost} packets were"
    return f"{count} lost outside the model{f' ({where})' if where else ''}; the limit is {limit}."


def _rate(engine_error: Mapping[str, Any], limit: float | None) -> str | None:
    error = engine_error.get("rate_error")
    if limit is None or error is None or abs(error) <= limit:
        return None
    found, most = digits(abs(error) * 100, 2), digits(limit * 100, 2)
    return f"The rate was {found} % off the one configured; the limit is {most} %."


def _late(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.2f} s"
    return f"{digits(us / 1000)} ms" if us >= 1000 else f"{us:.0f} µs"
