"""`[split]`: what a lab may say of proxies that end TCP, and what is said of one that cannot work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bentpipe.lab import splits
from bentpipe.lab.load import Lab
from bentpipe.lab.spec import RunSpec

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

PATH = '[path]\nrtt = "550 ms"\nrate = "16 Mbit/s"\n'
WRONG: Mapping[str, Wrong] = {
    "a setting that is not the path's": (
        '[split]\npath = { congestion_contol = "bbr" }\n' + WORK,
        ":2",
        "split.path.congestion_contol",
        "an unknown key",
        'did you mean "congestion_control"?',
    ),
    "a congestion control that nobody knows": (
        '[split]\npath = { congestion_control = "warp" }\n' + WORK,
        ":2",
        "split.path.congestion_control",
        'the unknown name "warp"',
        "expected one of",
    ),
    "buffers with units": (
        '[split.path]\ntcp_rmem = "6 MB"\n' + WORK,
        ":2",
        "split.path.tcp_rmem",
        '"6 MB"',
        "three whole numbers",
    ),
    "a path that is a text": ('[split]\npath = "bbr"\n' + WORK, ":2", "split.path", '"bbr"', "table"),
    "a cache at near, which ends connections too": (
        '[near]\ncache = { size = "1 GB" }\n[split]\n' + WORK,
        ":2",
        "near.cache",
        "a cache beside [split]",
        "leave out one of them",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_split_that_cannot_work_is_an_error(wrong: Wrong, lab_file: WriteLab) -> None:
    assert_told(wrong, lab_file)


def test_a_lab_without_a_split_has_none(spec_of: Callable[..., RunSpec]) -> None:
    assert spec_of(PATH).split is None


def test_an_empty_split_takes_all_from_host(spec_of: Callable[..., RunSpec]) -> None:
    split = spec_of(
        '[host]\ncongestion_control = "hybla"\ninitcwnd = 20\n[client]\ninitcwnd = 5\n[split]\n'
    ).split
    assert split is not None
    assert split.path == split.host
    assert (split.host.congestion_control, split.host.initcwnd) == ("hybla", 20)


def test_the_path_takes_its_own_settings_and_the_rest_from_host(spec_of: Callable[..., RunSpec]) -> None:
    lab = (
        "[host]\ntcp_wmem = [4096, 16384, 1000000]\nsack = false\n"
        '[split]\npath = { congestion_control = "bbr", tcp_rmem = [4096, 65536, 8000000], initcwnd = 32 }\n'
    )
    split = spec_of(lab).split
    assert split is not None
    assert (split.host.congestion_control, split.host.tcp_rmem, split.host.initcwnd) == ("cubic", None, None)
    path = split.path
    assert (path.congestion_control, path.initcwnd, path.sack) == ("bbr", 32, False)
    assert (path.tcp_rmem, path.tcp_wmem) == ((4096, 65536, 8000000), (4096, 16384, 1000000))


def test_careful_resume_on_the_path_knows_its_bdp(spec_of: Callable[..., RunSpec]) -> None:
    control = '{ name = "cubic", slow_start = "careful-resume" }'
    split = spec_of(f"{PATH}[split]\npath = {{ congestion_control = {control} }}\n").split
    assert split is not None
    assert split.path.congestion_control_parameters["saved_cwnd"] == 1_100_000
    assert split.host.congestion_control_parameters == {}


def test_variants_and_sweeps_may_split(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(
        PATH
        + WORK
        + '[[variant]]\nname = "split"\nset = { split = {} }\n'
        + '[[variant]]\nname = "split, BBR"\nset = { "split.path.congestion_control" = "bbr" }\n'
        + '[[variant]]\nname = "both"\nset = { split = { path = { congestion_control = "bbr" } }, '
        + '"tunnel.redundancy" = 0.1 }\n'
    )
    specs = [cell.first.spec for cell in Lab.load(lab).cells()]
    found = [spec.split and spec.split.path.congestion_control for spec in specs]
    assert found == [None, "cubic", "bbr", "bbr"]
    assert specs[3].tunnel is not None
    lab.write_text(PATH + WORK + '[sweep]\n"split.path.congestion_control" = ["cubic", "bbr"]\n')
    swept = [cell.first.spec.split for cell in Lab.load(lab).cells()]
    assert [split and split.path.congestion_control for split in swept] == ["cubic", "bbr"]


def test_a_congestion_control_of_a_workload_ends_at_the_proxy_which_is_said(lab_file: WriteLab) -> None:
    own = WORK + 'congestion_control = "reno"\n'
    found = splits.warning(list(Lab.load(lab_file(f"[split]\n{own}")).cells()))
    assert found is not None
    assert found.startswith(
        "workload.download.congestion_control: holds only between the sender and the proxy"
    )
    for other in (f"[split]\n{WORK}", own):
        assert splits.warning(list(Lab.load(lab_file(other)).cells())) is None
