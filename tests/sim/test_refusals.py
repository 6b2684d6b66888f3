"""What the simulator cannot model it refuses by name, before anything runs."""

from pathlib import Path

import pytest
from simulating import LAB

import bentpipe
from bentpipe import EngineError

EXEC = '[[workload]]\nname = "it"\nkind = "exec"\ncommand = ["true"]\n'


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (EXEC, "exec"),
        ('[host.sysctl]\n"net.ipv4.tcp_mtu_probing" = "1"\n', "net.ipv4.tcp_mtu_probing"),
        ('[host]\ncongestion_control = "vegas"\n', "vegas"),
        ('[near]\nrtt = "1 ms"\n', "near"),
    ],
)
def test_what_it_cannot_do_is_named_and_nothing_is_left(tmp_path: Path, more: str, named: str) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + more)
    with pytest.raises(EngineError, match=named):
        bentpipe.Lab.load(place).run(engine="sim", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
