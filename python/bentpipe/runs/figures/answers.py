"""Figures of a workload `interactive`: how long each message waited for its whole answer."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from bentpipe.runs.figures.times import percentile


def answers(delays_ms: Sequence[float], unanswered: int) -> dict[str, Any]:
    """Of the answered messages, and how many others there were. The percentiles are those of times.py."""
    return {
        "sent": len(delays_ms) + unanswered,
        "unanswered": unanswered,
        "min_ms": min(delays_ms, default=None),
        **{f"p{percent}_ms": percentile(delays_ms, percent) for percent in (50, 95, 99)},
        "max_ms": max(delays_ms, default=None),
        "mean_ms": fmean(delays_ms) if delays_ms else None,
    }
