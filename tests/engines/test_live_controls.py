"""Congestion controls, as the live engine is asked for them."""

import pytest

from bentpipe import EngineError, Lab
from bentpipe.engines import machine
from bentpipe.engines.live import LiveEngine

LAB = '[path]\nrtt = "20 ms"\n[host]\ncongestion_control = "{}"\n[[workload]]\nkind = "bulk"\ntime = "5 s"\n'

CONTROLS = {"fixed-rate": {"name": "fixed-rate", "rate": "8 Mbit/s"}}


def _refused(control: str) -> EngineError:
    lab = Lab.loads(LAB.format("cubic")).replace("host.congestion_control", CONTROLS.get(control, control))
    with pytest.raises(EngineError) as refused:
        LiveEngine().check(lab.points()[0].spec)
    return refused.value


@pytest.mark.parametrize("control", ["bbr3", "slow-start", "fixed-rate"])
def test_one_that_only_sim_has_is_refused_without_a_module_to_load(
    monkeypatch: pytest.MonkeyPatch, control: str
) -> None:
    for loaded in (("reno", "cubic"), ()):
        monkeypatch.setattr(machine, "congestion_controls", lambda loaded=loaded: loaded)
        refused = _refused(control)
        assert f"only `sim` has '{control}'" in str(refused)
        assert refused.remedy is None


def test_one_that_linux_has_as_a_module_is_refused_with_the_command_that_loads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "congestion_controls", lambda: ("reno", "cubic"))
    assert _refused("hybla").remedy == "sudo modprobe tcp_hybla"


def test_a_kernel_that_has_loaded_one_of_that_name_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "congestion_controls", lambda: ("reno", "bbr3"))
    LiveEngine().check(Lab.loads(LAB.format("bbr3")).points()[0].spec)
