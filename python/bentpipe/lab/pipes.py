"""From `[path]` to the two pipes' configurations, as `PipeConfig` in crates/path/src/config.rs spells them
in JSON.

A key of a pipe is looked for in `[path.down]` (or `[path.up]`), then in `[path]`, then in the preset's own
pipe, then in the preset. So a rate that a lab gives for both pipes goes before the one that a preset gives
for a single pipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models import loss as loss_forms
from bentpipe.lab.models import queue as queue_forms
from bentpipe.lab.models import rate as rate_forms
from bentpipe.lab.models.path import Handover, Jitter, Path, PipeKeys
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.quantities import QueueAmount
from bentpipe.lab.spec import PathSpec
from bentpipe.lab.traces import Traces

TRACE_OPPORTUNITY_BYTES = 1500
LEAST_DEFAULT_QUEUE_PACKETS = 10
"""The default of one BDP holds next to nothing on a short path, and an initial window is a burst of ten (RFC
6928).
"""
LAN_QUEUE_PACKETS = 1000
"""What Linux lets an interface hold unless told otherwise (txqueuelen)."""

Json = dict[str, Any]


@cache
def _preset(name: str | None) -> Path:
    if name is None:
        return Path.model_construct()
    preset = PRESETS[name]
    tables = {key: dict(table) for key, table in (("down", preset.down), ("up", preset.up)) if table}
    return Path.model_validate({**preset.path, **tables})


@dataclass(frozen=True)
class _Pipe:
    """One pipe's keys, and where in the lab each was found."""

    name: str
    tables: tuple[tuple[str, PipeKeys], ...]

    def get(self, key: str) -> Any:
        return next((value for _, table in self.tables if (value := getattr(table, key)) is not None), None)

    def where(self, key: str) -> str:
        """The dotted key of the lab where `get(key)` comes from."""
        prefix = next((prefix for prefix, table in self.tables if getattr(table, key) is not None), "path")
        return f"{prefix}.{key}"


