"""Reads the run's own figures from a file that bentpipe exported; none is computed again."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.interchange.entries import entry
from bentpipe.interchange.foreign import LONGEST_S, Found
from bentpipe.interchange.imported import Exported, Imported, Row
from bentpipe.lab.models.lab import AS_IS

_ASKED_COUNTS = (
    "streams",
    "size_bytes",
    "time_ns",
    "omit_ns",
    "count",
    "interval_ns",
    "fetches",
    "connections",
)
_ASKED_TEXTS = ("name", "kind", "direction", "congestion_control")


def take(
    run: Imported, ours: Found, series: Mapping[str, tuple[str | None, Sequence[Found]]], zero_s: float
) -> None:
    """`series`: by name, whose figures they are, and its values. `zero_s`: the run's time 0, since 1970."""
    run.exported = Exported(
        lab=ours["lab"].text() or "exported",
        title=ours["title"].text(),
        variant=ours["variant"].text() or AS_IS,
        point={key: _plain(value) for key, value in ours["point"].members()},
        seed=ours["seed"].count() or 0,
    )
    run.entries = {name: entry(found) for name, found in ours["workloads"].members()}
    run.asked = [_asked(each) for each in ours["asked"].elements()]
    run.pipes = {name: _figures(found) for name, found in ours["pipes"].members()}
    run.queue = {name: _figures(found) for name, found in ours["queue"].members()}
    run.path = {key: found.count() for key, found in ours["path"].members()}
    run.failed = ours["status"].text() == "failed"
    run.why = [text for each in ours["why"].elements() if (text := each.text())]
    if ours["reliable"].flag() is False and not run.why:
        run.why = ["It was exported as unreliable."]
    for workload, values in series.values():
        figures = run.entries.get(workload or "", {})
        if figures.get("kind") == "ping":
            run.pings += [row | {"workload": workload} for row in _echoes(values, zero_s)]
        elif figures.get("kind") == "bulk":
            alone = figures["streams"] == 1
            if alone:
                run.flows.append(_flow(len(run.flows) + 1, workload or "", figures))
            whose = {
                "host": "client" if figures["direction"] == "up" else "server",
                "workload": workload,
                "flow": len(run.flows) if alone else None,
                "role": "data",
            }
            run.sockets += [row | whose for row in windows(values, zero_s)]


def _flow(number: int, workload: str, figures: Row) -> Row:
    """Of a transfer by one connection its figures are the transfer's."""
    rate = figures["goodput_mbit_s"]
    return {
        "flow": number,
        "workload": workload,
        "client": "client",
        "server": "server",
        "direction": figures["direction"],
        "bytes": figures["bytes"],
        "goodput_bit_s": None if rate is None else rate * 1e6,
        "retransmits": figures["retransmits"],
        "outcome": "failed" if "why" in figures else "finished",
        "why": figures.get("why"),
    }


def windows(values: Sequence[Found], zero_s: float) -> list[Row]:
    """Samples of a sending socket, as flent keeps them among a stream's values."""
    return [
        {
            "time_s": at,
            "cwnd_segments": None if (window := value["tcp_cwnd"].positive()) is None else round(window),
            "srtt_s": scaled(value["tcp_rtt"], 1e-3),
            "rttvar_s": scaled(value["tcp_rtt_var"], 1e-3),
            "delivery_rate_bit_s": scaled(value["tcp_delivery_rate"], 1e6),
            "pacing_rate_bit_s": scaled(value["tcp_pacing_rate"], 1e6),
        }
        for value in values
        if ("tcp_cwnd" in value or "tcp_rtt" in value)
        and (at := value["t"].since(zero_s, "the run's time 0")) is not None
    ]


def scaled(of: Found, scale: float) -> float | None:
    found = of.positive()
    return None if found is None else found * scale


def _echoes(values: Sequence[Found], zero_s: float) -> list[Row]:
    return [
        {"time_s": at, "sequence": value["seq"].count(), "rtt_s": scaled(value["val"], 1e-3)}
        for value in values
        if (at := value["t"].since(zero_s, "the run's time 0")) is not None
    ]


def _asked(of: Found) -> dict[str, Any]:
    """What was asked of a workload: of a run's spec, what tables and pages speak of."""
    found = {key: of[key].count() for key in _ASKED_COUNTS if key in of}
    return {
        **{key: of[key].text() for key in _ASKED_TEXTS},
        "start_ns": _start_ns(of["start_ns"]),
        "size_bytes": None,
        "time_ns": None,
        **found,
    }


def _number(of: Found) -> float | int | None:
    """A count stays one."""
    found = of.number()
    return of.value if isinstance(of.value, int) else found


def _start_ns(of: Found) -> int:
    found = of.number() or 0.0
    if abs(found) > LONGEST_S * 1e9:
        raise of.fault("expected a time within 30 days of 0")
    return round(found)


def _figures(of: Found) -> dict[str, Any]:
    """Of a pipe: numbers, and tables of numbers."""
    return {
        key: {part: _number(inner) for part, inner in value.members()}
        if isinstance(value.value, dict)
        else _number(value)
        for key, value in of.members()
    }


def _plain(of: Found) -> Any:
    """A point's value, as a lab has it; what is neither number nor text by its words."""
    if isinstance(of.value, bool):
        return of.value
    if isinstance(of.value, int | float):
        return _number(of)
    return of.text() if isinstance(of.value, str) else repr(of.value)
