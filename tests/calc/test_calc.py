"""The calculator: its formulas against measured rows, its refusals, its settings, and the packets' word."""

import json
import math
from pathlib import Path

import pytest

from bentpipe import LabError, calc
from bentpipe.calculator import advice
from bentpipe.calculator.question import ask

MEASURED = [
    # A kernel 6.18 over 411 ms: what was asked, what binds, Mbit/s measured.
    ({"rate": "150 Mbit/s"}, "send buffer", 53),
    ({"rate": "150 Mbit/s", "rcvbuf": "12582912 B"}, "send buffer", 53),
    ({"rate": "150 Mbit/s", "rcvbuf": "12582912 B", "sndbuf": "12582912 B"}, "capacity", 144),
    # SO_RCVBUF = 655360, which the kernel doubles.
    ({"rate": "150 Mbit/s", "rcvbuf": "1310720 B"}, "receive window", 15.8),
    ({"rate": "100 Mbit/s", "loss": 1e-3, "cc": "reno"}, "loss (Mathis)", 1.09),
    ({"rate": "100 Mbit/s", "loss": 1e-3}, "loss (CUBIC)", 2.80),
    ({"rate": "100 Mbit/s", "loss": 3e-4}, "loss (CUBIC)", 6.8),
]


@pytest.mark.parametrize(("asked", "binds", "mbit_s"), MEASURED)
def test_what_binds_is_what_bound_a_kernel(asked: dict[str, str], binds: str, mbit_s: float) -> None:
    found = calc(rtt="411 ms", sim=False, **asked)  # type: ignore[arg-type]
    assert found.binds.name == binds
    assert found.goodput_bit_s / 1e6 == pytest.approx(mbit_s, rel=0.05)


def test_a_window_of_640_kilobytes_gives_the_published_rate() -> None:
    window_bytes = 640 * 1024
    found = calc("20 Mbit/s", "411 ms", rcvbuf=f"{round(window_bytes / 0.62)} B", sim=False)
    assert found.goodput_bit_s == pytest.approx(window_bytes * 8 / 0.411, rel=1e-3)


def test_streams_multiply_windows_and_losses_but_not_the_link() -> None:
    one, four = (calc("100 Mbit/s", "150 ms", loss=1e-3, streams=n, sim=False).limits for n in (1, 4))
    ratios = [b.goodput_bit_s / a.goodput_bit_s for a, b in zip(one, four, strict=True)]
    assert ratios == pytest.approx([1, 4, 4, 4, 4])


def test_cubic_is_bound_by_mathis_where_that_gives_more() -> None:
    short = calc("1 Gbit/s", "10 ms", loss=1e-3, sim=False)
    assert short.binds.name == "loss (Mathis)"


def test_bbr_is_bound_by_no_formula_of_loss() -> None:
    found = calc("100 Mbit/s", "100 ms", loss=1e-3, cc="bbr", sim=False)
    assert found.binds.name == "capacity"
    assert [each.applies for each in found.limits if each.is_of_loss] == [False, False]


def test_slow_start_is_log2_of_windows_in_round_trips() -> None:
    found = calc("20 Mbit/s", "400 ms", sim=False)
    window_segments = 20e6 * 0.4 / 8 / 1500
    assert found.slow_start_s == pytest.approx(0.4 * math.log2(window_segments / 10))


def test_a_size_that_fits_ten_segments_takes_two_round_trips() -> None:
    found = calc("1 Gbit/s", "100 ms", size="10 kB", sim=False)
    assert found.transfer is not None
    assert found.transfer.completion_s == pytest.approx(0.2, abs=1e-3)


