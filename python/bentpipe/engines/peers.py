"""Programs of others in the gateways' seats (`gateway.kind`), so that they carry the same runs as bentpipe's.

Near's kernel hands the clients' connections to a transparent listener of sing-box, and far's side opens them
again. What is between them is Hysteria 2 or TUIC, both by sing-box, or kcptun. Their settings are those that
their own documentation advises for a path of known rate and round trip (docs/labs/gateway-peers.md).
"""

import asyncio
import contextlib
import json
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.engines import ports, programs
from bentpipe.engines.bench import Bench, Running
from bentpipe.errors import EngineError
from bentpipe.lab.spec import GatewaySpec, RunSpec

_SESSION_PORT = 4433
_KCPTUN_IN, _SHADOWSOCKS_IN = 4101, 4102
"""On loopback, at near and at far."""
_SECRET = "a secret of this run alone"
_USER = "7f0c7b0e-6d3c-4d53-9f0c-0b6a4e0d2c11"
_UDP_HEADERS_BYTES = {4: 28, 6: 48}
_UDP_PAYLOAD_BYTES = 1252
"""Of QUIC packets at first (quic-go)."""
_KCP_MTU_BYTES = 1350
_SHARDS = 10, 3
"""Packets and repairs of a block: kcptun's defaults."""
_LOOK_S = 0.2
_MBIT = 1_000_000


def needed(spec: RunSpec) -> dict[str, str]:
    """The programs that the run's gateways are, each with who needs it, in words."""
    if spec.gateway is None or spec.gateway.kind == "bentpipe":
        return {}
    who = f'needed by gateway.kind = "{spec.gateway.kind}"'
    names = ["sing-box"]
    if spec.gateway.kind == "kcptun":
        names += ["kcptun-client", "kcptun-server"]
    return dict.fromkeys(names, who)


def require(spec: RunSpec) -> None:
    """Raise EngineError naming the programs that are not here."""
    programs.refuse_missing(needed(spec))


@dataclass(frozen=True)
class _Started:
    host: str
    running: Running


class Peers:
    """The programs at near and at far, from before the run's work to its end."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._started: list[_Started] = []

    def start(self) -> None:
        """Far's first. Raises EngineError where a key cannot be made."""
        gateway = self._bench.spec.gateway
        if gateway is None or gateway.kind == "bentpipe":
            return
        far = self._bench.address("far", self._bench.spec.client.ip)
        at_far, at_near = _commands(self._bench.spec, gateway, far, self._bench.raw_folder)
        self._started = [
            _Started(host, self._bench.start(host, command))
            for host, commands in (("far", at_far), ("near", at_near))
            for command in commands
        ]

    async def ended_early(self) -> str:
        """Returns when one of the programs is over, with what it said. It does not return otherwise."""
        while True:
            for each in self._started:
                if each.running.has_ended:
                    program = await each.running.over(None, cut=False)
                    said = program.fault or f"it ended: {(program.stderr + program.stdout).strip()[-500:]}"
                    return f"the program {program.argv[0]} at {each.host} ended before the run: {said}"
            await asyncio.sleep(_LOOK_S)


def _commands(
    spec: RunSpec, gateway: GatewaySpec, far: str, folder: Path
) -> tuple[list[list[str]], list[list[str]]]:
    """What is started at far, and at near."""
    listening = {
        "type": "tproxy",
        "listen": "::" if spec.client.ip == 6 else "0.0.0.0",
        "listen_port": ports.OF_OTHERS,
    }
    if gateway.kind == "kcptun":
        there, here = _kcptun(spec, gateway, far, folder)
        inner = {"method": "aes-128-gcm", "password": _SECRET}
        ends = (
            {"type": "shadowsocks", "listen": "127.0.0.1", "listen_port": _SHADOWSOCKS_IN, **inner},
            {"type": "shadowsocks", "server": "127.0.0.1", "server_port": _KCPTUN_IN, **inner},
        )
        beside = ([there], [here])
    else:
        make = _hysteria2 if gateway.kind == "hysteria2" else _tuic
        ends = make(spec, gateway, far)
        beside = ([], [])
    at_far = _sing_box(folder / "far.json", ends[0], {"type": "direct"})
    at_near = _sing_box(folder / "near.json", listening, ends[1])
    return [*beside[0], at_far], [*beside[1], at_near]


def _sing_box(file: Path, inbound: dict[str, Any], outbound: dict[str, Any]) -> list[str]:
    config = {"log": {"level": "warn"}, "inbounds": [inbound], "outbounds": [outbound]}
    file.write_text(json.dumps(config))
    return ["sing-box", "run", "-c", str(file)]


