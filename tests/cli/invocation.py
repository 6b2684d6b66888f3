"""The command line as a user meets it: a process of its own, with its own folder."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAIN = """
title = "A plain lab"
until = "done"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "50 ms"
"""


@dataclass(frozen=True)
class Said:
    status: int
    stdout: str
    stderr: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.stdout.splitlines()]


Command = Callable[..., Said]


def bentpipe(arguments: Sequence[str], folder: Path, **more: Any) -> Said:
    ended = subprocess.run(
        [sys.executable, "-m", "bentpipe", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **more,
    )
    return Said(ended.returncode, ended.stdout, ended.stderr)
