"""Sweeps, variants, seeds and options become points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.lab.load import Lab
from bentpipe.lab.spec import BulkSpec

from .conftest import WORK

WriteLab = Callable[[str], Path]
GRID = (
    WORK
    + """
[sweep]
"path.rtt" = ["11 ms", "30 ms"]
"workload.download.direction" = ["up", "down"]
[[variant]]
name = "no sack"
set = { "host.sack" = false }
"""
)


def test_a_grid_is_every_combination_crossed_with_the_variants_and_the_plain_lab(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(GRID)).points()
    cells = [(point.variant, *point.point.values()) for point in points]
    assert cells == [
        (variant, rtt, direction)
        for variant in ("as is", "no sack")
        for rtt in ("11 ms", "30 ms")
        for direction in ("up", "down")
    ]


def test_a_point_says_its_values_as_the_lab_has_them_and_its_spec_in_plain_numbers(
    lab_file: WriteLab,
) -> None:
    point = Lab.load(lab_file(GRID)).points()[-1]
    assert point.point == {"path.rtt": "30 ms", "workload.download.direction": "down"}
    assert point.spec.path.base_rtt_ns == 30_000_000
    assert (point.spec.client.sack, point.spec.server.sack) == (False, False)


def test_a_lab_without_a_sweep_is_one_point(lab_file: WriteLab) -> None:
    (point,) = Lab.load(lab_file(WORK)).points()
    assert (point.variant, point.point, point.seed, point.lab, point.title) == ("as is", {}, 1, "x", "x")


def test_each_repeat_has_a_seed_of_its_own_and_the_same_spec(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file("seed = 7\nrepeat = 3\n" + WORK)).points()
    assert [(point.seed, point.repeat_index) for point in points] == [(7, 0), (8, 1), (9, 2)]
    assert len({point.spec.model_dump_json() for point in points}) == 1


def test_seed_and_repeat_can_be_given_instead_of_the_labs(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file("seed = 7\nrepeat = 3\n" + WORK), seed=40, repeat=2).points()
    assert [point.seed for point in points] == [40, 41]
    assert [point.seed for point in Lab.load(lab_file(WORK), set=["repeat=2"]).points()] == [1, 2]


def test_a_set_on_a_swept_key_pins_it(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(GRID), set=["path.rtt=550 ms"], variants=["as is"]).points()
    assert [point.point for point in points] == [
        {"path.rtt": "550 ms", "workload.download.direction": direction} for direction in ("up", "down")
    ]


def test_a_set_holds_in_every_variant(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(GRID), set=["host.sack=true"]).points()
    assert {point.spec.client.sack for point in points} == {True}


NAMED = (
    WORK
    + """
