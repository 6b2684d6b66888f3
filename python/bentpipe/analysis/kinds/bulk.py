"""Long transfers: goodput. The time to the last byte is used only if it was published."""

import math

from bentpipe.analysis.kinds.costs import COSTS
from bentpipe.analysis.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of
from bentpipe.runs.asked import workload_spec

_completion_s = entry("completion_s")


def _until_done_s(record: Record, workload: str) -> list[float]:
    """Infinite where the run ended before the transfer: a median without it is of quick ones only."""
    found = _completion_s(record, workload)
    has_an_end = workload_spec(record, workload).get("size_bytes") is not None
    return found or ([math.inf] if has_an_end and workload in record["workloads"] else [])


COMPLETION = Measure("completion", "time", "s", _until_done_s, more_is_better=False, key="completion_s")
BULK = Kind(
    "bulk",
    "Transfers",
    (GOODPUT, RETRANSMITS),
    workloads_of("bulk"),
    (COMPLETION,),
    COSTS,
    counted="Goodput is a transfer's payload at its receiver over the transfer's own time, without what the "
    "lab leaves out (omit).",
)
