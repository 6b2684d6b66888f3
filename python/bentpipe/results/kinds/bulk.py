"""Long transfers: goodput; the time to the last byte only where it is what was published."""

from bentpipe.results.kinds.costs import COSTS
from bentpipe.results.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, entry, workloads_of

COMPLETION = Measure("completion", "time", "s", entry("completion_s"), more_is_better=False)
BULK = Kind("bulk", "Transfers", (GOODPUT, RETRANSMITS), workloads_of("bulk"), (COMPLETION,), COSTS)
