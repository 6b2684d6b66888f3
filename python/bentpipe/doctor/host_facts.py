"""What this host says of itself: TCP's settings, routes, devices, queues, and the stack's counters.

All of it is readable without rights. What is not there, such as the program `tc`, is left out.
"""

import ipaddress
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SETTINGS = Path("/proc/sys")
_SYSCTLS = (
    "net.ipv4.ip_local_port_range",
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
)
_SECRET = re.compile("key|secret")
"""Names of settings that are not read, such as tcp_fastopen_key: a report is passed to others."""
_SHOULD_BE = {
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
}
"""Settings whose other values cost throughput on long paths."""
_TELLING = {
    "ListenOverflows": "connections were refused, because a listening queue was full",
    "ListenDrops": "connections were refused, because a listening queue was full",
    "TCPBacklogDrop": "packets were dropped, because a socket's backlog was full",
    "TCPRcvQDrop": "packets were dropped, because a receive queue was full",
    "PruneCalled": "times a receive buffer overflowed",
    "TCPMemoryPressures": "times TCP's memory (tcp_mem) ran short",
    "TCPAbortOnTimeout": "connections were given up after timeouts",
    "TCPAbortOnMemory": "connections were given up for want of memory",
}
_LISTEN = "0A"
_LOOPBACK = "lo"
_OFFLOADS = (
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class HostFacts:
    """As it was when the watch ended; the counters are what they grew by."""

    sysctl: Mapping[str, str] = field(default_factory=dict)
    listening: set[int] = field(default_factory=set)
    counters: Mapping[str, int] = field(default_factory=dict)
    routes: tuple[Mapping[str, Any], ...] = ()

    @property
    def ephemeral(self) -> range:
        """The ports that are given to connections that ask for none."""
        words = self.sysctl.get("net.ipv4.ip_local_port_range", "").split()
        low, high = map(int, words) if len(words) == 2 else (32768, 60999)
        return range(low, high + 1)

    def most(self, name: str) -> int | None:
        """The last number of `tcp_rmem` or `tcp_wmem`."""
        words = self.sysctl.get(f"net.ipv4.{name}", "").split()
        return int(words[2]) if len(words) == 3 and words[2].isdigit() else None

    def is_itself(self, remote: str) -> bool:
        """Whether the address is one of this host, and no qdisc of its device delays, queues or drops."""
        route = next((each for each in self.routes if each["to"] == remote), {"device": None})
        is_own = ipaddress.ip_address(remote).is_loopback or route["device"] == _LOOPBACK
        return is_own and route.get("qdisc") in {None, "noqueue"}

    def as_json(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            "sysctl": dict(self.sysctl),
            "counters": dict(self.counters),
            "routes": [dict(route) for route in self.routes],
        }

    def lines(self) -> Iterable[str]:
        """What a reader wants to know of it, in sentences."""
        for name, usual in _SHOULD_BE.items():
            if self.sysctl.get(name, usual) != usual:
                yield f"{name} is {self.sysctl[name]} on this host; {usual} is usual."
        for name, what in _TELLING.items():
            if self.counters.get(name):
                yield f"{name} grew by {self.counters[name]} on this host: {what}."
        for route in self.routes:
            parts = [f"device {route['device']}"]
            parts += [f"MTU {route['mtu']}"] if route.get("mtu") else []
            parts += [f"{route['speed_mbit_s']} Mbit/s"] if route.get("speed_mbit_s") else []
            parts += [f"qdisc {route['qdisc']}"] if route.get("qdisc") else []
            drops = route.get("qdisc_drops")
            parts += [f"{drops} drops in it since it was made"] if drops else []
            yield f"Route to {route['to']}: {', '.join(parts)}."


def facts(before: Mapping[str, int], remotes: Iterable[str]) -> HostFacts:
    """Now. `before`: the counters when the watch began."""
    now = counters()
    return HostFacts(
        sysctl=_sysctls(),
        listening=_listening(),
        counters={name: now[name] - before[name] for name in now if now[name] != before.get(name, now[name])},
        routes=tuple(_routes(remotes)),
    )


def counters() -> dict[str, int]:
    """Of this network namespace: TcpExt and Tcp (`/proc/net/netstat`, `/proc/net/snmp`)."""
    found: dict[str, int] = {}
    for file in ("netstat", "snmp"):
        lines = _text(Path("/proc/self/net") / file).splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=False):
            kind, *keys = names.split()
            if kind in {"TcpExt:", "Tcp:"}:
                found.update(zip(keys, map(int, values.split()[1:]), strict=False))
    for gauge in ("RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"):
        found.pop(gauge, None)
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sysctls() -> dict[str, str]:
    tcp = sorted(each for each in (_SETTINGS / "net/ipv4").glob("tcp_*") if not _SECRET.search(each.name))
    files = [*(_SETTINGS / name.replace(".", "/") for name in _SYSCTLS), *tcp]
    read = {".".join(file.relative_to(_SETTINGS).parts): " ".join(_text(file).split()) for file in files}
    return {name: value for name, value in read.items() if value}


def _listening() -> set[int]:
    lines = [line for file in ("tcp", "tcp6") for line in _text(Path("/proc/self/net") / file).splitlines()]
    fields = [line.split() for line in lines]
    return {int(each[1].rpartition(":")[2], 16) for each in fields if len(each) > 3 and each[3] == _LISTEN}


def _routes(remotes: Iterable[str]) -> Iterable[dict[str, Any]]:
    """To each of the addresses, by `ip`; its device, by `tc`, `ethtool` and /sys."""
    devices: dict[str, dict[str, Any]] = {}
    for remote in remotes:
        for route in _asked("ip", "-json", "route", "get", remote):
            name = str(route.get("dev", ""))
            if not name:
                continue
            if name not in devices:
                devices[name] = _device(name)
            metrics: dict[str, Any] = next(iter(route.get("metrics", [])), {})
            yield {"to": remote, "device": name, "metrics": metrics, **devices[name]}


def _device(name: str) -> dict[str, Any]:
    folder = Path("/sys/class/net") / name
    found: dict[str, Any] = {}
    for key, file in (("mtu", "mtu"), ("speed_mbit_s", "speed"), ("queue_packets", "tx_queue_len")):
        value = _text(folder / file).strip()
        if value.isdigit() and int(value) > 0:
            found[key] = int(value)
    links = _asked("ip", "-json", "link", "show", "dev", name)
    if links and "mtu" in links[0]:
        found["mtu"] = links[0]["mtu"]  # /sys shows the devices of the namespace that it was mounted in
    disciplines = _asked("tc", "-json", "-statistics", "qdisc", "show", "dev", name)
    root = next((each for each in disciplines if each.get("root")), None)
    if root:
        found["qdisc"] = root.get("kind")
        found["qdisc_drops"] = root.get("drops")
        found["qdisc_backlog_bytes"] = root.get("backlog")
    for features in _asked("ethtool", "--json", "--show-features", name):
        found["offloads"] = {each: features[each].get("active") for each in _OFFLOADS if each in features}
    return found


def _asked(*command: str) -> list[dict[str, Any]]:
    """What a program prints as JSON. Empty where there is no such program, or it does not know."""
    program = shutil.which(command[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        return []
    try:
        done = subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
