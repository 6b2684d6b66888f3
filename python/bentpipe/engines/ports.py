"""The ports at which the servers of a live run's workloads listen, and what they tell of a packet."""

from typing import Any

from bentpipe.lab.spec import RunSpec, WorkloadSpec

_FIRST = 5201
_CHANNELS = 5001
"""Of all servers of a workload `channels` (crates/live/src/channels/setup.rs)."""


def server_port(spec: RunSpec, workload: str) -> int:
    """At which the workload's server listens, a port of its own; a cache in front of it has the next."""
    place = [each.name for each in spec.workloads].index(workload)
    return _FIRST + 2 * place


def beside_tunnel(spec: RunSpec) -> dict[str, Any]:
    """By what the datapath knows the packets that its tunnel does not carry (`Beside`, crates/live)."""
    works = _beside(spec)
    return {
        "tcp_ports": sorted({port for work in works if (port := _port(spec, work)) is not None}),
        "echoes": any(work.kind == "ping" for work in works),
    }


def refusal(spec: RunSpec) -> str | None:
    """What keeps the datapath from telling apart what its tunnel carries; None: nothing."""
    beside = _beside(spec)
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


def _beside(spec: RunSpec) -> list[WorkloadSpec]:
    names = spec.tunnel.beside if spec.tunnel else ()
    return [work for work in spec.workloads if work.name in names]


def _port(spec: RunSpec, work: WorkloadSpec) -> int | None:
    match work.kind:
        case "bulk" | "http" | "interactive":
            return server_port(spec, work.name)
        case "channels":
            return _CHANNELS
        case _:
            return None
