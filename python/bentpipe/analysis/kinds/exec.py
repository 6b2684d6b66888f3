"""Commands: their run time and exit status."""

from bentpipe.analysis.kinds.measure import Kind, Measure, entry, workloads_of

EXEC = Kind(
    "exec",
    "Commands",
    (
        Measure("duration", "took", "s", entry("duration_s"), more_is_better=False, key="duration_s"),
        Measure("status", "exit\nstatus", "", entry("status"), more_is_better=False, key="status"),
    ),
    workloads_of("exec"),
)
