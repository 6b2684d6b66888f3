"""What a live path can tell apart of what its tunnel carries."""

import pytest

from bentpipe.engines.live import LiveEngine
from bentpipe.engines.ports import beside_tunnel
from bentpipe.errors import EngineError
from bentpipe.lab.load import Lab
from bentpipe.lab.spec import RunSpec

LAB = """
duration = "5 s"
[tunnel]
carries = [CARRIES]
[[workload]]
name = "page"
kind = "http"
size = "50 kB"
[[workload]]
name = "both"
kind = "bulk"
direction = "both"
[[workload]]
name = "away"
kind = "ping"
enabled = false
[[workload]]
name = "ping"
kind = "ping"
[[workload]]
name = "ping2"
kind = "ping"
[[workload]]
name = "island"
kind = "channels"
channels = 2
servers = 2
size = "10 kB"
"""
EXEC = '[[workload]]\nname = "command"\nkind = "exec"\ncommand = ["true"]\n'


def spec(*carries: str, more: str = "") -> RunSpec:
    names = ", ".join(f'"{name}"' for name in carries)
    [point] = Lab.loads(LAB.replace("CARRIES", names) + more).points()
    return point.spec


def test_what_crosses_beside_is_known_by_the_port_of_its_server_or_by_icmp() -> None:
    everything = ["page", "both", "ping", "ping2", "island"]
    assert beside_tunnel(spec(*everything)) == {"tcp_ports": [], "echoes": False}
    assert beside_tunnel(spec("page")) == {"tcp_ports": [5001, 5203, 5205], "echoes": True}
    assert beside_tunnel(spec("both", "ping", "ping2")) == {"tcp_ports": [5001, 5201], "echoes": False}


@pytest.mark.parametrize(
    ("carries", "more", "said"),
    [
        (["page"], EXEC, '"command" is not in it. A command\'s packets cannot be told apart'),
        (["page", "ping"], "", '"ping" is in it and "ping2" is not'),
        (["page", "ping2"], "", '"ping2" is in it and "ping" is not'),
    ],
)
def test_workloads_that_cannot_be_told_apart_are_refused(carries: list[str], more: str, said: str) -> None:
    with pytest.raises(EngineError) as refused:
        LiveEngine().check(spec(*carries, more=more))
    assert said in str(refused.value)
    assert str(refused.value).startswith("tunnel.carries: ")


def test_a_command_may_cross_in_the_tunnel() -> None:
    LiveEngine().check(spec("page", "command", more=EXEC))
