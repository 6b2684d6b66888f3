"""A short queue: the formula beside `sim`, for the first minute and for a longer run."""

import itertools
import statistics
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bentpipe

HERE = Path(__file__).parent
_AMPLE = "500 MB"
"""A buffer that never binds here."""
_FIRST = "60 s"


@dataclass(frozen=True)
class Found:
    """One cell: errors are (formula - sim) / sim."""

    words: str
    congestion_control: str
    queue_packets: float
    first_minute_error: float
    long_run_error: float


def table() -> str:
    grid = tomllib.loads((HERE / "grid.toml").read_text(encoding="utf-8"))["queues"]
    cells = itertools.product(
        grid["congestion_control"], grid["rate_mbit_s"], grid["rtt_ms"], grid["queue_bdp"]
    )
    found = [each for cell in cells if (each := _cell(cell))]
    lines = [
        f"{len(found)} cells: {_listed(grid['rate_mbit_s'])} Mbit/s; RTT {_listed(grid['rtt_ms'])} ms; queue "
        f"{_listed(grid['queue_bdp'])} BDP where that is a packet or more; Reno and CUBIC. One run each.",
        "",
        "| queue | cells | first 60 s: median error | 95th percentile | worst "
        "| later: median | 95th percentile | worst |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, low, high in (
        ("50 packets or more", 50, None),
        ("20 to 50", 20, 50),
        ("10 to 20", 10, 20),
        ("5 to 10", 5, 10),
        ("below 5", 0, 5),
    ):
        chosen = [each for each in found if low <= each.queue_packets < (high or 1e9)]
        lines.append(f"| {name} | {len(chosen)} | {_errors(chosen, _first)} | {_errors(chosen, _later)} |")
    for control in grid["congestion_control"]:
        chosen = [each for each in found if each.congestion_control == control and each.queue_packets >= 10]
        errors = f"{_errors(chosen, _first)} | {_errors(chosen, _later)}"
        lines.append(f"| 10 or more, {control} | {len(chosen)} | {errors} |")
    worst = sorted(
        (each for each in found if each.queue_packets >= 10),
        key=lambda each: -max(abs(each.first_minute_error), abs(each.long_run_error)),
    )
    lines += ["", "The worst of those with ten packets or more (formula against `sim`, first 60 s, later):"]
    lines += [
        f"- {each.words}: {each.first_minute_error:+.0%}, {each.long_run_error:+.0%}" for each in worst[:6]
    ]
    return "\n".join(lines)


def _cell(cell: tuple[str, float, float, float]) -> Found | None:
    control, rate, rtt, queue = cell
    try:
        found = bentpipe.calc(
            f"{rate:g} Mbit/s",
            f"{rtt:g} ms",
            queue=f"{queue:g} bdp",
            cc=control,
            rcvbuf=_AMPLE,
            sndbuf=_AMPLE,
            time=_FIRST,
        )
    except bentpipe.LabError:
        return None  # The queue holds less than one packet.
    level = found.packet_level
    assert level is not None
    assert level.average_bit_s is not None
    assert found.average_bit_s is not None
    assert found.simulated_bit_s is not None
    return Found(
        f"{control}, {rate:g} Mbit/s, {rtt:g} ms, {queue:g} BDP ({found.asked.queue_segments:.0f} packets)",
        control,
        found.asked.queue_segments,
        found.average_bit_s / level.average_bit_s.median - 1,
        found.simulated_bit_s / level.goodput_bit_s.median - 1,
    )


def _first(found: Found) -> float:
    return found.first_minute_error


def _later(found: Found) -> float:
    return found.long_run_error


def _errors(found: Sequence[Found], of: Callable[[Found], float]) -> str:
    errors = sorted(abs(of(each)) for each in found)
    tail = errors[min(round(0.95 * (len(errors) - 1)), len(errors) - 1)]
    return f"{statistics.median(errors):.1%} | {tail:.0%} | {errors[-1]:.0%}"


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