def path_spec(path: Path, traces: Traces) -> PathSpec:
    """Both pipes. Raises `FaultError` with the lab's dotted key, or `LabError` for a line of a trace."""
    preset = _preset(path.preset)
    pipes = {
        name: _Pipe(
            name,
            tuple(
                (prefix, table)
                for prefix, table in (
                    (f"path.{name}", own),
                    ("path", path),
                    ("path.preset", default),
                    ("path.preset", preset),
                )
                if table is not None
            ),
        )
        for name, own, default in (("down", path.down, preset.down), ("up", path.up, preset.up))
    }
    rtt_ns = next((rtt for rtt in (path.rtt, preset.rtt) if rtt is not None), 0)
    # An odd nanosecond goes to the down pipe, so that the two still add up to the round trip.
    halves = {"down": rtt_ns - rtt_ns // 2, "up": rtt_ns // 2}
    delays = {
        name: halves[name] if pipe.get("delay") is None else pipe.get("delay") for name, pipe in pipes.items()
    }
    base_rtt_ns = sum(delays.values())
    shapers = {name: _shaper(pipe, path.mtu, traces) for name, pipe in pipes.items()}
    configs = {
        name: {
            "ingress": {"policer": _policer(pipe, path.mtu), "loss": _loss(pipe, "ingress_loss", traces)},
            "queue": _queue(pipe, shapers[name], base_rtt_ns, path.mtu),
            "shaper": shapers[name],
            "propagation": {
                "delay_ns": delays[name],
                "jitter": _jitter(pipe.get("jitter")),
                "limit": _line_limit(pipe.get("delay_limit")),
                "handover": _handover(pipe.get("handover")),
            },
            "channel": {
                "loss": _loss(pipe, "loss", traces),
                "duplicate": pipe.get("duplicate") or 0.0,
                "corrupt": pipe.get("corrupt") or 0.0,
                "outages": [
                    {"start_ns": start, "length_ns": length} for start, length in pipe.get("outages") or []
                ],
            },
        }
        for name, pipe in pipes.items()
    }
    return PathSpec(
        down=configs["down"],
        up=configs["up"],
        mtu=path.mtu,
        base_rtt_ns=base_rtt_ns,
        rate_down_bit_s=_nominal_rate(shapers["down"]),
        rate_up_bit_s=_nominal_rate(shapers["up"]),
    )


def lan_pipes(rtt_ns: int, rate_bit_s: int | None) -> tuple[Json, Json]:
    """Down and up of the LAN between client and near: a switch, which loses nothing but what its queue cannot
    hold.
    """
    shaper = {"kind": "unlimited"} if rate_bit_s is None else {"kind": "fixed", "rate_bit_s": rate_bit_s}
    limit = {"unit": "unlimited"} if rate_bit_s is None else {"unit": "packets", "packets": LAN_QUEUE_PACKETS}
    halves = (rtt_ns - rtt_ns // 2, rtt_ns // 2)
    down, up = (
        {"shaper": shaper, "queue": {"limit": limit}, "propagation": {"delay_ns": delay_ns}}
        for delay_ns in halves
    )
    return down, up


def _shaper(pipe: _Pipe, mtu: int, traces: Traces) -> Json:
    rate = pipe.get("rate")
    match rate:
        case None | "unlimited":
            return {"kind": "unlimited"}
        case rate_forms.BucketRate(burst=None):
            return {"kind": "fixed", "rate_bit_s": rate.rate}
        case rate_forms.BucketRate():
            _holds_a_packet(rate.burst, mtu, f"{pipe.where('rate')}.burst")
            return {
                "kind": "token_bucket",
                "rate_bit_s": rate.rate,
                "burst_bytes": rate.burst,
                "peak_bit_s": rate.peak,
            }
        case rate_forms.TraceRate():
            try:
                opportunities = traces.opportunities_ns(rate.trace)
            except FaultError as wrong:
                raise FaultError(wrong.remedy, found=wrong.found, key=f"{pipe.where('rate')}.trace") from None
            return {"kind": "trace", "opportunities_ns": opportunities}
        case rate_forms.StepsRate():
            steps = [
                {"at_ns": at, "rate_bit_s": None if step == "unlimited" else step} for at, step in rate.steps
            ]
            return {"kind": "steps", "steps": steps}
        case _:
            return {"kind": "fixed", "rate_bit_s": rate}


def _holds_a_packet(burst_bytes: int | None, mtu: int, key: str) -> None:
    if burst_bytes is not None and burst_bytes < mtu:
        raise FaultError(
            f'expected a burst of at least the mtu, "{mtu} B": a full packet would never pass', key=key
        )


def _policer(pipe: _Pipe, mtu: int) -> Json | None:
    policer = pipe.get("policer")
    if policer is None:
        return None
    _holds_a_packet(policer.burst, mtu, f"{pipe.where('policer')}.burst")
    return {"rate_bit_s": policer.rate, "burst_bytes": policer.burst}


def _rates(shaper: Json) -> list[int | None]:
    """The rates that the shaper has over time; None is unlimited."""
    if shaper["kind"] == "unlimited":
        return [None]
    if shaper["kind"] == "steps":
        return [step["rate_bit_s"] for step in shaper["steps"]]
    if shaper["kind"] == "trace":
        times_ns = shaper["opportunities_ns"]
        return [len(times_ns) * TRACE_OPPORTUNITY_BYTES * 8 * 1_000_000_000 // times_ns[-1]]
    return [shaper["rate_bit_s"]]


def _nominal_rate(shaper: Json) -> int | None:
    if shaper["kind"] == "steps":
        at_zero = [step["rate_bit_s"] for step in shaper["steps"] if step["at_ns"] <= 0]
        rate: int | None = at_zero[-1] if at_zero else shaper["steps"][0]["rate_bit_s"]
        return rate
    return _rates(shaper)[0]


def _queue(pipe: _Pipe, shaper: Json, base_rtt_ns: int, mtu: int) -> Json:
    queue = pipe.get("queue")
    table = isinstance(queue, queue_forms.QUEUE_TABLES)
    limit = queue.limit if table else queue
    rates = _rates(shaper)
    return {
        "limit": _default_limit(rates, base_rtt_ns, mtu)
        if limit is None
        else _limit(limit, rates, base_rtt_ns, pipe),
        "discipline": _discipline(queue) if table else {"name": "fifo"},
        "ecn": table and getattr(queue, "ecn", False),
    }


def _default_limit(rates: list[int | None], base_rtt_ns: int, mtu: int) -> Json:
    known = [rate for rate in rates if rate is not None]
    if not known:
        return {"unit": "unlimited"}
    least_bytes = LEAST_DEFAULT_QUEUE_PACKETS * mtu
    if max(known) * base_rtt_ns < least_bytes * 8 * 1_000_000_000:
        return {"unit": "bytes", "bytes": least_bytes}
    return {"unit": "bdp", "multiple": 1.0, "base_rtt_ns": base_rtt_ns}


def _limit(limit: QueueAmount | str, rates: list[int | None], base_rtt_ns: int, pipe: _Pipe) -> Json:
    if not isinstance(limit, QueueAmount):
        return {"unit": "unlimited"}
    if limit.unit in ("delay", "bdp") and rates == [None]:
        example = units.format_size(100_000)
        raise FaultError(
            f'expected a rate beside it, or a queue in bytes or packets ("{example}"): without a rate '
            f"nothing ever waits",
            found=f"a queue in {'BDP' if limit.unit == 'bdp' else 'time'} for a pipe without a rate",
            key=pipe.where("queue"),
        )
    match limit.unit:
        case "bdp":
            return {"unit": "bdp", "multiple": float(limit.amount), "base_rtt_ns": base_rtt_ns}
        case "delay":
            return {"unit": "delay", "delay_ns": limit.amount}
        case unit:
            return {"unit": unit, unit: limit.amount}


# A discipline's keys in the lab file, and what crates/path calls them.
_PARAMETERS: Mapping[str, str] = {
    "min": "min_bytes",
    "max": "max_bytes",
    "max_probability": "max_probability",
    "weight": "weight",
    "target": "target_ns",
    "interval": "interval_ns",
    "flows": "flows",
    "quantum": "quantum_bytes",
    "update": "update_ns",
    "alpha": "alpha",
    "beta": "beta",
    "max_burst": "max_burst_ns",
}


def _discipline(queue: queue_forms.QueueTable) -> Json:
    parameters = {
        ours: getattr(queue, key) for key, ours in _PARAMETERS.items() if key in type(queue).model_fields
    }
    return {"name": queue.discipline.replace("-", "_"), **parameters}


def _jitter(jitter: Jitter | int | None) -> Json | None:
    if jitter is None:
        return None
    if isinstance(jitter, int):
        jitter = Jitter.model_construct(spread=jitter)
    return {
        "spread_ns": jitter.spread,
        "distribution": jitter.distribution,
        "correlation": jitter.correlation,
        "reorder": jitter.reorder,
    }


def _handover(handover: Handover | None) -> Json | None:
    if handover is None:
        return None
    return {"every_ns": handover.every, "step_ns": handover.step, "outage_ns": handover.outage}


def _line_limit(limit: tuple[str, int] | str | None) -> Json:
    if limit is None or isinstance(limit, str):
        return {"unit": "unlimited"}
    unit, amount = limit
    return {"unit": unit, unit: amount}


def _loss(pipe: _Pipe, key: str, traces: Traces) -> Json:
    loss = pipe.get(key)
    match loss:
        case None | 0.0:
            return {"model": "none"}
        case loss_forms.BernoulliLoss():
            return {"model": "bernoulli", "p": loss.p}
        case loss_forms.GilbertElliottLoss():
            return {"model": "gilbert-elliott", "p": loss.p, "r": loss.r, "good": loss.good, "bad": loss.bad}
        case loss_forms.TraceLoss():
            try:
                lost = traces.losses(loss.file)
            except FaultError as wrong:
                raise FaultError(wrong.remedy, found=wrong.found, key=f"{pipe.where(key)}.file") from None
            return {"model": "trace", "lost": lost}
        case _:
            return {"model": "bernoulli", "p": loss}
