"""The runs in a folder of imports: their tests, and their numbers among the repeats."""

import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

from bentpipe.lab.grid.meaning import PointMeaning, point_meaning

Record = Mapping[str, Any]


class ExistingRuns:
    """Runs of one variant and point count as repeats of one thing."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.tests: dict[str, str] = {}
        """The run that a test is, by the test's digest."""
        self.last_number = 0
        """The highest with which a run's name begins."""
        self._repeats: dict[tuple[str, PointMeaning], list[tuple[str, int, dict[str, Any]]]] = {}
        """Run, seed and what was asked, by variant and point."""
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        digest = (record.get("source") or {}).get("digest")
        if digest:
            self.tests[digest] = record["run"]
        number = re.match(r"\d+", record["run"])
        self.last_number = max(self.last_number, int(number.group()) if number else 0)
        repeats = self._repeats.setdefault(_thing(record["variant"], record["point"]), [])
        repeats.append((record["run"], record["seed"], _asked(record)))

    def seeds(self, variant: str, point: Mapping[str, Any]) -> Set[int]:
        return {seed for _, seed, _ in self._repeats.get(_thing(variant, point), ())}

    def mixtures(self, new: Set[str]) -> list[str]:
        """A sentence for each setting in which the new runs differ from the repeats they join."""
        found = []
        for (variant, _), repeats in self._repeats.items():
            first = repeats[0][2]
            differ = [key for key in first if len({repr(asked[key]) for _, _, asked in repeats}) > 1]
            if differ and any(run in new for run, _, _ in repeats):
                found.append(
                    f'the {len(repeats)} runs of "{variant}" count as repeats of one thing, but '
                    f"differ in {', '.join(differ)}; tell them apart by --variant or --point"
                )
        return found


def _thing(variant: str, point: Mapping[str, Any]) -> tuple[str, PointMeaning]:
    return variant, point_meaning(point)


def _asked(record: Record) -> dict[str, Any]:
    asked = record.get("spec", {}).get("workloads", [])
    transfers = [each for each in asked if each.get("kind") == "bulk"]
    return {
        "host": (record.get("source") or {}).get("host"),
        "work": list(record.get("workloads", {})),
        "streams": [each.get("streams") for each in transfers],
        "length": [(each.get("size_bytes"), each.get("time_ns")) for each in transfers],
    }
