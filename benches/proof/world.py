"""Four hosts in network namespaces, client - near = far - server, and both gateways."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hosts import ENDS_WITH_US, HERE, PATIENCE_S, RAIN, SERVER, Hosts, WrongError, wait_for

NEAR, SOCKS_PORT = "10.1.0.1", 1080


@dataclass(frozen=True)
class Settings:
    """What the gateways and their path are in one part of the trials."""

    mtu: int = 1500
    udp_payload: int = 1200
    over_ipv6: bool = False
    """The gateways' own path."""


@dataclass
class World(Hosts):
    rate: str
    delay_s: float
    loss: float
    gateways: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    path: subprocess.Popen[str] | None = None

    def python(self, name: str, *command: str, within_s: float = PATIENCE_S) -> Any:
        """What a part of `talk.py` says, as it ends."""
        said = self.do(name, sys.executable, HERE / "talk.py", *command, within_s=within_s)
        return json.loads(said.splitlines()[-1])

    # --- building

    def build(self) -> None:
        super().build()
        ends = str(self.spaces["near"].pid), str(self.spaces["far"].pid)
        shape = ["--ends", *ends, "--delay", str(self.delay_s), "--loss", str(self.loss)]
        self.path = subprocess.Popen(
            [*ENDS_WITH_US, sys.executable, HERE / "slow_path.py", *shape],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.path.stdout
        if self.path.stdout.readline().strip() != "ready":
            raise WrongError("the path between near and far could not be made")
        self.addresses()

    # --- the path

    def longest(self, length: int) -> None:
        """Longer IP packets vanish between near and far; nobody is told."""
        assert self.path and self.path.stdin
        self.path.stdin.write(f"longest {length}\n")
        self.path.stdin.flush()

    @contextlib.contextmanager
    def no_udp(self) -> Iterator[None]:
        """Far hears no UDP from the path."""
        self.do("far", "nft", RAIN + "add rule inet rain in iifname wan meta l4proto udp drop")
        try:
            yield
        finally:
            self.do("far", "nft", "delete table inet rain")

    # --- the gateways

    def configure(self, settings: Settings) -> None:
        far = "[fd00:2::2]:4433" if settings.over_ipv6 else "198.18.0.2:4433"
        path = f'[path]\nrate = "{self.rate}"\nudp_payload = {settings.udp_payload}\n'
        status = '[status]\nsocket = "{}.sock"\n'
        self.write_configurations(
            far,
            near=f'{path}[listen]\ntproxy = ["127.0.0.1:4100", "[::1]:4100"]\n'
            f'socks5 = ["{NEAR}:{SOCKS_PORT}"]\n'
            '[router]\ninterfaces = ["lan0"]\nudp = "all"\nexcept = ["10.1.0.0/24", "fd00::/16"]\n'
            + status.format("near"),
            far=path + status.format("far"),
        )
        (self.folder / "resolv.conf").write_text(f"nameserver {SERVER}\noptions timeout:2 attempts:5\n")
        for name in ("near", "far"):
            self.sh(name, f"ip link set wan mtu {settings.mtu}")

    def start(self) -> None:
        for name in ("far", "near"):
            # The names that far asks for are answered by the server.
            own = "mount --bind resolv.conf /etc/resolv.conf && " if name == "far" else ""
            command = f'{own}exec "$0" {name} --config {name}.toml'
            self.gateways[name] = self.begin(
                name, f"{name}.log", "unshare", "--mount", "sh", "-c", command, self.gateway
            )
        wait_for("a session", lambda: self.status("near").get("connected"))

    def stop(self) -> None:
        for process in self.gateways.values():
            process.terminate()
        for name, process in self.gateways.items():
            if process.wait(15):
                raise WrongError(f"{name} ended with {process.returncode}")
        self.gateways.clear()

    def status(self, name: str) -> dict[str, Any]:
        if (process := self.gateways[name]).poll() is not None:
            log = (self.folder / f"{name}.log").read_text().splitlines()
            raise WrongError(f"{name} ended with {process.returncode}: {' '.join(log[-2:])}")
        asked = [self.gateway, "status", "--json", "--socket", self.folder / f"{name}.sock"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
        status: dict[str, Any] = json.loads(said.stdout) if said.returncode == 0 else {}
        return status

    def note(self, name: str) -> None:
        """Keeps what both gateways say now, for whoever looks into the folder."""
        for role in self.gateways:
            with contextlib.suppress(WrongError):
                (self.folder / f"{name}-{role}.json").write_text(json.dumps(self.status(role), indent=1))

    def end(self) -> None:
        for process in [*self.gateways.values(), self.path]:
            if process:
                process.kill()
                process.wait()
        super().end()
