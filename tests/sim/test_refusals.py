"""What the simulator cannot model it refuses by name, before anything runs."""

import json
from pathlib import Path

import pytest
from simulating import LAB

import bentpipe
from bentpipe import EngineError, _core, cli

EXEC = '[[workload]]\nname = "it"\nkind = "exec"\ncommand = ["true"]\n'


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (EXEC, "exec"),
        ('[host.sysctl]\n"net.ipv4.tcp_mtu_probing" = "1"\n', "net.ipv4.tcp_mtu_probing"),
        ('[host]\ncongestion_control = "vegas"\n', "vegas"),
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
name = "vegas"
set = { "host.congestion_control" = "vegas" }
[[variant]]
name = "hybla"
set = { "host.congestion_control" = "hybla" }
"""


def test_a_variant_that_it_cannot_run_is_left_out_and_said_so(tmp_path: Path) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + VARIANTS)
    with pytest.warns(UserWarning, match='variant "vegas" is left out: client: the sim engine has no'):
        results = bentpipe.Lab.load(place).run(engine="sim", out=tmp_path / "out")
    assert [run["variant"] for run in results.runs] == ["as is", "hybla"]
    assert list(json.loads((tmp_path / "out" / "lab.json").read_text())["left_out"]) == ["vegas"]


def test_a_variant_asked_for_by_name_that_it_cannot_run_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "lab.toml"
    place.write_text(LAB + VARIANTS)
    with pytest.raises(EngineError, match="vegas"):
        bentpipe.Lab.load(place, variants=["hybla", "vegas"]).run(engine="sim", out=tmp_path / "out")


def test_a_fault_of_the_simulator_is_one_message_and_leaves_nothing(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks_off(*_what: object) -> str:
        raise RuntimeError("index out of bounds")  # what a panic becomes

    monkeypatch.setattr(_core, "sim_run", breaks_off)
    argv = ["run", str(lab), "--engine", "sim", "--seed", "7", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        cli.app(argv)
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "with seed 7 by a fault of its own: index out of bounds" in said
    assert not (tmp_path / "out").exists()
