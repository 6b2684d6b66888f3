"""Tests of live runs on a machine that does other work too."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

TIMES = 3


def repeated(test: Callable[[], object], folder: Path, on_repeat: Callable[[str], object]) -> None:
    """Does the test, and repeats it while it fails on a run that says itself that it is unreliable.

    `folder`: where the test's runs are. It is emptied before each repeat. The last failure counts.
    """
    for _ in range(TIMES - 1):
        try:
            test()
        except AssertionError:
            why = unreliable(folder)
            if not why:
                raise
            on_repeat(" ".join(why))
            for each in folder.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        else:
            return
    test()


def unreliable(folder: Path) -> list[str]:
    """Why the runs in the folder that came to their end call themselves unreliable."""
    records = [json.loads(path.read_text()) for path in sorted(folder.rglob("run.json"))]
    return [
        why
        for record in records
        if record["status"] == "done" and not record["reliable"]
        for why in record["why"]
    ]
