"""The lab of the sim engine's tests, and the kind of their fixture."""

from collections.abc import Callable

import bentpipe

LAB = """
title = "A download"
until = "done"
[path]
rtt = "100 ms"
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
size = "2 MB"
"""

Simulate = Callable[..., bentpipe.Results]
