"""What can be said in figures of each kind of work: one file per kind, one line here.

The order is that of the tables of a report.
"""

from collections.abc import Sequence

from bentpipe.results.kinds.bulk import BULK
from bentpipe.results.kinds.channels import CHANNELS
from bentpipe.results.kinds.exec import EXEC
from bentpipe.results.kinds.http import HTTP
from bentpipe.results.kinds.measure import Kind, Measure, Record
from bentpipe.results.kinds.ping import PING
from bentpipe.results.kinds.pipe import PIPE

KINDS: Sequence[Kind] = (BULK, HTTP, CHANNELS, PIPE, PING, EXEC)

__all__ = ["KINDS", "Kind", "Measure", "Record"]
