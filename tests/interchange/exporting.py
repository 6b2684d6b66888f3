"""Runs to be exported: simulated, and made up."""

from pathlib import Path

import bentpipe

LAB = """
title = "A download and an upload"
until = "done"
[path]
rtt = "60 ms"
rate = "10 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "100 ms"
start = "-1 s"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
size = "300 kB"
[sweep]
"workload.download.direction" = ["down", "up"]
"""


def simulated(folder: Path, lab: str) -> bentpipe.Results:
    """Two repeats of every point."""
    file = folder / "a-lab.toml"
    file.write_text(lab.replace("until", "repeat = 2\nuntil") if "[sweep]" in lab else lab)
    return bentpipe.Lab.load(file).run(engine="sim", out=folder / "runs")
