"""Whether a run's hosts had the processor when they needed it: waits and stops against the lab's limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from bentpipe.words.digits import digits

SHARE_LIMITS = {
    "iperf3": "bulk_wait_share",
    "ping": "bulk_wait_share",
    "channels": "channels_wait_share",
    "channel servers": "channels_wait_share",
}
"""By program or thread, where its waits cost the figures little until it falls behind. Buffers or other flows
keep the path busy meanwhile; the kernel answers and stamps pings. docs/accuracy.md has the measurements."""


def why_not(engine_error: Mapping[str, Any], limits: Mapping[str, Any]) -> list[str]:
    """One sentence for each limit passed.

    `limits` has `host_stopped_s`, `host_wait_share`, `bulk_wait_share`, `channels_wait_share`,
    `host_wait_max_s` and `sampler_late_s`; one that is absent or null does not bind. An engine without hosts
    has no `hosts` in its report. Waits that are null were not counted by the kernel; they pass.
    """
    hosts = engine_error.get("hosts")
    if hosts is None:
        return []
    why = [
        *(_stopped(name, program, limits.get("host_stopped_s")) for name, program in programs(hosts)),
        *(_share(name, program, limits) for name, program in programs(hosts)),
        *(_longest(name, program, limits.get("host_wait_max_s")) for name, program in programs(hosts)),
        *(
            _reading(work, wait, limits.get("host_wait_share"))
            for work, wait in (engine_error.get("reader_waits") or {}).items()
        ),
        _late(engine_error.get("sampler_late_ms_max"), limits.get("sampler_late_s")),
    ]
    return [sentence for sentence in why if sentence]


def programs(hosts: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(host, program's figures) of each."""
    for name, host in hosts.items():
        for program in host.get("programs") or []:
            yield name, program


def waits_are_counted(hosts: Mapping[str, Any]) -> bool:
    return all(host.get("wait_share") is not None for host in hosts.values())


def _stopped(host: str, program: Mapping[str, Any], limit_s: float | None) -> str | None:
    stopped_s = program.get("stopped_s") or 0.0
    if limit_s is None or stopped_s <= limit_s:
        return None
    return (
        f"{program['program']} {_at(host)} was stopped for about {digits(stopped_s, 2)} s, from about "
        f"{program['stopped_at_s']:.1f} s; the limit is {limit_s:g} s."
    )


def _share(host: str, program: Mapping[str, Any], limits: Mapping[str, Any]) -> str | None:
    limit = limits.get(SHARE_LIMITS.get(program["program"], "host_wait_share"))
    share = program.get("wait_share")
    if limit is None or share is None or share <= limit:
        return None
    return (
        f"{program['program']} {_at(host)} waited for a processor for {digits(share * 100, 2)} % of "
        f"its time; the limit is {limit * 100:g} %."
    )


def _longest(host: str, program: Mapping[str, Any], limit_s: float | None) -> str | None:
    longest_ms = program.get("wait_max_ms")
    if limit_s is None or longest_ms is None or longest_ms <= limit_s * 1e3:
        return None
    return (
        f"{program['program']} {_at(host)} waited for a processor for {longest_ms:.0f} ms before "
        f"{program['wait_max_at_s']:.1f} s; the limit is {limit_s * 1e3:g} ms."
    )


def _reading(work: str, wait: Mapping[str, Any], limit: float | None) -> str | None:
    if limit is None or wait["share"] <= limit:
        return None
    return (
        f"The sender of {work} waited for the receive window for {digits(wait['share'] * 100, 2)} % of its "
        f"time, because {wait['program']} {_at(wait['host'])} read too late; the limit is {limit * 100:g} %."
    )


def _late(late_ms: float | None, limit_s: float | None) -> str | None:
    if limit_s is None:
        return None
    if late_ms is None:
        return "The engine did not say how closely it watched the hosts."
    if late_ms <= limit_s * 1e3:
        return None
    return (
        f"The watch over the hosts was up to {digits(late_ms / 1e3, 2)} s late; the limit is {limit_s:g} s. "
        "The machine stood still or was too busy."
    )


def _at(host: str) -> str:
    return f"at {host}" if host in ("near", "far") else f"on the {host}"
