"""The pings of a flent file that are numbered: ping's own, and irtt's.

1. flent keeps answers only. A number that is missing is a ping that was lost; when it was sent is not known.
   Those after the last answer cannot be told from pings that were never sent.
2. An answer that came twice counts once.
"""

from collections.abc import Sequence

from bentpipe.interchange.foreign import Found
from bentpipe.interchange.imported import Row

_MOST = 1_000_000


def rows(values: Sequence[Found], zero_s: float) -> list[Row]:
    """In the order of their numbers, from 1. None where they have no numbers."""
    numbered: dict[int, Found] = {}
    for value in values:
        number = value["seq"].count()
        if number is not None:
            numbered.setdefault(number, value)
    if not numbered:
        return []
    first, last = min(numbered), max(numbered)
    if last - first >= _MOST:
        raise numbered[last]["seq"].fault(f"expected a number less than {_MOST} above the first")
    nothing = Found(None, "")
    found = []
    for number in range(first, last + 1):
        value = numbered.get(number, nothing)
        ms = value["val"].positive()
        row = {"time_s": value["t"].since(zero_s, "T0"), "rtt_s": None if ms is None else ms / 1000}
        found.append(row | {"sequence": number - first + 1})
    return found