def test_a_slow_start_that_meets_a_loss_carries_less_than_one_that_does_not() -> None:
    carried = [
        calc("100 Mbit/s", "100 ms", loss=loss, size="50 MB", sim=False).transfer for loss in (0.0, 1e-2)
    ]
    assert carried[0] is not None
    assert carried[1] is not None
    assert carried[1].in_slow_start_bytes < carried[0].in_slow_start_bytes
    assert carried[1].completion_s > 5 * carried[0].completion_s


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rate": "-5 Mbit/s"}, '--rate: found "-5 Mbit/s", which is not above zero'),
        ({"rate": "0 Mbit/s"}, "--rate"),
        ({"rate": "5"}, "a number without a unit"),
        ({"rtt": "0 ms"}, "--rtt"),
        ({"rtt": "-1 ms"}, "--rtt"),
        ({"loss": 1}, "at 1 nothing arrives"),
        ({"loss": "1.0"}, "at 1 nothing arrives"),
        ({"loss": -0.1}, "--loss"),
        ({"loss": "nan"}, "--loss"),
        ({"loss": "1%"}, "--loss"),
        ({"streams": 0}, "--streams"),
        ({"streams": 129}, "--streams"),
        ({"cc": "cubik"}, 'did you mean "cubic"'),
        ({"size": "0 B"}, "--size"),
        ({"rcvbuf": "10 B"}, "--rcvbuf"),
        ({"sndbuf": "3 GiB"}, "--sndbuf"),
    ],
)
def test_what_is_impossible_is_refused_by_name(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(LabError) as refused:
        ask(**({"rate": "5 Mbit/s", "rtt": "10 ms"} | wrong))  # type: ignore[arg-type]
    assert says in str(refused.value)
    assert str(refused.value).startswith("calc: --")


def test_a_setting_is_never_lowered(tmp_path: Path) -> None:
    (tmp_path / "tcp_rmem").write_text("4096\t131072\t33554432\n")
    (tmp_path / "tcp_wmem").write_text("4096\t16384\t4194304\n")
    receive, send = advice.settings(ask("100 Mbit/s", "411 ms"), tmp_path)
    assert receive.is_enough
    assert receive.line == "net.ipv4.tcp_rmem = 4096 131072 33554432"
    assert send.line == "net.ipv4.tcp_wmem = 4096 16384 10275000"
    assert not send.is_enough


def test_where_there_is_no_such_setting_linux_defaults_stand(tmp_path: Path) -> None:
    assert [each.here for each in advice.settings(ask("1 Mbit/s", "10 ms"), tmp_path)] == [False, False]


def test_the_packets_agree_where_a_window_binds() -> None:
    found = calc("20 Mbit/s", "411 ms", rcvbuf="320 KiB", size="5 MB")
    assert found.agrees
    assert found.completion_agrees


def test_the_packets_are_heard_where_formulas_leave_timeouts_out() -> None:
    found = calc("10 Mbit/s", "20 ms", loss=0.1)
    assert found.agrees is False
    assert found.packet_level is not None
    assert found.packet_level.goodput_bit_s.median < found.goodput_bit_s


def test_the_answer_is_one_json_object() -> None:
    found = json.loads(json.dumps(calc("20 Mbit/s", "411 ms", size="1 MB").as_json(), allow_nan=False))
    assert found["binds"] == "capacity"
    assert found["bdp_bytes"] == 20e6 / 8 * 0.411
    assert [each["name"] for each in found["limits"]] == ["capacity", "receive window", "send buffer"]
    assert found["sim"]["agrees"] in {True, False}


def test_a_path_on_which_nothing_arrives_is_answered_with_no_rate() -> None:
    found = calc("1 Mbit/s", "100 ms", loss=0.99, size="100 kB")
    assert found.packet_level is not None
    assert found.packet_level.goodput_bit_s.median == 0.0
    assert found.packet_level.completion_s is None


def test_a_size_beyond_what_can_be_simulated_is_answered_by_the_formulas_alone() -> None:
    found = calc("20 Mbit/s", "411 ms", size="1 TB")
    assert found.transfer is not None
    assert found.packet_level is not None
    assert found.packet_level.completion_s is None
