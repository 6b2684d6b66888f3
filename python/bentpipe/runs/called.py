"""The name of a workload as people read it.

A lab that sweeps the direction of its transfer has one name for both. Where that name is `download` or
`upload` and the data went the other way, people read the other word; of runs both ways, `transfer`. Records,
tables and dotted keys keep the lab's name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bentpipe.runs.asked import direction_of
from bentpipe.words.direction import Direction

_WAYS = {"download": Direction.DOWN, "upload": Direction.UP}
_BY_WAY = {way: name for name, way in _WAYS.items()}


def called(record: Mapping[str, Any], workload: str) -> str:
    """A workload's name in words about one run."""
    way = direction_of(record, workload)
    if workload not in _WAYS or way not in _BY_WAY:
        return workload
    name = _BY_WAY[way]
    # Where the lab has a workload of that name too, this one keeps its own.
    return workload if name in record.get("workloads", {}) else name


def called_in_all(records: Iterable[Mapping[str, Any]], workload: str) -> str:
    """The same in words about several runs."""
    names = {called(record, workload) for record in records}
    return names.pop() if len(names) == 1 else "transfer" if names else workload
