"""Four hosts in network namespaces, client - near = far - server, and both gateways."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
SERVER, SERVER6 = "203.0.114.2", "2a0e:b107:1::2"
NEAR, SOCKS_PORT = "10.1.0.1", 1080
PATIENCE_S = 60
ENDS_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
"""The kernel kills what is started by this when its parent has ended."""


class WrongError(Exception):
    """A trial went wrong. The text says how."""


def wait_for(what: str, is_so: Callable[[], Any], within_s: float = PATIENCE_S) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > until:
            raise WrongError(f"not in time: {what}")
        time.sleep(0.05)


@dataclass(frozen=True)
class Settings:
    """What the gateways and their path are in one part of the trials."""

    mtu: int = 1500
    udp_payload: int = 1200
    over_ipv6: bool = False
    """The gateways' own path."""


@dataclass
class World:
    gateway: Path
    folder: Path
    rate: str
    delay_s: float
    loss: float
    spaces: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    gateways: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    path: subprocess.Popen[str] | None = None

    def inside(self, name: str, *command: str | Path) -> list[str]:
        words = [str(word) for word in command]
        return [*ENDS_WITH_US, "nsenter", "-t", str(self.spaces[name].pid), "-n", *words]

    def do(self, name: str, *command: str | Path, within_s: float = PATIENCE_S) -> str:
        try:
            done = subprocess.run(
                self.inside(name, *command),
                capture_output=True,
                text=True,
                check=False,
                timeout=within_s,
                cwd=self.folder,
            )
        except subprocess.TimeoutExpired as error:
            raise WrongError(f"{Path(command[0]).name} did not end within {within_s:g} s") from error
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise WrongError(f"{Path(command[0]).name} ended with {done.returncode}: {' '.join(said[-2:])}")
        return done.stdout

    def begin(self, name: str, log: str, *command: str | Path, stdin: IO[Any] | int | None = None) -> Any:
        with (self.folder / log).open("ab") as out:
            inside = self.inside(name, *command)
            return subprocess.Popen(inside, stdout=out, stderr=out, stdin=stdin, cwd=self.folder)

    def python(self, name: str, *command: str, within_s: float = PATIENCE_S) -> Any:
        """What a part of `talk.py` says, as it ends."""
        said = self.do(name, sys.executable, HERE / "talk.py", *command, within_s=within_s)
        return json.loads(said.splitlines()[-1])

    # --- building

    def build(self) -> None:
        for name in ("client", "near", "far", "server"):
            command = [*ENDS_WITH_US, "unshare", "-n", "sleep", "infinity"]
            self.spaces[name] = subprocess.Popen(command)
        own = Path("/proc/self/ns/net").readlink()
        for space in self.spaces.values():
            link = Path(f"/proc/{space.pid}/ns/net")
            wait_for("a network namespace", lambda link=link: link.readlink() != own)
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
        self._veth("client", "lan", "near", "lan0")
        self._veth("far", "out", "server", "eth")
        for name, device, v4, v6 in (
            ("client", "lan", "10.1.0.2/24", "fd00:1::2/64"),
            ("near", "lan0", "10.1.0.1/24", "fd00:1::1/64"),
            ("near", "wan", "198.18.0.1/24", "fd00:2::1/64"),
            ("far", "wan", "198.18.0.2/24", "fd00:2::2/64"),
            ("far", "out", "203.0.114.1/24", "2a0e:b107:1::1/64"),
            ("server", "eth", "203.0.114.2/24", "2a0e:b107:1::2/64"),
            # A network behind far that nobody else may reach.
            ("server", "eth", "10.9.0.2/24", "fd00:9::2/64"),
            ("server", "eth", "169.254.169.254/16", "fd00:ec2::254/64"),
            ("far", "out", "10.9.0.1/24", "fd00:9::1/64"),
            ("far", "out", "169.254.0.1/16", "fd00:ec2::1/64"),
        ):
            self._sh(
                name,
                f"ip link set lo up; ip link set {device} up; ip addr add {v4} dev {device}; "
                f"ip addr add {v6} dev {device} nodad",
            )
        routes = "ip route add default {0}; ip -6 route add default {1}"
        self._sh("client", routes.format("via 10.1.0.1", "via fd00:1::1"))
        self._sh("near", routes.format("dev wan", "dev wan"))
        self._sh("server", routes.format("via 203.0.114.1", "via 2a0e:b107:1::1"))
        for name in ("near", "far"):
            self._sh(
                name, "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"
            )

    def _sh(self, name: str, command: str) -> None:
        self.do(name, "sh", "-ec", command)

    def _veth(self, one: str, device: str, other: str, there: str) -> None:
        pids = self.spaces[one].pid, self.spaces[other].pid
        command = f"ip link add {device} netns {pids[0]} type veth peer name {there} netns {pids[1]}"
        subprocess.run(command.split(), check=True)

    # --- the path

    def longest(self, length: int) -> None:
        """Longer IP packets vanish between near and far; nobody is told."""
        assert self.path and self.path.stdin
        self.path.stdin.write(f"longest {length}\n")
        self.path.stdin.flush()

    @contextlib.contextmanager
    def no_udp(self) -> Iterator[None]:
        """Far hears no UDP from the path."""
        rules = "add table inet rain; add chain inet rain in { type filter hook prerouting priority -300; }; "
        self.do("far", "nft", rules + "add rule inet rain in iifname wan meta l4proto udp drop")
        try:
            yield
        finally:
            self.do("far", "nft", "delete table inet rain")

    # --- the gateways

    def configure(self, settings: Settings) -> None:
        keys = {
            name: subprocess.run(
                [self.gateway, "keys", self.folder / f"{name}.key"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for name in ("near", "far")
            if not (self.folder / f"{name}.key").exists()
        }
        if keys:
            (self.folder / "keys.json").write_text(json.dumps(keys))
        keys = json.loads((self.folder / "keys.json").read_text())
        far = "[fd00:2::2]:4433" if settings.over_ipv6 else "198.18.0.2:4433"
        path = f'[path]\nrate = "{self.rate}"\nudp_payload = {settings.udp_payload}\n'
        status = '[status]\nsocket = "{}.sock"\n'
        (self.folder / "near.toml").write_text(
            f'role = "near"\nkey = "near.key"\n[peer]\naddress = "{far}"\nkey = "{keys["far"]}"\n{path}'
            f'[listen]\ntproxy = ["127.0.0.1:4100", "[::1]:4100"]\nsocks5 = ["{NEAR}:{SOCKS_PORT}"]\n'
            '[router]\ninterfaces = ["lan0"]\nudp = "all"\nexcept = ["10.1.0.0/24", "fd00::/16"]\n'
            f"{status.format('near')}"
        )
        (self.folder / "far.toml").write_text(
            f'role = "far"\nkey = "far.key"\n[peer]\nkey = "{keys["near"]}"\n{path}'
            f'[listen]\npeer = "{far}"\n{status.format("far")}'
        )
        (self.folder / "resolv.conf").write_text(f"nameserver {SERVER}\noptions timeout:2 attempts:5\n")
        for name in ("near", "far"):
            self._sh(name, f"ip link set wan mtu {settings.mtu}")

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
        for process in [*self.gateways.values(), *self.spaces.values(), self.path]:
            if process:
                process.kill()
                process.wait()
