"""TCP that is split, as the live engine is asked for it."""

from pathlib import Path

import pytest

from bentpipe import EngineError, Lab
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.live import LiveEngine, setup

LAB = """
[path]
rtt = "550 ms"
[host]
congestion_control = "reno"
tcp_rmem = [4096, 131072, 6291456]
[[workload]]
kind = "bulk"
time = "5 s"
[split]
"""
PATH = 'path = { congestion_control = "cubic", tcp_rmem = [4096, 200000, 400000], initcwnd = 32 }\n'


def test_the_long_leg_differs_from_the_hosts_in_what_the_lab_says(tmp_path: Path) -> None:
    split = setup(Lab.loads(LAB + PATH).points()[0], EngineOptions(), tmp_path)["split"]
    hosts, path = split["hosts"], split["path"]
    assert (hosts["congestion_control"], path["congestion_control"]) == ("reno", "cubic")
    assert (hosts["initcwnd"], path["initcwnd"]) == (None, 32)
    assert hosts["sysctl"]["net.ipv4.tcp_rmem"] == "4096 131072 6291456"
    assert path["sysctl"] == hosts["sysctl"] | {"net.ipv4.tcp_rmem": "4096 200000 400000"}


def test_a_parameter_of_the_long_legs_congestion_control_is_refused_with_its_key() -> None:
    beta = 'path = { congestion_control = { name = "cubic", beta = 0.8 } }\n'
    with pytest.raises(EngineError, match=r"^split\.path: congestion_control\.beta: .* cannot set it"):
        LiveEngine().check(Lab.loads(LAB + beta).points()[0].spec)


def test_near_of_a_split_can_be_captured() -> None:
    LiveEngine(EngineOptions(pcap=("near",))).check(Lab.loads(LAB).points()[0].spec)
