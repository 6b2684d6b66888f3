"""A slow link for ACKs: `sim` beside the rate up to which every ACK passes, and beside the formula."""

import itertools
import tomllib
from pathlib import Path

import bentpipe

HERE = Path(__file__).parent


def table() -> str:
    grid = tomllib.loads((HERE / "grid.toml").read_text(encoding="utf-8"))["acks"]
    lines = [
        "CUBIC, queue 1 BDP. One run each; rates in Mbit/s of payload.",
        "",
        "| path | up | row ACK path | formula | sim | formula's error |",
        "|---|---|---|---|---|---|",
    ]
    for rate, rtt, up in itertools.product(grid["rate_mbit_s"], grid["rtt_ms"], grid["rate_up_kbit_s"]):
        lines.append(_row(rate, rtt, up))
    return "\n".join(lines)


def _row(rate_mbit_s: float, rtt_ms: float, up_kbit_s: float) -> str:
    found = bentpipe.calc(
        f"{rate_mbit_s:g} Mbit/s", f"{rtt_ms:g} ms", queue="1 bdp", rate_up=f"{up_kbit_s:g} kbit/s"
    )
    level = found.packet_level
    assert level is not None
    carried = level.goodput_bit_s.median
    (row,) = (each for each in found.limits if each.name == "ACK path")
    said = found.simulated_bit_s
    error = f"{said / carried - 1:+.0%}" if said and found.formula_holds else ""
    formula = f"{said / 1e6:.3g}" if said and found.formula_holds else "none holds"
    return (
        f"| {rate_mbit_s:g} Mbit/s, {rtt_ms:g} ms | {up_kbit_s:g} kbit/s | {row.goodput_bit_s / 1e6:.3g} "
        f"| {formula} | {carried / 1e6:.3g} | {error} |"
    )
