"""The layout of a folder of runs: names of files, and the order of the runs."""

import re

RECORD = "run.json"
LAB = "lab.json"
RUNS = "runs.parquet"
"""The table of runs, made from the records and only ever an index to them."""
STAGING_SUFFIX = ".part"
"""A run being written is `.<name>.part`."""


def by_number(name: str) -> list[tuple[int, str]]:
    """Key that sorts runs by their names, numbers by value."""
    return [(int(part or 0) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]
