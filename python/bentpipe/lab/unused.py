"""Parts of a lab that no workload uses: a cache without fetches."""

from collections.abc import Iterable

from bentpipe.lab.point import CellRuns
from bentpipe.lab.spec import RunSpec


def warning(cells: Iterable[CellRuns]) -> str | None:
    """A sentence on it. None: all is used in every cell."""
    unused = [cache_is_unused(cell.first.spec) for cell in cells]
    if not any(unused):
        return None
    where = "" if all(unused) else f" in {sum(unused)} of {len(unused)} points"
    return (
        f'near.cache: only workloads of kind "http" use the cache, and there is none{where}; it does nothing'
    )


def cache_is_unused(spec: RunSpec) -> bool:
    has_cache = spec.near is not None and spec.near.cache_bytes is not None
    return has_cache and not any(work.kind == "http" for work in spec.workloads)
