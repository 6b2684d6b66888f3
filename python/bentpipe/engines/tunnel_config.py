"""A tunnel as both engines take it (`TunnelConfig`, crates/tunnel/src/config.rs)."""

from typing import Any

from bentpipe.lab.spec import TunnelSpec


def tunnel_config(tunnel: TunnelSpec) -> dict[str, Any]:
    redundancy: dict[str, Any]
    match tunnel.redundancy:
        case "adaptive":
            redundancy = {"policy": "adaptive"}
        case "titrated":
            rooms = tunnel.model_dump(mode="json", include={"down", "up"})
            redundancy = {"policy": "titrated", **rooms}
        case ratio:
            redundancy = {"policy": "fixed", "ratio": ratio}
    return {
        "redundancy": redundancy,
        "window_packets": tunnel.window_packets,
        "hold_ns": tunnel.hold_ns,
    }
