"""What a program of the workload `http` is asked to carry, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Item:
    """One object or file to carry. `number` is its own within the workload and stands in its URL."""

    number: int
    visit: int
    object: int
    """Of a set from 1, the most popular; of a page in its order; else 1."""
    size_bytes: int


FlowOutcome = Literal["finished", "unfinished", "failed"]


@dataclass(frozen=True)
class Transfer:
    """An item's, or a range's, way over one connection. Times on the run's clock."""

    item: Item
    server: str
    size_bytes: int | None
    local_port: int | None
    remote_port: int
    start_s: float
    connected_s: float | None
    """None: the connection existed already, or it is unknown."""
    first_byte_s: float | None
    end_s: float | None
    bytes: int
    outcome: FlowOutcome
    why: str | None
    header_bytes: int = 0
    """Of the answer, as far as known."""
    retransmits: int | None = None
    cache: str | None = None
    """`hit` or `miss`; None: no cache."""


def visits(
    *, fetches: int, objects_bytes: Sequence[int] | None, size_bytes: int | None, drawn: Sequence[int] | None
) -> list[list[Item]]:
    """What is fetched, visit by visit: the page, or the file, or one object of the set."""
    sizes = objects_bytes if objects_bytes is not None else [size_bytes or 0]
    return [
        [
            Item(
                visit * len(sizes) + place,
                visit,
                drawn[visit] if drawn is not None else place + 1,
                size,
            )
            for place, size in enumerate(sizes)
        ]
        for visit in range(fetches)
    ]
