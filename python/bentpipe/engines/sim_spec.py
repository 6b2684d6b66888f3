"""A point as the simulator's specification (`SimSpec`, crates/sim/src/simulation.rs), and what it cannot do.

A lab that leaves a host's setting to the kernel gets Linux 6.18's default, whatever this machine runs: the
same lab gives the same bits everywhere.
"""

from collections.abc import Mapping
from typing import Any

from bentpipe._core import congestion_controls
from bentpipe.engines import gateways
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.lengths import full_round_trip_s
from bentpipe.engines.linux import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.engines.tunnel_config import tunnel_config
from bentpipe.errors import EngineError
from bentpipe.lab.point import Point
from bentpipe.lab.spec import GatewaySpec, HostSpec, NearSpec, RunSpec, SplitSpec, WorkloadSpec
from bentpipe.lab.tunnels import titrated_pipes

CONTROLS = tuple(congestion_controls())
_RTP_BYTES = 12
"""Its header (RFC 3550, 5.1)."""
_UNSEEN_KINDS = {
    "exec": "a command is a real program, which needs a real kernel; add `--engine live`",
}


def refuse(spec: RunSpec) -> None:
    """Raise EngineError, naming it, for what the simulator does not model."""
    for work in spec.workloads:
        if work.kind in _UNSEEN_KINDS:
            raise EngineError(
                f'workload.{work.name}.kind: found "{work.kind}", which `sim` cannot run: '
                f"{_UNSEEN_KINDS[work.kind]}",
                what=work.kind,
            )
        if work.kind == "bulk" and work.congestion_control is not None:
            _refuse_control(f"workload.{work.name}", work.congestion_control)
    if spec.tunnel and spec.near:
        raise EngineError(
            "tunnel: found one beside [near]; `sim` has no near host beside a tunnel, whose end is in its "
            "place; leave out one of them",
            what="tunnel",
        )
    if spec.gateway and spec.gateway.kind != "bentpipe":
        raise EngineError(
            f'gateway.kind: found "{spec.gateway.kind}", a real program; `sim` has bentpipe\'s own '
            "gateways only; use `--engine live`",
            what="gateway",
        )
    if spec.split:
        _refuse_control("split.path", spec.split.path.congestion_control)
    hosts = [("client", spec.client), ("server", spec.server)]
    for side, host in [*hosts, ("near", spec.near.host)] if spec.near else hosts:
        for name in host.other_sysctl:
            raise EngineError(
                f'{side}.sysctl: found "{name}"; `sim` has no kernel, so it cannot apply sysctls; '
                "add `--engine live`",
                what=name,
            )
        _refuse_control(side, host.congestion_control)


def _refuse_control(place: str, control: str) -> None:
    if control not in CONTROLS:
        raise EngineError(
            f'{place}.congestion_control: found "{control}", which `sim` does not model; expected one of '
            f"{', '.join(CONTROLS)}; for those of this machine's kernel add `--engine live`",
            what=control,
        )


def sim_spec(point: Point, options: EngineOptions) -> dict[str, Any]:
    spec = point.spec
    down, up = titrated_pipes(spec.tunnel, spec.path)
    return {
        "client": _host(spec.client, asks_ecn=False),
        # Linux's default accepts ECN where the other side asks for it, and does not ask (tcp_ecn = 2).
        "server": _host(spec.server, asks_ecn=bool(spec.client.ecn)),
        "down": down,
        "up": up,
        "near": spec.near and _near(spec.near),
        "tunnel": spec.tunnel and tunnel_config(spec.tunnel),
        "beside_tunnel": [
            place
            for place, work in enumerate(spec.workloads)
            if (spec.tunnel and work.name in spec.tunnel.beside)
            or (spec.gateway and work.name in spec.gateway.beside)
        ],
        "split": spec.split and _split(spec.split, spec.client),
        "gateway": spec.gateway and _gateway(spec.gateway, spec.client),
        "mtu": spec.path.mtu,
        "seed": point.seed,
        "workloads": [_workload(work, spec) for work in spec.workloads],
        "duration_ns": spec.duration_ns,
        "until_done": spec.until == "done",
        "bin_ns": options.bin_ns,
        "sample_interval_ns": options.sample_interval_ns,
        "capture": list(options.pcap),
        **({"watched": True} if options.watched else {}),
    }


