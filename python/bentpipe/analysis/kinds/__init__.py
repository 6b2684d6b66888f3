"""The figures of each kind of workload: one file per kind, one line here.

The order is that of the tables of a report.
"""

from collections.abc import Sequence

from bentpipe.analysis.kinds.bulk import BULK
from bentpipe.analysis.kinds.call import CALL
from bentpipe.analysis.kinds.channels import CHANNELS
from bentpipe.analysis.kinds.exec import EXEC
from bentpipe.analysis.kinds.http import HTTP
from bentpipe.analysis.kinds.interactive import INTERACTIVE
from bentpipe.analysis.kinds.measure import Kind, Measure, Record
from bentpipe.analysis.kinds.ping import PING
from bentpipe.analysis.kinds.pipe import PIPE

KINDS: Sequence[Kind] = (BULK, HTTP, CHANNELS, INTERACTIVE, CALL, PIPE, PING, EXEC)

__all__ = ["KINDS", "Kind", "Measure", "Record"]
