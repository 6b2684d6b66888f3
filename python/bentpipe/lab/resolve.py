"""From a checked lab to plain numbers: presets, defaults and files settled, one `RunSpec` per cell of the
grid.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bentpipe.lab import spec
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.host import SYSCTL_FIELDS, Host, control_name, control_parameters
from bentpipe.lab.models.lab import LabFile, Near
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
from bentpipe.lab.retained import with_retained
from bentpipe.lab.traces import Traces
from bentpipe.lab.tunnels import tunnel_spec
from bentpipe.words.direction import Direction

DEFAULT_CONGESTION_CONTROL = "cubic"
"""Linux's own default; set always, since a machine's default may be another."""
SECOND_NS = 1_000_000_000
_BROWSERS = 6
"""Connections that browsers open to one server over HTTP/1.1."""


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
    run = spec.RunSpec(
        path=path,
        client=client,
        server=server,
        near=near,
        tunnel=lab.tunnel and tunnel_spec(lab.tunnel, path, near),
        workloads=tuple(
            each
            for number, workload in enumerate(lab.workload)
            if workload.enabled
            for each in _workloads(workload, lab.duration, _Sizes(traces, f"workload.{number}.size"))
        ),
        duration_s=None if lab.duration is None else lab.duration / SECOND_NS,
        duration_ns=lab.duration,
        until=until,
        limits=spec.LimitsSpec(
            lateness_p99_s=lab.limits.lateness_p99 / SECOND_NS,
            unintended_loss=lab.limits.unintended_loss,
            rate_error=lab.limits.rate_error,
            host_stopped_s=lab.limits.host_stopped / SECOND_NS,
            host_wait_share=lab.limits.host_wait_share,
            bulk_wait_share=lab.limits.bulk_wait_share,
            channels_wait_share=lab.limits.channels_wait_share,
            host_wait_max_s=lab.limits.host_wait_max / SECOND_NS,
            sampler_late_s=lab.limits.sampler_late / SECOND_NS,
        ),
    )
    return with_retained(run)


def _near(near: Near, both: Host) -> spec.NearSpec:
    down, up = lan_pipes(near.rtt, near.rate)
    return spec.NearSpec(
        host=_host(Host(), both),
        down=down,
        up=up,
        rtt_ns=near.rtt,
        rate_bit_s=near.rate,
        cache_bytes=near.cache.size if near.cache else None,
    )


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


def _workloads(
    workload: AnyWorkload, duration_ns: int | None, sizes: _Sizes
) -> tuple[spec.WorkloadSpec, ...]:
    name, start_ns = name_of(workload), workload.start
    match workload:
        case Ping():
            return (
                spec.PingSpec(
                    name=name,
                    start_ns=start_ns,
                    count=workload.count,
                    interval_ns=workload.interval,
                    size_bytes=workload.size,
                ),
            )
        case Bulk():
            return _bulk(workload, duration_ns)
        case Http():
            popularity = workload.popularity
            return (
                spec.HttpSpec(
                    name=name,
                    start_ns=start_ns,
                    direction=workload.direction,
                    size_bytes=workload.size,
                    objects_bytes=None if workload.objects is None else tuple(workload.objects),
                    popularity=popularity
                    and spec.PopularitySpec(zipf=popularity.zipf, objects=popularity.set),
                    fetches=workload.fetches,
                    connections=workload.connections or (1 if workload.objects is None else _BROWSERS),
                    keep_alive=(
                        workload.objects is not None if workload.keep_alive is None else workload.keep_alive
                    ),
                    think_ns=workload.think,
                ),
            )
        case Channels():
            terrestrial = workload.terrestrial
            return (
                spec.ChannelsSpec(
                    name=name,
                    start_ns=start_ns,
                    channels=workload.channels,
                    servers=workload.servers,
                    size=_size(workload.size, sizes),
                    terrestrial_delay=_delay(terrestrial.delay if terrestrial else 0),
                    terrestrial_jitter_ns=terrestrial.jitter if terrestrial else 0,
                    think_ns=workload.think,
                ),
            )
        case Exec():
            return (
                spec.ExecSpec(
                    name=name,
                    start_ns=start_ns,
                    command=workload.command,
                    host=workload.host,
                    time_ns=workload.time,
                ),
            )


def _bulk(bulk: Bulk, duration_ns: int | None) -> tuple[spec.BulkSpec, ...]:
    name, time_ns = name_of(bulk), bulk.time
    if time_ns is None and bulk.size is None and duration_ns is not None:
        time_ns = duration_ns - bulk.start - bulk.omit

    def one(name: str, direction: Direction) -> spec.BulkSpec:
        return spec.BulkSpec(
            name=name,
            start_ns=bulk.start,
            direction=direction,
            streams=bulk.streams,
            size_bytes=bulk.size,
            time_ns=time_ns,
            omit_ns=bulk.omit,
            congestion_control=bulk.congestion_control and control_name(bulk.congestion_control),
            congestion_control_parameters=control_parameters(bulk.congestion_control),
        )

    if bulk.direction == "both":
        return tuple(one(f"{name}-{direction}", direction) for direction in Direction)
    return (one(name, Direction(bulk.direction)),)


def _size(
    size: int | ParetoSize | LognormalSize | LognormalParetoSize | FileSize, sizes: _Sizes
) -> spec.AnySize:
    match size:
        case LognormalParetoSize():
            return spec.LognormalPareto(
                median=size.median,
                sigma=size.sigma,
                tail=size.tail,
                shape=size.shape,
                min=size.min,
                max=size.max,
            )
        case FileSize():
            return spec.Sizes(values=sizes.read(size.file))
        case ParetoSize():
            return spec.BoundedPareto(shape=size.shape, min=size.min, max=size.max)
        case LognormalSize():
            return spec.Lognormal(median=size.median, sigma=size.sigma)
        case _:
            return spec.Constant(value=size)


def _delay(delay: int | LognormalDelay) -> spec.Constant | spec.Lognormal:
    if isinstance(delay, LognormalDelay):
        return spec.Lognormal(median=delay.median, sigma=delay.sigma)
    return spec.Constant(value=delay)
