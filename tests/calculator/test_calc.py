"""The calculator: its formulas against measured rows, its refusals, its settings, and the packets' word."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from bentpipe import LabError, calc
from bentpipe.analysis.statistics import Estimate
from bentpipe.calculator import advice, packets
from bentpipe.calculator.calculation import Calculation
from bentpipe.calculator.limits import window_share
from bentpipe.calculator.question import ask
from bentpipe.calculator.words import render
from bentpipe.words.digits import digits
from bentpipe.words.plain import text

MEASURED = [
    # A kernel 6.18 over 411 ms: what was asked, what binds, Mbit/s measured.
    ({"rate": "150 Mbit/s"}, "send buffer", 65.0),
    ({"rate": "20 Mbit/s", "sndbuf": "256 KiB"}, "send buffer", 9.43),
    ({"rate": "20 Mbit/s", "sndbuf": "256 KiB", "program": "long"}, "send buffer", 9.94),
    ({"rate": "20 Mbit/s", "sndbuf": "512 KiB"}, "send buffer", 10.9),
    ({"rate": "20 Mbit/s", "sndbuf": "64 KiB", "program": "short"}, "send buffer", 1.21),
    ({"rate": "20 Mbit/s", "sndbuf": "256 KiB", "program": "short"}, "send buffer", 3.50),
    ({"rate": "150 Mbit/s", "rcvbuf": "12582912 B", "sndbuf": "12582912 B"}, "capacity", 144),
    # SO_RCVBUF = 655360, which the kernel doubles.
    ({"rate": "150 Mbit/s", "rcvbuf": "1310720 B"}, "receive window", 15.8),
    ({"rate": "100 Mbit/s", "loss": 1e-3, "cc": "reno"}, "loss (Mathis)", 1.09),
    ({"rate": "100 Mbit/s", "loss": 1e-3}, "loss (CUBIC)", 2.80),
    ({"rate": "100 Mbit/s", "loss": 3e-4}, "loss (CUBIC)", 6.8),
]


def shown(found: Calculation) -> str:
    return text(render(found, 120))


@pytest.mark.parametrize(("asked", "binds", "mbit_s"), MEASURED)
def test_what_binds_is_what_bound_a_kernel(asked: dict[str, str], binds: str, mbit_s: float) -> None:
    found = calc(rtt="411 ms", sim=False, **asked)  # type: ignore[arg-type]
    assert found.binds.name == binds
    assert found.goodput_bit_s / 1e6 == pytest.approx(mbit_s, rel=0.06)


def test_a_window_of_640_kilobytes_gives_the_published_rate() -> None:
    window_bytes = 640 * 1024
    rcvbuf = round(window_bytes / window_share(1500))
    found = calc("20 Mbit/s", "411 ms", rcvbuf=f"{rcvbuf} B", sim=False)
    assert found.goodput_bit_s == pytest.approx(window_bytes * 8 / 0.411, rel=1e-3)


def test_streams_multiply_windows_and_losses_but_not_the_link() -> None:
    one, four = (calc("100 Mbit/s", "150 ms", loss=1e-3, streams=n, sim=False).limits for n in (1, 4))
    ratios = [b.goodput_bit_s / a.goodput_bit_s for a, b in zip(one, four, strict=True)]
    assert [ratios[0], ratios[1], *ratios[3:]] == pytest.approx([1, 4, 4, 4])


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
        ({"queue": "100"}, "--queue"),
        ({"queue": "1 kB"}, "at least one packet of 1500 B"),
        ({"queue": "unlimited"}, "--queue"),
        ({"rate_up": "0 Mbit/s"}, "--rate-up"),
        ({"time": "0 s"}, "--time"),
        ({"mtu": 100}, "--mtu"),
        ({"program": "shorts"}, 'did you mean "short"'),
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


def test_a_buffer_of_the_question_that_is_too_small_is_named_with_both_ways_to_raise_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "tcp_rmem").write_text("4096\t131072\t33554432\n")
    asked = ask("20 Mbit/s", "411 ms", rcvbuf="320 KiB")
    (change,) = advice.changes(asked, advice.settings(asked, tmp_path))
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in change.lines]
    assert lines[0] == "Raise the receive buffer from 328 kB to at least 2.06 MB."
    assert "    net.ipv4.tcp_rmem = 4096 131072 33554432" in lines
    assert "    SO_RCVBUF = 1027500" in lines
    assert "    net.core.rmem_max = 1027500" in lines


def test_buffers_that_are_large_enough_need_no_change() -> None:
    asked = ask("20 Mbit/s", "100 ms")
    assert advice.changes(asked, advice.settings(asked)) == []


@pytest.mark.parametrize("program", ["iperf3", "long", "short"])
def test_the_packets_agree_where_a_send_buffer_binds(program: str) -> None:
    found = calc("20 Mbit/s", "411 ms", sndbuf="256 KiB", program=program)
    assert found.binds.name == "send buffer"
    assert found.agrees


@pytest.mark.parametrize("program", ["iperf3", "long", "short"])
def test_the_packets_know_of_several_streams(program: str) -> None:
    found = calc("20 Mbit/s", "411 ms", rcvbuf="64 KiB", program=program, streams=2, size="2 MB")
    one = calc("20 Mbit/s", "411 ms", rcvbuf="64 KiB", program=program, streams=1, size="2 MB")
    assert found.packet_level is not None and one.packet_level is not None
    assert found.packet_level.goodput_bit_s.median > 1.5 * one.packet_level.goodput_bit_s.median
    assert found.packet_level.completion_s is not None and one.packet_level.completion_s is not None
    assert found.packet_level.completion_s.median < 0.8 * one.packet_level.completion_s.median


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_figure_is_cut_on_a_narrow_terminal(columns: int) -> None:
    found = calc("20 Mbit/s", "411 ms", rate_up="100 kbit/s", queue="100 kB", rcvbuf="320 KiB", sim=False)
    lines = [line.text for line in render(found, columns)]
    assert max(map(len, lines)) <= columns
    for limit in found.limits:
        (row,) = [line for line in lines if line.startswith(f"{limit.name} ")]
        assert f" {digits(limit.goodput_bit_s / 1e6)} " in row
    assert "    SO_RCVBUF = 1027500" in lines


def test_a_program_that_writes_short_blocks_keeps_within_its_send_buffer() -> None:
    short, long = (
        calc("20 Mbit/s", "411 ms", sndbuf="256 KiB", program=program, sim=False).goodput_bit_s
        for program in ("short", "long")
    )
    in_a_round_trip = 256 * 1024 * 8 / 0.411
    assert 2 / 3 * 0.7 * in_a_round_trip < short < in_a_round_trip
    assert long > 1.8 * in_a_round_trip


@pytest.mark.parametrize("cc", ["reno", "cubic"])
@pytest.mark.parametrize(
    ("rate", "rtt", "queue"),
    [
        ("16 Mbit/s", "550 ms", "100 kB"),
        ("20 Mbit/s", "100 ms", "0.1 bdp"),
        ("5 Mbit/s", "300 ms", "0.5 bdp"),
    ],
)
def test_the_packets_agree_where_a_short_queue_binds(cc: str, rate: str, rtt: str, queue: str) -> None:
    found = calc(rate, rtt, queue=queue, cc=cc, time="30 s")
    assert found.binds.name == "queue"
    assert found.agrees
    assert found.average_agrees


def test_a_reno_flow_keeps_three_quarters_of_a_link_without_a_queue_and_all_of_it_with_one_bdp() -> None:
    shares = []
    for queue in ("0.02 bdp", "1 bdp"):
        found = calc("50 Mbit/s", "200 ms", queue=queue, cc="reno", sim=False)
        (limit,) = (each for each in found.limits if each.name == "queue")
        shares.append(limit.goodput_bit_s / found.limits[0].goodput_bit_s)
    assert shares == pytest.approx([0.75, 1.0], abs=0.02)


def test_a_queue_does_not_bind_a_window_that_does_not_fill_it() -> None:
    found = calc("20 Mbit/s", "411 ms", rcvbuf="320 KiB", queue="0.1 bdp", sim=False)
    assert found.binds.name == "receive window"


def test_bbr_is_bound_by_no_formula_of_a_queue() -> None:
    found = calc("20 Mbit/s", "100 ms", queue="0.1 bdp", cc="bbr", sim=False)
    assert found.binds.name == "capacity"


def test_slow_acks_are_named_but_bind_nothing() -> None:
    found = calc("100 Mbit/s", "50 ms", rate_up="1 Mbit/s", sim=False)
    (limit,) = (each for each in found.limits if each.name == "ACK path")
    assert limit.goodput_bit_s == pytest.approx(1e6 * 2 * 1448 / 52)
    assert limit.note == "ACKs drop above"
    assert found.binds.name == "capacity"


BEYOND_FORMULAS = [
    # What is asked, and the limit that no formula answers.
    ({"rate": "50 Mbit/s", "rtt": "20 ms", "queue": "2 bdp", "rate_up": "64 kbit/s"}, "ACK path"),
    ({"rate": "10 Mbit/s", "rtt": "60 ms", "rate_up": "128 kbit/s"}, "ACK path"),
    ({"rate": "10 Mbit/s", "rtt": "600 ms", "rate_up": "128 kbit/s"}, "ACK path"),
    ({"rate": "5 Mbit/s", "rtt": "20 ms", "queue": "0.3 bdp"}, "queue"),
    ({"rate": "5 Mbit/s", "rtt": "20 ms", "queue": "0.3 bdp", "cc": "bbr"}, "queue"),
    ({"rate": "1 Mbit/s", "rtt": "20 ms", "queue": "2 packets", "cc": "reno", "loss": 1e-2}, "queue"),
]


@pytest.mark.parametrize(("asked", "limit"), BEYOND_FORMULAS)
def test_where_no_formula_holds_the_packets_are_the_answer(asked: dict[str, Any], limit: str) -> None:
    found = calc(**asked, time="5 s", size="100 kB")
    level = found.packet_level
    assert level is not None and level.completion_s is not None and level.average_bit_s is not None
    assert not found.formula_holds
    assert found.goodput_bit_s == level.goodput_bit_s.median < found.binds.goodput_bit_s
    assert (found.agrees, found.completion_agrees, found.average_agrees) == (None, None, None)
    answer = found.as_json()
    assert answer["goodput_mbit_s"] == level.goodput_bit_s.median / 1e6
    assert answer["completion_s"] == level.completion_s.median
    assert answer["average_mbit_s"] == level.average_bit_s.median / 1e6
    assert [each["name"] for each in answer["limits"] if each["binds"]] == [answer["binds"]] == [limit]
    assert answer["next"] == {"name": None, "times": None}
    assert (answer["slow_start_s"], answer["sim"]["ratio"], answer["sim"]["formula_mbit_s"]) == (
        None,
        None,
        None,
    )
    assert [each["name"] for each in answer["limits"] if not each["holds"]] == ["queue"] * (limit == "queue")
    text = shown(found)
    assert text.index("Packet by packet") < text.index("No formula holds here") < text.index("\ncapacity ")
    assert "agree" not in text
    assert "binds" not in text


@pytest.mark.parametrize(
    "asked",
    [
        {"queue": "10 packets"},
        {"queue": "2 packets", "rcvbuf": "16 KiB"},
        {"rate_up": "100 kbit/s"},
    ],
    ids=["ten packets", "a window that fills no queue", "ACKs that all pass"],
)
def test_formulas_hold_where_nothing_is_beyond_them(asked: dict[str, Any]) -> None:
    found = calc("5 Mbit/s", "60 ms", **asked, sim=False)
    assert found.formula_holds
    assert found.goodput_bit_s == found.binds.goodput_bit_s


def test_a_link_for_acks_that_is_as_fast_as_calc_says_lets_every_ack_pass() -> None:
    slow = calc("10 Mbit/s", "60 ms", rate_up="128 kbit/s", sim=False)
    assert slow.beyond_formulas is not None
    (needed,) = re.findall(r"\d+ kbit/s", slow.beyond_formulas.remedy)
    assert calc("10 Mbit/s", "60 ms", rate_up=needed).agrees


def test_the_packets_agree_within_a_fixed_share() -> None:
    assert packets.AGREES_WITHIN == 0.15
    measured = [100.0, 85.1, 114.9, 84.9, 115.1]
    agreed = [packets.agrees(100.0, Estimate(rate, rate, rate, 0.0, 1)) for rate in measured]
    assert agreed == [True, True, True, False, False]


def test_slow_acks_are_simulated() -> None:
    fast, slow = (calc("100 Mbit/s", "50 ms", rate_up=up).packet_level for up in ("100 Mbit/s", "200 kbit/s"))
    assert fast is not None
    assert slow is not None
    assert slow.goodput_bit_s.median < 0.8 * fast.goodput_bit_s.median


@pytest.mark.parametrize("mtu", [576, 9000])
def test_the_packets_agree_with_segments_of_other_sizes(mtu: int) -> None:
    found = calc("20 Mbit/s", "411 ms", rcvbuf="512 KiB", mtu=mtu)
    assert found.binds.name == "receive window"
    assert found.agrees


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


def test_where_only_the_first_seconds_differ_the_answer_says_which_to_trust() -> None:
    found = calc("16 Mbit/s", "700 ms", queue="100 kB", time="30 s")
    assert (found.agrees, found.average_agrees) == (True, False)
    assert "If they differ, trust the simulation." in shown(found)


def test_where_loss_binds_next_a_longer_queue_is_not_said_to_help() -> None:
    found = calc("16 Mbit/s", "550 ms", queue="100 kB", loss=0.001, sim=False)
    assert found.binds.name == "queue"
    assert found.next is not None
    assert found.next.is_of_loss
    assert "What would help: bbr, which single losses do not slow.\n" in shown(found)
    assert "alone allows 1.02 times as much: then loss (CUBIC) binds." in shown(found)


def test_the_answer_is_one_json_object() -> None:
    found = json.loads(json.dumps(calc("20 Mbit/s", "411 ms", size="1 MB").as_json(), allow_nan=False))
    assert found["binds"] == "capacity"
    assert found["bdp_bytes"] == 20e6 / 8 * 0.411
    assert [each["name"] for each in found["limits"]] == ["capacity", "receive window", "send buffer"]
    assert found["sim"]["agrees"] in {True, False}


def test_json_has_no_rate_where_no_formula_holds_and_nothing_was_simulated() -> None:
    asked: dict[str, Any] = {
        "rate": "5 Mbit/s",
        "rtt": "20 ms",
        "queue": "0.3 bdp",
        "time": "5 s",
        "size": "1 MB",
    }
    answer = calc(**asked, sim=False).as_json()
    rates = [answer[key] for key in ("goodput_mbit_s", "average_mbit_s", "completion_s", "sim")]
    assert rates == [None] * 4
    assert answer["next"] == {"name": None, "times": None}


def test_json_names_the_next_limit_and_its_headroom() -> None:
    found = calc("20 Mbit/s", "411 ms", sndbuf="256 KiB", sim=False)
    ordered = sorted(found.limits, key=lambda limit: limit.goodput_bit_s)
    times = ordered[1].goodput_bit_s / ordered[0].goodput_bit_s
    assert found.as_json()["next"] == {"name": ordered[1].name, "times": times}
    assert all(limit["holds"] for limit in found.as_json()["limits"])


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