[sweep]
"workload.download.direction" = ["up", "down"]
[sweep.orbit]
GEO = { "path.rtt" = "550 ms", "path.rate" = "16 Mbit/s" }
"4" = { "path.rtt" = "40 ms" }
none = {}
[[variant]]
name = "streams"
set = { "workload.download.streams" = 4 }
only = { orbit = ["GEO"], "workload.download.direction" = ["down"] }
"""
)


def test_a_named_axis_is_a_set_of_changes_per_name_and_points_show_the_names(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(NAMED), variants=["as is"], set=["workload.download.direction=up"]).points()
    assert [point.point["orbit"] for point in points] == ["GEO", "4", "none"]
    assert [(point.spec.path.base_rtt_ns, point.spec.path.rate_up_bit_s) for point in points] == [
        (550_000_000, 16_000_000),
        (40_000_000, None),
        (0, None),
    ]


@pytest.mark.parametrize("written", ["GEO", '"GEO"', "4"])
def test_a_named_axis_is_pinned_by_the_name_of_a_value(lab_file: WriteLab, written: str) -> None:
    points = Lab.load(lab_file(NAMED), set=[f"orbit={written}"], variants=["as is"]).points()
    assert [point.point["orbit"] for point in points] == [written.strip('"')] * 2


def test_a_variant_is_crossed_only_with_the_values_that_it_says(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(NAMED)).points()
    assert len(points) == 7
    assert [point.point for point in points if point.variant == "streams"] == [
        {"workload.download.direction": "down", "orbit": "GEO"}
    ]
    pinned = Lab.load(lab_file(NAMED), set=["orbit=4"])
    assert {point.variant for point in pinned.points()} == {"as is"}


def test_a_set_goes_before_what_a_named_axis_changes(lab_file: WriteLab) -> None:
    points = Lab.load(lab_file(NAMED), set=["path.rtt=1 ms"]).points()
    assert {point.spec.path.base_rtt_ns for point in points} == {1_000_000}


def test_a_workload_that_is_not_enabled_is_left_out(lab_file: WriteLab) -> None:
    text = WORK + '[[workload]]\nname = "rival"\nkind = "bulk"\nenabled = false\ntime = "2 s"\n'

    def names(*sets: str) -> list[str]:
        return [work.name for work in Lab.load(lab_file(text), set=sets).points()[0].spec.workloads]

    assert names() == ["download"]
    assert names("workload.rival.enabled=true") == ["download", "rival"]
    assert names("workload.rival.enabled=true", "workload.download.enabled=false") == ["rival"]


def test_what_is_not_enabled_needs_no_end(lab_file: WriteLab) -> None:
    text = WORK + '[[workload]]\nname = "rival"\nkind = "bulk"\nenabled = false\n'
    assert Lab.load(lab_file(text)).points()[0].spec.duration_ns is None


def test_a_transfer_can_have_a_congestion_control_of_its_own(lab_file: WriteLab) -> None:
    text = '[host]\ncongestion_control = "bbr"\n' + WORK + 'congestion_control = "cubic"\n'
    (point,) = Lab.load(lab_file(text)).points()
    (download,) = point.spec.workloads
    assert isinstance(download, BulkSpec)
    assert (download.congestion_control, point.spec.server.congestion_control) == ("cubic", "bbr")


def test_chosen_variants_run_alone_in_the_labs_order(lab_file: WriteLab) -> None:
    assert Lab.load(lab_file(GRID), variants=["no sack"]).variants == ("no sack",)
    assert Lab.load(lab_file(GRID), variants=["no sack", "as is"]).variants == ("as is", "no sack")


def test_a_value_is_read_as_toml_and_else_as_text(lab_file: WriteLab) -> None:
    sets = ["path.down.loss=0.01", "path.rtt=30 ms", 'title="a = b"', "host.tcp_rmem=[4096, 8192, 9000]"]
    lab = Lab.load(lab_file(WORK), set=sets)
    (point,) = lab.points()
    assert point.spec.path.down["channel"]["loss"] == {"model": "bernoulli", "p": 0.01}
    assert point.spec.path.up["channel"]["loss"] == {"model": "none"}
    assert point.spec.path.base_rtt_ns == 30_000_000
    assert point.spec.client.tcp_rmem == (4096, 8192, 9000)
    assert lab.title == "a = b"


def test_a_key_below_a_short_form_makes_it_the_long_table(lab_file: WriteLab) -> None:
    file = lab_file('[path]\nrate = "8 Mbit/s"\nqueue = "90 kB"\n' + WORK)
    path = Lab.load(file, set=["path.queue.discipline=codel", "path.rate.burst=9 kB"]).points()[0].spec.path
    assert path.down["queue"]["limit"] == {"unit": "bytes", "bytes": 90_000}
    assert path.down["queue"]["discipline"]["name"] == "codel"
    assert path.down["shaper"] == {
        "kind": "token_bucket",
        "rate_bit_s": 8_000_000,
        "burst_bytes": 9000,
        "peak_bit_s": None,
    }


def test_a_key_that_the_file_does_not_have_can_be_set_and_swept(lab_file: WriteLab) -> None:
    text = WORK + '[sweep]\n"path.up.delay" = ["5 ms", "7 ms"]\n"client.initcwnd" = [10, 100]\n'
    points = Lab.load(lab_file(text), set=["near.cache.size=1 GB"]).points()
    assert [point.spec.path.base_rtt_ns for point in points] == [5_000_000, 5_000_000, 7_000_000, 7_000_000]
    assert [point.spec.client.initcwnd for point in points] == [10, 100, 10, 100]
    assert [point.spec.server.initcwnd for point in points] == [None] * 4
    assert {point.spec.near.cache_bytes for point in points if point.spec.near} == {10**9}


def test_a_sysctl_is_one_key_with_its_dots(lab_file: WriteLab) -> None:
    (point,) = Lab.load(lab_file(WORK), set=["host.sysctl.net.ipv4.tcp_mtu_probing=1"]).points()
    assert point.spec.client.other_sysctl == {"net.ipv4.tcp_mtu_probing": "1"}


def test_a_variant_may_change_what_lies_below_a_swept_table(lab_file: WriteLab) -> None:
    text = WORK + '[sweep]\n"path.rate" = ["8 Mbit/s"]\n[[variant]]\nname = "aqm"\n'
    text += 'set = { "path.queue.discipline" = "codel" }\n'
    points = Lab.load(lab_file(text)).points()
    assert [point.spec.path.down["queue"]["discipline"]["name"] for point in points] == ["fifo", "codel"]


def test_one_cell_does_not_change_another(lab_file: WriteLab) -> None:
    text = WORK + '[path]\nloss = { model = "bernoulli", p = 0.5 }\n[sweep]\n"path.loss.p" = [0.1, 0.2]\n'
    lab = Lab.load(lab_file(text))
    losses = [point.spec.path.up["channel"]["loss"]["p"] for point in lab.points()]
    assert losses == [0.1, 0.2]
