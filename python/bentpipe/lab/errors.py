"""A value of a lab that will not do, where its place in the lab is not known yet."""

from __future__ import annotations


class FaultError(ValueError):
    """A value that will not do, raised where only the value is known; whoever knows its place makes a
    `LabError`.

    Attributes:
        found: what stands there, or None to show the value itself.
        remedy: what was expected.
        key: where below the checked value the fault lies ("" for the value itself).
    """

    def __init__(self, remedy: str, *, found: str | None = None, key: str = "") -> None:
        self.remedy = remedy
        self.found = found
        self.key = key
        super().__init__(remedy)
