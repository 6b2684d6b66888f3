"""Keystrokes: how long a message waits for its answer. The slow ones are those that a person notices."""

import math

from bentpipe.analysis.kinds.measure import Kind, Measure, Record, entry, workloads_of


def _percentile(percent: int) -> Measure:
    """Infinite where so many messages have no answer that it is one of theirs."""
    key = f"p{percent}_ms"
    known = entry(key)

    def values(record: Record, workload: str) -> list[float]:
        figures = record["workloads"].get(workload, {})
        sent, unanswered = figures.get("sent") or 0, figures.get("unanswered") or 0
        return [math.inf] if unanswered * 100 > (100 - percent) * sent else known(record, workload)

    return Measure(
        f"delay p{percent}",
        f"p{percent}",
        "ms",
        values,
        more_is_better=False,
        digits=4,
        tail=percent > 50,
        key=key,
    )


INTERACTIVE = Kind(
    "interactive",
    "Keystrokes",
    (
        _percentile(99),
        _percentile(95),
        _percentile(50),
        Measure("longest delay", "max", "ms", entry("max_ms"), more_is_better=False, digits=4, key="max_ms"),
        Measure("messages", "sent", "", entry("sent"), key="sent"),
        Measure("unanswered", "unanswered", "", entry("unanswered"), more_is_better=False, key="unanswered"),
    ),
    workloads_of("interactive"),
    counted="A delay is from writing a message to the last byte of its answer. p99 needs 100 messages.",
)
