"""From a checked lab to plain numbers: presets, defaults and files settled, one `RunSpec` per cell of the
grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from bentpipe.lab import spec
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.call import Call
from bentpipe.lab.models.gateway import Gateway
from bentpipe.lab.models.host import SYSCTL_FIELDS, Host, control_name, control_parameters
from bentpipe.lab.models.interactive import Interactive
from bentpipe.lab.models.lab import LabFile, Near
from bentpipe.lab.models.split import Split, SplitPath
from bentpipe.lab.models.workload import (
    AnyWorkload,
    Bulk,
    Channels,
    Exec,
    FileSize,
    Http,
    LognormalDelay,
    LognormalParetoSize,
    LognormalSize,
    ParetoSize,
    Ping,
    name_of,
)
from bentpipe.lab.pipes import lan_pipes, path_spec
from bentpipe.lab.plain_numbers import plain
from bentpipe.lab.retained import with_retained
from bentpipe.lab.traces import Traces
from bentpipe.lab.tunnels import tunnel_spec
from bentpipe.words.direction import Direction

DEFAULT_CONGESTION_CONTROL = "cubic"
"""Linux's own default; set always, since a machine's default may be another."""
SECOND_NS = 1_000_000_000
_BROWSERS = 6
"""Connections that browsers open to one server over HTTP/1.1."""


_PLAIN: Mapping[
    str, type[spec.PingSpec] | type[spec.InteractiveSpec] | type[spec.CallSpec] | type[spec.ExecSpec]
] = {
    "ping": spec.PingSpec,
    "interactive": spec.InteractiveSpec,
    "call": spec.CallSpec,
    "exec": spec.ExecSpec,
}
"""Kinds whose specification is their keys' values."""


class _Sizes(NamedTuple):
    """Where a workload's file of sizes is read, and the key that names it."""

    traces: Traces
    key: str

    def read(self, name: str) -> tuple[int, ...]:
        try:
            return tuple(self.traces.sizes(name))
        except FaultError as wrong:
            raise FaultError(wrong.remedy, found=wrong.found, key=f"{self.key}.file") from None


def resolve(lab: LabFile, traces: Traces) -> spec.RunSpec:
    """The run that the lab describes. Raises `FaultError` (its key is that of the lab) or `LabError` for a
    trace's line.
    """
    client, server = (_host(own, lab.host) for own in (lab.client, lab.server))
    until: Literal["duration", "done"] = lab.until or ("done" if lab.duration is None else "duration")
    path = path_spec(lab.path, traces)
    near = None if lab.near is None else _near(lab.near, lab.host)
    workloads, beside = _all_workloads(lab, traces)
    run = spec.RunSpec(
        path=path,
        client=client,
        server=server,
        near=near,
        tunnel=lab.tunnel and tunnel_spec(lab.tunnel, path, near, beside),
        split=lab.split and _split(lab.split, lab.host),
        gateway=lab.gateway and _gateway(lab.gateway, lab.host, path, beside),
        workloads=workloads,
        duration_s=None if lab.duration is None else lab.duration / SECOND_NS,
        duration_ns=lab.duration,
        until=until,
        limits=plain(spec.LimitsSpec, lab.limits),
    )
    return with_retained(run)


def _near(near: Near, both: Host) -> spec.NearSpec:
    down, up = lan_pipes(near.rtt, near.rate)
    return spec.NearSpec(
        host=_host(Host.model_construct(), both),
        down=down,
        up=up,
        rtt_ns=near.rtt,
        rate_bit_s=near.rate,
        cache_bytes=near.cache.size if near.cache else None,
    )


def _split(split: Split, both: Host) -> spec.SplitSpec:
    own = {name: getattr(split.path, name) for name in SplitPath.model_fields}
    return spec.SplitSpec(host=_host(Host(), both), path=_host(Host().model_copy(update=own), both))


def _gateway(gateway: Gateway, both: Host, path: spec.PathSpec, beside: tuple[str, ...]) -> spec.GatewaySpec:
    down, law_down = _rate("rate", gateway.rate or path.rate_down_bit_s)
    up, law_up = _rate("up_rate", gateway.up_rate or gateway.rate or path.rate_up_bit_s)
    if gateway.kind != "bentpipe":
        for key, given in (("rate", law_down), ("up_rate", law_up)):
            if given != "fixed":
                raise FaultError(
                    f'expected a rate, such as "16 Mbit/s", beside gateway.kind = "{gateway.kind}"',
                    key=f"gateway.{key}",
                )
    return spec.GatewaySpec(
        host=_host(Host(), both),
        kind=gateway.kind,
        rate_down_bit_s=down,
        rate_up_bit_s=up,
        law_down=law_down,
        law_up=law_up,
        redundancy=gateway.redundancy,
        beside=beside,
    )


