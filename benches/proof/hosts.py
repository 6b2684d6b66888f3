"""Four hosts in network namespaces, client - near - far - server, with real gateways at near and far."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
SERVER, SERVER6 = "203.0.114.2", "2a0e:b107:1::2"
PATIENCE_S = 60
ENDS_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
"""The kernel kills what is started by this when its parent has ended."""
RAIN = "add table inet rain; add chain inet rain in { type filter hook prerouting priority -300; }; "
"""Of nft, before a rule for what is lost on the way to far."""


class WrongError(Exception):
    """A trial went wrong. The text says how."""


def wait_for(what: str, is_so: Callable[[], Any], within_s: float = PATIENCE_S) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > until:
            raise WrongError(f"not in time: {what}")
        time.sleep(0.05)


@dataclass
class Hosts:
    gateway: Path
    folder: Path
    spaces: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

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

    # --- building

    def build(self) -> None:
        for name in ("client", "near", "far", "server"):
            command = [*ENDS_WITH_US, "unshare", "-n", "sleep", "infinity"]
            self.spaces[name] = subprocess.Popen(command)
        own = Path("/proc/self/ns/net").readlink()
        for space in self.spaces.values():
            link = Path(f"/proc/{space.pid}/ns/net")
            wait_for("a network namespace", lambda link=link: link.readlink() != own)
        self.join("client", "lan", "near", "lan0")
        self.join("far", "out", "server", "eth")

    def addresses(self) -> None:
        """Addresses and routes, when near and far are joined by a device `wan` at each."""
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
            self.sh(
                name,
                f"ip link set lo up; ip link set {device} up; ip addr add {v4} dev {device}; "
                f"ip addr add {v6} dev {device} nodad",
            )
        routes = "ip route add default {0}; ip -6 route add default {1}"
        self.sh("client", routes.format("via 10.1.0.1", "via fd00:1::1"))
        self.sh("near", routes.format("dev wan", "dev wan"))
        self.sh("server", routes.format("via 203.0.114.1", "via 2a0e:b107:1::1"))
        for name in ("near", "far"):
            self.sh(
                name, "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"
            )

    def sh(self, name: str, command: str) -> None:
        self.do(name, "sh", "-ec", command)

    def join(self, one: str, device: str, other: str, there: str) -> None:
        pids = self.spaces[one].pid, self.spaces[other].pid
        command = f"ip link add {device} netns {pids[0]} type veth peer name {there} netns {pids[1]}"
        subprocess.run(command.split(), check=True)

    # --- the gateways

    def write_configurations(self, far_at: str, near: str, far: str) -> None:
        """Writes both. Near finds far at `far_at`; `near` and `far` are the lines behind [peer]."""
        kept = self.folder / "keys.json"
        if not kept.exists():
            keys = {name: self._key(name) for name in ("near", "far")}
            kept.write_text(json.dumps(keys))
        keys = json.loads(kept.read_text())
        (self.folder / "near.toml").write_text(
            f'role = "near"\nkey = "near.key"\n[peer]\naddress = "{far_at}"\nkey = "{keys["far"]}"\n{near}'
        )
        (self.folder / "far.toml").write_text(
            f'role = "far"\nkey = "far.key"\n[peer]\nkey = "{keys["near"]}"\n{far}'
            f'[listen]\npeer = "{far_at}"\n'
        )

    def _key(self, name: str) -> str:
        command = [self.gateway, "keys", self.folder / f"{name}.key"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def end(self) -> None:
        for space in self.spaces.values():
            space.kill()
            space.wait()
