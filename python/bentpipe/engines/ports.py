"""The ports at which the servers of a live run's workloads listen, and what they tell of a packet."""

from typing import Any

from bentpipe.lab.spec import RunSpec, WorkloadSpec

OF_OTHERS = 4100
"""Where the program of others at near takes the clients' connections (`gateway.kind`)."""
_FIRST = 5201
_CHANNELS = 5001
"""Of all servers of a workload `channels` (crates/live/src/channels/setup.rs)."""


def server_port(spec: RunSpec, workload: str) -> int:
    """At which the workload's server listens, a port of its own; a cache in front of it has the next."""
    place = [each.name for each in spec.workloads].index(workload)
    return _FIRST + 2 * place


def beside_tunnel(spec: RunSpec) -> dict[str, Any]:
    """By what the datapath knows the packets that its tunnel does not carry (`Beside`, crates/live)."""
    works = _named(spec, spec.tunnel.beside if spec.tunnel else ())
    return {
        "tcp_ports": _tcp_ports(spec, works),
        "echoes": any(work.kind == "ping" for work in works),
    }


def beside_gateways(spec: RunSpec) -> dict[str, list[int]]:
    """The ports, of TCP and of UDP, by which the gateways know what they leave alone."""
    works = _named(spec, spec.gateway.beside if spec.gateway else ())
    return {
        "beside_tcp_ports": _tcp_ports(spec, works),
        "beside_udp_ports": sorted(server_port(spec, work.name) for work in works if work.kind == "call"),
    }


def gateways_refusal(spec: RunSpec) -> str | None:
    """What keeps the gateways' kernels from telling apart what they carry; None: nothing. Pings cross
    beside the session anyway."""
    beside = _named(spec, spec.gateway.beside if spec.gateway else ())
    for work in beside:
        if work.kind == "exec":
            return (
                f'gateway.carries: "{work.name}" is not in it. A command\'s packets cannot be told apart, so '
                "the gateways always take its connections; add it, or leave gateway.carries out"
            )
        if other := _carried_channels(spec, work, beside):
            return (
                f'gateway.carries: "{other}" is in it and "{work.name}" is not. On a live path the '
                "packets of two workloads channels cannot be told apart; name both or neither, or "
                "use `--engine sim`"
            )
    return None


def refusal(spec: RunSpec) -> str | None:
    """What keeps the datapath from telling apart what its tunnel carries; None: nothing."""
    beside = _named(spec, spec.tunnel.beside if spec.tunnel else ())
    for work in beside:
        if work.kind == "exec":
            return (
                f'tunnel.carries: "{work.name}" is not in it. A command\'s packets cannot be told apart, so '
                "they always cross in the tunnel; add it, or leave tunnel.carries out"
            )
        if work.kind == "call":
            return (
                f'tunnel.carries: "{work.name}" is not in it. On a live path the datagrams of a call cannot '
                "be told apart, so they always cross in the tunnel; add it, or use `--engine sim`"
            )
        if work.kind in ("ping", "channels"):
            carried = (each for each in spec.workloads if each.kind == work.kind and each not in beside)
            if other := next(carried, None):
                return (
                    f'tunnel.carries: "{other.name}" is in it and "{work.name}" is not. On a live path the '
                    f"packets of two workloads {work.kind} cannot be told apart; name both or neither, or "
                    "use `--engine sim`"
                )
    return None


def _carried_channels(spec: RunSpec, work: WorkloadSpec, beside: list[WorkloadSpec]) -> str | None:
    if work.kind != "channels":
        return None
    return next(
        (each.name for each in spec.workloads if each.kind == "channels" and each not in beside), None
    )


def _named(spec: RunSpec, names: tuple[str, ...]) -> list[WorkloadSpec]:
    return [work for work in spec.workloads if work.name in names]


def _tcp_ports(spec: RunSpec, works: list[WorkloadSpec]) -> list[int]:
    return sorted({port for work in works if (port := _port(spec, work)) is not None})


def _port(spec: RunSpec, work: WorkloadSpec) -> int | None:
    match work.kind:
        case "bulk" | "http" | "interactive":
            return server_port(spec, work.name)
        case "channels":
            return _CHANNELS
        case _:
            return None