def _rate(key: str, law: int | str | dict[str, int] | None) -> tuple[int | None, spec.ControlLaw]:
    """The rate in bit/s, if one is known, and the control law."""
    if law is None:
        raise FaultError(
            'expected a rate, such as "16 Mbit/s", since the path has none', key=f"gateway.{key}"
        )
    if isinstance(law, dict):
        return law["cap"], "capped"
    return (law, "fixed") if isinstance(law, int) else (None, "fair")


def _host(own: Host, both: Host) -> spec.HostSpec:
    fields = {
        name: getattr(both, name) if getattr(own, name) is None else getattr(own, name)
        for name in Host.model_fields
        if name != "sysctl"
    }
    other = {**(both.sysctl or {}), **(own.sysctl or {})}
    modelled = {
        sysctl: _as_sysctl(fields[name])
        for sysctl, name in SYSCTL_FIELDS.items()
        if fields[name] is not None and name != "congestion_control"
    }
    control = fields["congestion_control"] or DEFAULT_CONGESTION_CONTROL
    fields["congestion_control"] = control_name(control)
    fields["congestion_control_parameters"] = control_parameters(control)
    fields["ip"] = fields["ip"] or 4
    return spec.HostSpec(
        sysctl={"net.ipv4.tcp_no_metrics_save": "1", **modelled, **other}, other_sysctl=other, **fields
    )


def _as_sysctl(value: bool | tuple[int, int, int]) -> str:
    return " ".join(str(number) for number in value) if isinstance(value, tuple) else str(int(value))


def _all_workloads(lab: LabFile, traces: Traces) -> tuple[tuple[spec.WorkloadSpec, ...], tuple[str, ...]]:
    """Those that are enabled, and the names of those that a tunnel or gateways do not carry."""
    carrier = lab.tunnel or lab.gateway
    carried = carrier and carrier.carries
    found: list[spec.WorkloadSpec] = []
    beside: list[str] = []
    for number, workload in enumerate(lab.workload):
        if not workload.enabled:
            continue
        works = _workloads(workload, lab.duration, _Sizes(traces, f"workload.{number}.size"))
        found += works
        if carried is not None and name_of(workload) not in carried:
            beside += (work.name for work in works)
    return tuple(found), tuple(beside)


def _workloads(
    workload: AnyWorkload, duration_ns: int | None, sizes: _Sizes
) -> tuple[spec.WorkloadSpec, ...]:
    """One, or two of a transfer in both directions. A key whose value is more than the number that the lab
    has is named here; all others are passed on."""
    name = name_of(workload)
    match workload:
        case Ping() | Interactive() | Call() | Exec():
            return (plain(_PLAIN[workload.kind], workload, name=name),)
        case Bulk():
            return _bulk(workload, name, duration_ns)
        case Http():
            is_page = workload.objects is not None
            return (
                plain(
                    spec.HttpSpec,
                    workload,
                    name=name,
                    objects_bytes=None if workload.objects is None else tuple(workload.objects),
                    popularity=workload.popularity
                    and spec.PopularitySpec(zipf=workload.popularity.zipf, objects=workload.popularity.set),
                    connections=workload.connections or (_BROWSERS if is_page else 1),
                    keep_alive=is_page if workload.keep_alive is None else workload.keep_alive,
                ),
            )
        case Channels():
            terrestrial = workload.terrestrial
            return (
                plain(
                    spec.ChannelsSpec,
                    workload,
                    name=name,
                    size=_size(workload.size, sizes),
                    terrestrial_delay=_delay(terrestrial.delay if terrestrial else 0),
                    terrestrial_jitter_ns=terrestrial.jitter if terrestrial else 0,
                ),
            )


def _bulk(bulk: Bulk, name: str, duration_ns: int | None) -> tuple[spec.BulkSpec, ...]:
    time_ns = bulk.time
    if time_ns is None and bulk.size is None and duration_ns is not None:
        time_ns = duration_ns - bulk.start - bulk.omit
    directions = list(Direction) if bulk.direction == "both" else [Direction(bulk.direction)]
    return tuple(
        plain(
            spec.BulkSpec,
            bulk,
            name=name if len(directions) == 1 else f"{name}-{direction}",
            direction=direction,
            time_ns=time_ns,
            congestion_control=bulk.congestion_control and control_name(bulk.congestion_control),
            congestion_control_parameters=control_parameters(bulk.congestion_control),
            max_pacing_rate_bit_s=bulk.max_pacing_rate,
        )
        for direction in directions
    )


def _size(
    size: int | ParetoSize | LognormalSize | LognormalParetoSize | FileSize, sizes: _Sizes
) -> spec.AnySize:
    match size:
        case LognormalParetoSize():
            return plain(spec.LognormalPareto, size)
        case FileSize():
            return spec.Sizes(values=sizes.read(size.file))
        case ParetoSize():
            return plain(spec.BoundedPareto, size)
        case LognormalSize():
            return plain(spec.Lognormal, size)
        case _:
            return spec.Constant(value=size)


def _delay(delay: int | LognormalDelay) -> spec.Constant | spec.Lognormal:
    if isinstance(delay, LognormalDelay):
        return plain(spec.Lognormal, delay)
    return spec.Constant(value=delay)
