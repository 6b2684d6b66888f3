"""What a run keeps when its channels could not go on."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bentpipe import Lab
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.host_process import Exit
from bentpipe.engines.live import _flows
from bentpipe.engines.workloads import channels
from bentpipe.lab.spec import ChannelsSpec

LAB = """
duration = "5 s"
[path]
rtt = "20 ms"
[[workload]]
name = "clients"
kind = "channels"
channels = 2
size = "10 kB"
"""


def test_only_the_workload_fails_and_the_flows_of_others_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    spec = Lab.load(tmp_path / "lab.toml").points()[0].spec
    work = spec.workloads[0]
    assert isinstance(work, ChannelsSpec)

    async def ended(_name: str) -> Exit:
        return Exit(1, None, "the disk is full", 3.0)

    bench: Any = SimpleNamespace(channels=ended, spec=spec, raw_folder=tmp_path)
    failed = asyncio.run(channels.run(work, bench))
    assert failed.why == "the disk is full"
    other = WorkloadResult({}, flows=[{"workload": "load", "ip": 4, "start_s": 0.5}])
    assert _flows([failed, other]).select("flow", "workload").rows() == [(1, "load")]
