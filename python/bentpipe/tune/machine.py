"""The settings of this host, and where changing them has an effect."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bentpipe.tune.settings import PROC, RootQueue, Route, Sysctl, route_lines, route_name

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MODULES = Path("/lib/modules")
_PROBE_S = 5


@dataclass(frozen=True)
class Machine:
    """This host, as this process sees it."""

    proc: Path = PROC
    modules: Path = _MODULES

    def sysctl(self, name: str) -> Sysctl:
        return Sysctl(name, self.proc)

    @cached_property
    def is_first_namespace(self) -> bool:
        """Whether this is the host's own network namespace. Linux shows this sysctl in no other."""
        return (self.proc / "net/core/netdev_max_backlog").exists()

    @property
    def is_read_only(self) -> bool:
        """Whether /proc/sys is mounted read-only, as in containers without privileges."""
        try:
            return bool(os.statvfs(self.proc).f_flag & os.ST_RDONLY)
        except OSError:
            return True

    def may_write(self, name: str) -> bool:
        """Whether the file's mode lets its owner write: in a namespace the machine's own values are 0444."""
        try:
            return bool((self.proc / name.replace(".", "/")).stat().st_mode & 0o200)
        except OSError:
            return False

    def controls(self) -> tuple[str, ...]:
        """The congestion controls that are loaded."""
        found = self.sysctl("net.ipv4.tcp_available_congestion_control").read()
        return tuple((found or "").split())

    def has_module(self, name: str) -> bool:
        """Whether the kernel could load it, by the list of its modules."""
        folder = self.modules / os.uname().release
        for listing in ("modules.dep", "modules.builtin"):
            try:
                text = (folder / listing).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if f"/{name}.ko" in text:
                return True
        return False

    def has_queue(self, kind: str) -> bool | None:
        """Whether the kernel has it, tried in a network namespace of its own. None: this user cannot try."""
        if self.has_module(f"sch_{kind}"):
            return True
        apart = (
            ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--net")
        )
        if not all(map(shutil.which, ("unshare", "tc"))):
            return None
        command = (*apart, "tc", "qdisc", "add", "dev", "lo", "root", kind)
        try:
            ended = subprocess.run(command, capture_output=True, timeout=_PROBE_S, check=False, text=True)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if ended.returncode and "unknown" not in ended.stderr:
            return None
        return ended.returncode == 0

    @property
    def tcp_memory_bytes(self) -> int | None:
        """What all connections may take together: the third number of tcp_mem."""
        found = (self.sysctl("net.ipv4.tcp_mem").read() or "").split()
        return int(found[2]) * _PAGE_BYTES if len(found) == 3 else None

    def routes(self, address: str | None) -> list[Route]:
        """The default routes by IPv4, or the route of the main table that leads to an address."""
        family = "-6" if address and ":" in address else "-4"
        lines = route_lines(family)
        if address is None:
            chosen = [line for line in lines if line.split()[0] == "default"]
        else:
            chosen = _longest_match(lines, address)
        return [Route(route_name(family, line)) for line in chosen]

    def devices(self, routes: Sequence[Route]) -> list[RootQueue]:
        """Those that the routes leave by."""
        named = [each.name.split() for each in routes]
        names = [words[words.index("dev") + 1] for words in named if "dev" in words]
        return [RootQueue(name) for name in dict.fromkeys(names)]


def _longest_match(lines: Sequence[str], address: str) -> list[str]:
    import ipaddress  # noqa: PLC0415 - most plans name no address

    wanted = ipaddress.ip_address(address)
    best: tuple[int, str] | None = None
    for line in lines:
        prefix = line.split()[0]
        try:
            network = ipaddress.ip_network("::/0" if wanted.version == 6 else "0.0.0.0/0")
            if prefix != "default":
                network = ipaddress.ip_network(prefix)
        except ValueError:
            continue  # a route of another type, such as `unreachable`
        if wanted in network and (best is None or network.prefixlen > best[0]):
            best = (network.prefixlen, line)
    return [best[1]] if best else []
