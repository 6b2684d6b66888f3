"""What the simulator cannot model it refuses by name, before anything runs."""

import json
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
        ('[host]\ncongestion_control = "yeah"\n', "yeah"),
    ],
)
def test_what_it_cannot_do_is_named_and_nothing_is_left(tmp_path: Path, more: str, named: str) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + more)
    with pytest.raises(EngineError, match=named):
        bentpipe.Lab.load(place).run(engine="sim", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


VARIANTS = """
[[variant]]
name = "yeah"
set = { "host.congestion_control" = "yeah" }
[[variant]]
name = "hybla"
set = { "host.congestion_control" = "hybla" }
"""


def test_a_variant_that_it_cannot_run_is_left_out_and_said_so(tmp_path: Path) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + VARIANTS)
    said = r'variant "yeah" is left out: client\.congestion_control: found "yeah", which `sim` does not model'
    with pytest.warns(UserWarning, match=said):
        results = bentpipe.Lab.load(place).run(engine="sim", out=tmp_path / "out")
    assert [run["variant"] for run in results.records] == ["as is", "hybla"]
    assert list(json.loads((tmp_path / "out" / "lab.json").read_text())["left_out"]) == ["yeah"]


def test_a_variant_asked_for_by_name_that_it_cannot_run_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + VARIANTS)
    with pytest.raises(EngineError, match="yeah"):
        bentpipe.Lab.load(place, variants=["hybla", "yeah"]).run(engine="sim", out=tmp_path / "out")