def _mbit_s(rate_bit_s: int, ip: int) -> int:
    """A rate of IP packets as the rate of UDP payload, in the whole Mbit/s that the programs take."""
    share = _UDP_PAYLOAD_BYTES / (_UDP_PAYLOAD_BYTES + _UDP_HEADERS_BYTES[ip])
    return max(1, math.floor(rate_bit_s * share / _MBIT))


def _rates(gateway: GatewaySpec) -> tuple[int, int]:
    """Of far and of near, in bit/s. The lab file has both."""
    assert gateway.rate_down_bit_s is not None and gateway.rate_up_bit_s is not None
    return gateway.rate_down_bit_s, gateway.rate_up_bit_s


def _hysteria2(spec: RunSpec, gateway: GatewaySpec, far: str) -> tuple[dict[str, Any], dict[str, Any]]:
    down, up = (_mbit_s(rate, spec.client.ip) for rate in _rates(gateway))
    key, certificate = _keypair()
    inbound = {
        "type": "hysteria2",
        "listen": far,
        "listen_port": _SESSION_PORT,
        "up_mbps": down,
        "down_mbps": up,
        "users": [{"password": _SECRET}],
        "tls": {"enabled": True, "alpn": ["h3"], "certificate": certificate, "key": key},
    }
    outbound = {
        "type": "hysteria2",
        "server": far,
        "server_port": _SESSION_PORT,
        "up_mbps": up,
        "down_mbps": down,
        "password": _SECRET,
        "tls": {"enabled": True, "alpn": ["h3"], "server_name": "bentpipe", "certificate": certificate},
    }
    return inbound, outbound


def _tuic(_spec: RunSpec, _gateway: GatewaySpec, far: str) -> tuple[dict[str, Any], dict[str, Any]]:
    key, certificate = _keypair()
    user = {"uuid": _USER, "password": _SECRET}
    inbound = {
        "type": "tuic",
        "listen": far,
        "listen_port": _SESSION_PORT,
        "users": [user],
        "congestion_control": "bbr",
        "tls": {"enabled": True, "alpn": ["h3"], "certificate": certificate, "key": key},
    }
    outbound = {
        "type": "tuic",
        "server": far,
        "server_port": _SESSION_PORT,
        **user,
        "congestion_control": "bbr",
        "tls": {"enabled": True, "alpn": ["h3"], "server_name": "bentpipe", "certificate": certificate},
    }
    return inbound, outbound


def _kcptun(spec: RunSpec, gateway: GatewaySpec, far: str, folder: Path) -> tuple[list[str], list[str]]:
    """Windows of a bandwidth-delay product: in the modes `fast` kcptun has no other limit. Its README has
    them raised until the download gets no faster.
    """
    packets, repairs = _SHARDS
    windows = [max(32, math.ceil(rate * spec.base_rtt_ns / 8e9 / _KCP_MTU_BYTES)) for rate in _rates(gateway)]
    buffer_bytes = max(4 << 20, 4 * max(windows) * _KCP_MTU_BYTES)
    both = {
        "key": _SECRET,
        "crypt": "aes-128",
        "mode": "fast3",
        "mtu": _KCP_MTU_BYTES,
        "datashard": packets,
        "parityshard": repairs,
        "nocomp": True,
        "sockbuf": 16_777_217,
        "smuxver": 2,
        "smuxbuf": buffer_bytes,
        "streambuf": buffer_bytes // 2,
        "quiet": True,
    }
    host = f"[{far}]" if ":" in far else far
    down, up = windows
    server = both | {
        "listen": f"{host}:{_SESSION_PORT}",
        "target": f"127.0.0.1:{_SHADOWSOCKS_IN}",
        "sndwnd": down,
        "rcvwnd": max(up, 128) * 2,
    }
    client = both | {
        "localaddr": f"127.0.0.1:{_KCPTUN_IN}",
        "remoteaddr": f"{host}:{_SESSION_PORT}",
        "sndwnd": up,
        "rcvwnd": max(down, 128) * 2,
    }
    files = folder / "kcptun-far.json", folder / "kcptun-near.json"
    for file, config in zip(files, (server, client), strict=True):
        file.write_text(json.dumps(config))
    return ["kcptun-server", "-c", str(files[0])], ["kcptun-client", "-c", str(files[1])]


def _keypair() -> tuple[list[str], list[str]]:
    """A private key and a certificate of its own, each as the lines of its PEM."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["sing-box", "generate", "tls-keypair", "bentpipe"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        blocks = said.partition("-----BEGIN CERTIFICATE-----")
        if blocks[1] and "PRIVATE KEY" in blocks[0]:
            return blocks[0].strip().splitlines(), (blocks[1] + blocks[2]).strip().splitlines()
    raise EngineError("sing-box generate tls-keypair gave no key", what="sing-box")
