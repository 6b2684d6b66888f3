"""What the charts say that buffers allow is what `bentpipe calc` says of the same path and hosts."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic

from bentpipe.calculator.limits import limits
from bentpipe.calculator.question import ask
from bentpipe.charts.build import throughput_rtt, windows
from bentpipe.charts.build.ceilings import Ceiling
from bentpipe.charts.build.socket_samples import Socket
from bentpipe.charts.description import Role
from bentpipe.runs.schema import SOCKETS
from bentpipe.runs.store import Results
from bentpipe.words.direction import Direction

NB = "\N{NO-BREAK SPACE}"


def record(tmp_path: Path, wmem: int = 4_194_304, rmem: int = 33_554_432, **transfer: Any) -> dict[str, Any]:
    """20 Mbit/s with a queue of 256 kB, and hosts with these largest buffers."""
    found = Results.open(synthetic.run(tmp_path, rtt_ms=411, rate_bit_s=20_000_000)).records[0]
    for at in ("client", "server"):
        found["sysctl"][at] |= {
            "net.ipv4.tcp_wmem": f"4096\t16384\t{wmem}",
            "net.ipv4.tcp_rmem": f"4096\t131072\t{rmem}",
        }
    found["spec"]["path"]["down"]["queue"] = {"limit": {"unit": "bytes", "bytes": 256_000}}
    found["spec"]["workloads"][1] |= transfer
    return found


@pytest.mark.parametrize(("wmem", "rmem"), [(262_144, 33_554_432), (4_194_304, 327_680), (65_536, 65_536)])
@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize("rtt_ms", [30, 411, 550])
def test_a_ceiling_is_the_lowest_of_calcs_limits(
    tmp_path: Path, wmem: int, rmem: int, streams: int, rtt_ms: int
) -> None:
    found = limits(
        ask(
            "20 Mbit/s",
            f"{rtt_ms} ms",
            sndbuf=f"{wmem} B",
            rcvbuf=f"{rmem} B",
            streams=streams,
            queue="256 kB",
        )
    )
    calculated = {limit.name: limit.goodput_bit_s for limit in found}
    ceiling = Ceiling(record(tmp_path, wmem, rmem, streams=streams), "transfer", Direction.DOWN)
    least = min(calculated[name] for name in ("capacity", "receive window", "send buffer"))
    assert ceiling.goodput_bit_s(rtt_ms / 1000) == pytest.approx(least)


@pytest.mark.parametrize(
    ("limit", "mbit_s"),
    [
        # As docs/calc.md has them.
        ({"unit": "bytes", "bytes": 256_000}, 3.95),
        ({"unit": "bdp", "multiple": 1.0, "base_rtt_ns": 411_000_000}, 9.9),
        ({"unit": "delay", "delay_ns": 411_000_000}, 9.9),
    ],
)
def test_with_a_small_send_buffer_the_queue_decides(
    tmp_path: Path, limit: dict[str, Any], mbit_s: float
) -> None:
    found = record(tmp_path, wmem=262_144)
    found["spec"]["path"]["down"]["queue"] = {"limit": limit}
    ceiling = Ceiling(found, "transfer", Direction.DOWN)
    assert ceiling.words(0.411).replace(NB, " ") == "the send buffer, 262 kB"
    assert ceiling.goodput_bit_s(0.411) / 1e6 == pytest.approx(mbit_s, rel=0.01)


def test_a_receive_buffer_allows_the_share_that_becomes_window(tmp_path: Path) -> None:
    ceiling = Ceiling(record(tmp_path, rmem=327_680), "transfer", Direction.DOWN)
    assert ceiling.words(0.411).replace(NB, " ") == "the receive buffer, 328 kB"
    assert ceiling.goodput_bit_s(0.411) < 0.63 * 327_680 * 8 / 0.411


def test_without_sizes_of_buffers_there_is_no_ceiling(tmp_path: Path) -> None:
    found = record(tmp_path) | {"sysctl": {}}
    assert not Ceiling(found, "transfer", Direction.DOWN).is_known


@pytest.mark.parametrize(
    ("limit", "window", "words"),
    [
        ({"unit": "packets", "packets": 100}, 2 * 100 * 1448, "the delay line, 100 packets"),
        ({"unit": "bytes", "bytes": 50_000}, 2 * 50_000, "the delay line, 50 kB"),
    ],
)
def test_a_delay_line_that_holds_little_lowers_the_ceiling(
    tmp_path: Path, limit: dict[str, Any], window: float, words: str
) -> None:
    found = record(tmp_path)
    found["spec"]["path"]["down"]["propagation"] = {"delay_ns": 411_000_000 // 2, "limit": limit}
    ceiling = Ceiling(found, "transfer", Direction.DOWN)
    assert ceiling.goodput_bit_s(0.411) == pytest.approx(window * 8 / 0.411)
    assert ceiling.words(0.411).replace(NB, " ") == words


def test_the_chart_draws_each_ceiling_once_and_does_not_let_it_set_the_scale(sweep: Results) -> None:
    chart = throughput_rtt.build(sweep, log=True)
    assert chart is not None
    (down,) = (panel for panel in chart.panels if panel.name == "down")
    drawn = {series.label.replace(NB, " "): series for series in down.series if series.role is Role.CEILING}
    assert set(drawn) == {
        "allowed by the send buffer, 4.19 MB, as is",
        "allowed by the send buffer, 131 kB, 2015 buffers",
    }
    assert not any(series.sets_range for series in drawn.values())


def sender(in_flight: list[int], mss_bytes: int) -> Socket:
    """With a send buffer of 1 MB, over 411 ms."""
    count = len(in_flight)
    columns: dict[str, list[Any]] = dict.fromkeys(SOCKETS.names, [None] * count) | {
        "time_s": [i / 10 for i in range(count)],
        "host": ["server"] * count,
        "local_port": [80] * count,
        "remote_port": [40000] * count,
        "state": ["ESTAB"] * count,
        "in_flight_bytes": in_flight,
        "cwnd_segments": [1_000_000 // mss_bytes] * count,
        "mss_bytes": [mss_bytes] * count,
        "srtt_s": [0.411] * count,
        "sndbuf_bytes": [1_000_000] * count,
    }
    return Socket.of(pl.DataFrame(columns, schema=SOCKETS.schema))


@pytest.mark.parametrize(
    ("in_flight", "mss_bytes", "words"),
    [
        # Bursts of two segments: 2896 of 3728 bytes of memory are payload, so the program waits above 518 kB.
        ([500_000, 540_000], 1448, "the send buffer is full 50 % of the time"),
        # Of 17896 of 18728 bytes, above 637 kB.
        ([620_000, 650_000], 8948, "the send buffer is full 50 % of the time"),
        ([500_000, 510_000], 1448, "the send buffer is never full"),
    ],
)
def test_a_send_buffer_is_full_while_the_kernel_lets_its_program_wait(
    in_flight: list[int], mss_bytes: int, words: str
) -> None:
    found = windows.panel([sender(in_flight, mss_bytes)], [], "down")
    assert found is not None
    assert words in found.sentence.replace(NB, " ")
