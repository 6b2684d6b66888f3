"""A point of the grid with one seed: what one run is given."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.spec import RunSpec
from bentpipe.lab.sweep import canonical


@dataclass(frozen=True)
class Point:
    """One run to do.

    Attributes:
        lab: short name of the lab (the file's name without its suffix).
        title: the lab's line for people.
        published: key of the published figures, or None.
        variant: name of the variant, "as is" for the plain lab.
        point: the swept keys with their values as written in the lab.
        seed: seed of all that is random in this run.
        repeat_index: 0 for the first run of this cell.
        spec: the run in plain numbers.
    """

    lab: str
    title: str
    published: str | None
    variant: str
    point: dict[str, Any]
    seed: int
    repeat_index: int
    spec: RunSpec
    spec_digest: str

    @property
    def name(self) -> str:
        """The name of the run's folder: readable, safe as a file name, and unlike that of any other run.

        It ends in a digest of the whole spec, so a lab that was changed in between never takes an old run for its own.
        """
        words = [self.variant, *(_word(value) for value in self.point.values())]
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", "_".join(words).replace("_", "\0")).strip("-")
        identity = canonical([self.variant, self.point, self.spec_digest])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        return f"{readable[:80].strip('-.')}-seed{self.seed}-{digest}"


def _word(value: object) -> str:
    return value.replace(" ", "") if isinstance(value, str) else canonical(value)