def _host(host: HostSpec, *, asks_ecn: bool) -> dict[str, Any]:
    tcp = {
        "congestion_control": _control(host.congestion_control, host.congestion_control_parameters),
        "sack": _or(host.sack, default=True),
        "dsack": _or(host.dsack, default=True),
        "window_scaling": _or(host.window_scaling, default=True),
        "timestamps": _or(host.timestamps, default=True),
        "ecn": _or(host.ecn, default=asks_ecn),
        "tcp_rmem": list(host.tcp_rmem or DEFAULT_RMEM),
        "tcp_wmem": list(host.tcp_wmem or DEFAULT_WMEM),
        "initcwnd": host.initcwnd or 10,
        "initrwnd": host.initrwnd,
        "open_receive_window": host.open_receive_window,
        "slow_start_after_idle": _or(host.slow_start_after_idle, default=True),
        "ip": host.ip,
    }
    return {"tcp": tcp}


def _control(name: str, parameters: Mapping[str, str | float]) -> str | dict[str, str | float]:
    return {"name": name, **parameters} if parameters else name


def _near(near: NearSpec) -> dict[str, Any]:
    return {
        "host": _host(near.host, asks_ecn=False),
        "down": near.down,
        "up": near.up,
        "cache_bytes": near.cache_bytes,
    }


def _split(split: SplitSpec, client: HostSpec) -> dict[str, Any]:
    return {
        # The client's connections come to near, which accepts ECN as a server does.
        "near": _host(split.host, asks_ecn=bool(client.ecn)),
        "far": _host(split.host, asks_ecn=False),
        "path": _host(split.path, asks_ecn=False),
    }


def _gateway(gateway: GatewaySpec, client: HostSpec) -> dict[str, Any]:
    redundancy = gateway.redundancy
    return {
        "near": _host(gateway.host, asks_ecn=bool(client.ecn)),
        "far": _host(gateway.host, asks_ecn=False),
        "down_rate": gateways.rate(gateway.law_down, gateway.rate_down_bit_s),
        "up_rate": gateways.rate(gateway.law_up, gateway.rate_up_bit_s),
        "redundancy": redundancy if redundancy == "adaptive" else {"fixed": redundancy},
    }


def sysctls(host: HostSpec) -> dict[str, str]:
    """The settings in force, under the names that `live`'s record has them."""
    flags = {
        "net.ipv4.tcp_sack": _or(host.sack, default=True),
        "net.ipv4.tcp_dsack": _or(host.dsack, default=True),
        "net.ipv4.tcp_window_scaling": _or(host.window_scaling, default=True),
        "net.ipv4.tcp_timestamps": _or(host.timestamps, default=True),
        "net.ipv4.tcp_slow_start_after_idle": _or(host.slow_start_after_idle, default=True),
    }
    ecn = "2" if host.ecn is None else str(int(host.ecn))
    return {
        **{name: str(int(flag)) for name, flag in flags.items()},
        "net.ipv4.tcp_ecn": ecn,
        "net.ipv4.tcp_rmem": "\t".join(map(str, host.tcp_rmem or DEFAULT_RMEM)),
        "net.ipv4.tcp_wmem": "\t".join(map(str, host.tcp_wmem or DEFAULT_WMEM)),
        "net.ipv4.tcp_congestion_control": host.congestion_control,
    }


def _workload(work: WorkloadSpec, spec: RunSpec) -> dict[str, Any]:
    """As the lab's specification has it (lab/spec.py), save where the simulator's words differ."""
    match work.kind:
        case "ping":
            asked = work.model_dump(mode="json", exclude={"name", "size_bytes"})
            return asked | {"payload_bytes": work.size_bytes}
        case "interactive":
            return work.model_dump(mode="json") | {"left_out_ns": round(full_round_trip_s(spec) * 1e9)}
        case "call":
            asked = work.model_dump(mode="json", exclude={"size_bytes", "playout_ns", "concealment"})
            left_out_ns = round(full_round_trip_s(spec) * 1e9)
            return asked | {"payload_bytes": _RTP_BYTES + work.size_bytes, "left_out_ns": left_out_ns}
        case "bulk":
            control = work.congestion_control
            asked = work.model_dump(mode="json", exclude={"name", "congestion_control_parameters"})
            return asked | {
                "kind": "iperf3",
                "congestion_control": control and _control(control, work.congestion_control_parameters),
            }
        case "http" | "channels":
            return work.model_dump(mode="json")
        case _:
            raise EngineError(
                f"workload {work.name}: the sim engine has no kind {work.kind!r}", what=work.kind
            )


def _or(value: bool | None, *, default: bool) -> bool:
    return default if value is None else value
