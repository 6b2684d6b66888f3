"""A tunnel as both engines take it (`TunnelConfig`, crates/tunnel/src/config.rs)."""

from typing import Any

from bentpipe.lab.spec import TunnelSpec


def tunnel_config(tunnel: TunnelSpec) -> dict[str, Any]:
    redundancy: dict[str, Any]
    match tunnel.redundancy:
        case "adaptive" | "titrated":  # these differ in the queues of the path's pipes
            redundancy = {"policy": "adaptive"}
        case ratio:
            redundancy = {"policy": "fixed", "ratio": ratio}
    return {
        "redundancy": redundancy,
        "window_packets": tunnel.window_packets,
        "hold_ns": tunnel.hold_ns,
        "exact": tunnel.exact and tunnel.exact.model_dump(mode="json"),
    }
