"""`make soak-gateway MINUTES=60`: two real gateways under users' connections, outages and kills.

Four network namespaces stand in a line: client, near, far, server. near and far run `bentpipe-gateway`.
near's kernel hands it the clients' connections. Users at the client fetch bytes whose content they know,
one connection after another. Meanwhile the path goes silent, and either gateway is killed with SIGKILL and
started again.

Printed are the fetches, those that were wrong (there must be none), those that failed, and for each kind of
event when the first fetch after it began that succeeded; then the gateways' open files and memory, and what
stayed behind after each kill and in the end: nft rules, rules of ip, routes, devices, listening sockets, open
files. The status is 1 if a byte was wrong, something stayed behind, or a fetch
failed though nothing had happened for `--grace` seconds.

Needs Linux, root, nft and ip. Nothing outside the namespaces is touched.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hosts import HERE, RAIN, Hosts, WrongError, wait_for

ROOT = Path(__file__).resolve().parents[2]


class World(Hosts):
    def start(self, name: str) -> subprocess.Popen[bytes]:
        config = self.folder / f"{name}.toml"
        return self.begin(name, f"{name}.log", self.gateway, name, "--config", config)

    def silence(self, *, silent: bool) -> None:
        """The path loses everything, or nothing. The devices stay up, as those of a modem do."""
        if silent:
            self.do("far", "nft", RAIN + "add rule inet rain in iifname wan drop")
        else:
            self.do("far", "nft", "delete table inet rain")


@dataclass(frozen=True)
class Event:
    name: str
    begun_s: float
    over_s: float


def figures(pid: int) -> tuple[int, float]:
    """Open files and resident memory in MB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(resident.split()[1]) / 1000


def chaos(
    world: World,
    gateways: dict[str, Any],
    arguments: argparse.Namespace,
    looks: list[Any],
    after_kill: Callable[[str], None],
) -> list[Event]:
    """Events until the time is over. `after_kill` is called with the name, before a new start."""
    drawn = random.Random(arguments.seed)
    began = time.monotonic()
    end = began + 60 * arguments.minutes
    events: list[Event] = []

    def wait(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name, process in gateways.items():
                if process.poll() is not None:
                    raise RuntimeError(
                        f"{name} ended by itself: {(world.folder / f'{name}.log').read_text()[-1000:]}"
                    )
                looks.append([time.monotonic() - began, name, process.pid, *figures(process.pid)])
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))

    while True:
        wait(drawn.uniform(0.5, 1.5) * arguments.every)
        what = drawn.choice(arguments.events)
        begun = time.monotonic()
        if begun + 40 > end:
            return events
        if what == "outage":
            world.silence(silent=True)
            wait(drawn.uniform(2, 25))
            world.silence(silent=False)
        else:
            name = what.split()[1]
            gateways[name].kill()
            gateways[name].wait()
            after_kill(name)
            time.sleep(drawn.uniform(0.2, 3))
            gateways[name] = world.start(name)
        events.append(Event(what, begun, time.monotonic()))
        print(f"  {begun - began:6.0f} s  {what}, {events[-1].over_s - begun:.1f} s", flush=True)


def network(world: World, name: str) -> list[str]:
    """What a gateway could change of its host. Not what the kernel itself adds for an address."""
    kinds = {
        "nft rule": ["nft list ruleset"],
        "rule of ip": ["ip rule", "ip -6 rule"],
        "route": ["ip route show table all", "ip -6 route show table all"],
        "device": ["ip -oneline link"],
        "socket": ["ss -Htul"],
    }
    return [
        f"{kind} at {name}: {' '.join(line.split())}"
        for kind, commands in kinds.items()
        for command in commands
        for line in world.do(name, *command.split()).splitlines()
        if "proto kernel" not in line
    ]


def left_behind(world: World, before: Mapping[str, Sequence[str]], *names: str) -> list[str]:
    """What was not there `before`, and still is some seconds after the gateways of these hosts ended."""

    def more() -> list[str]:
        return [line for name in names for line in network(world, name) if line not in before[name]]

    with contextlib.suppress(WrongError):
        wait_for("the hosts as before", lambda: not more(), within_s=5)
    return more()


@contextlib.contextmanager
def folder(keep: Path | None) -> Iterator[Path]:
    path = keep or Path(tempfile.mkdtemp(prefix="bentpipe-soak-"))
    path.mkdir(exist_ok=True)
    try:
        yield path
    finally:
        if not keep:
            shutil.rmtree(path)


def soak(arguments: argparse.Namespace) -> int:
    with folder(arguments.keep) as path:
        world = World(arguments.gateway.resolve(), path.resolve())
        try:
            world.build()
            world.join("near", "wan", "far", "wan")
            world.addresses()
            return _soaked(world, arguments)
        finally:
            world.end()


def carriers(world: World, name: str) -> int:
    """TCP connections between the gateways: after an outage the session may stay on TLS for some minutes."""
    ways = ("ss", "-Htn", "state", "established", "( sport = :4433 or dport = :4433 )")
    return len(world.do(name, *ways).splitlines())


def at_rest(
    world: World, gateways: Mapping[str, Any], first: Mapping[str, tuple[int, float]]
) -> dict[str, Any]:
    """Figures when the users are gone and no more files are open than at first, or after half a minute."""

    def now() -> dict[str, tuple[int, float]]:
        found = {name: figures(process.pid) for name, process in gateways.items()}
        return {name: (files - carriers(world, name), held) for name, (files, held) in found.items()}

    with contextlib.suppress(WrongError):
        wait_for("rest", lambda: all(each[0] <= first[name][0] for name, each in now().items()), within_s=30)
    return now()


def _soaked(world: World, arguments: argparse.Namespace) -> int:
    path = f'[path]\nrate = "{arguments.rate}"\n'
    world.write_configurations(
        "198.18.0.2:4433",
        near=path + '[listen]\ntproxy = ["127.0.0.1:4100"]\n[router]\ninterfaces = ["lan0"]\n',
        far=path,
    )
    before = {name: network(world, name) for name in ("near", "far")}
    gateways = {name: world.start(name) for name in ("far", "near")}
    own = [sys.executable, str(HERE / "users.py")]
    server = subprocess.Popen(world.inside("server", *own, "--serve"))
    time.sleep(2)
    first = {name: figures(process.pid) for name, process in gateways.items()}
    said = world.folder / "fetches"
    asked = ["--users", str(arguments.users), "--seed", str(arguments.seed)]
    with said.open("wb") as out:
        users = subprocess.Popen(world.inside("client", *own, *asked), stdout=out)
    looks: list[Any] = []
    print(f"{arguments.users} users for {arguments.minutes:g} min:", flush=True)
    stayed: list[str] = []
    events = chaos(
        world, gateways, arguments, looks, lambda name: stayed.extend(left_behind(world, before, name))
    )
    users.kill()
    users.wait()
    rest = at_rest(world, gateways, first)
    for name in rest:
        more = rest[name][0] - first[name][0]
        stayed += [f"open files of {name}: {more} more than before the first user"] if more > 0 else []
    for process in gateways.values():
        process.send_signal(signal.SIGTERM)
    statuses = {name: process.wait(15) for name, process in gateways.items()}
    server.kill()
    server.wait()
    stayed += left_behind(world, before, "near", "far")
    rows = [json.loads(line) for line in said.read_text().splitlines() if line.endswith("]")]
    wrong = told_of_fetches(rows, events, arguments.grace)
    for name in ("near", "far"):
        own = [look for look in looks if look[1] == name]
        files, megabytes = rest[name]
        print(
            f"{name}: at most {max(look[3] for look in own)} open files,",
            f"{max(look[4] for look in own):.0f} MB",
        )
        print(
            f"  at rest {first[name][0]} open files, {first[name][1]:.0f} MB before the first user, "
            f"{files} and {megabytes:.0f} MB in the end; status {statuses[name]} at SIGTERM"
        )
        print(f"  {told_of_growth(own)}")
    for what in stayed:
        print(f"left behind: {what}")
    return 1 if wrong or stayed or any(statuses.values()) else 0


def told_of_growth(looks: Sequence[Any]) -> str:
    """Memory and open files in the quarters of the longest life of a process. A leak grows in each."""
    lives: dict[int, list[Any]] = {}
    for look in looks:
        lives.setdefault(look[2], []).append(look)
    longest = max(lives.values(), key=len)
    quarters = [longest[len(longest) * at // 4 : len(longest) * (at + 1) // 4] for at in range(4)]
    memory = ", ".join(f"{median(look[4] for look in each):.1f}" for each in quarters if each)
    files = ", ".join(f"{median(look[3] for look in each):.0f}" for each in quarters if each)
    minutes = (longest[-1][0] - longest[0][0]) / 60
    return f"its longest life, {minutes:.0f} min, by quarters: {memory} MB, {files} open files (medians)"


def told_of_fetches(rows: list[Any], events: list[Event], grace_s: float) -> bool:
    """Whether one was wrong, or failed without a reason."""
    right = [row for row in rows if row[3] == "right"]
    wrong = [row for row in rows if row[3] == "wrong"]
    failed = [row for row in rows if row[3] not in ("right", "wrong")]

    def excused(row: Any) -> bool:
        return any(
            event.begun_s - 60 < row[0] < event.over_s + grace_s and event.begun_s < row[1]
            for event in events
        )

    unexcused = [row for row in failed if not excused(row)]
    print(
        f"fetches: {len(right)} right ({sum(row[2] for row in right) / 1e6:.0f} MB), {len(wrong)} wrong, "
        f"{len(failed)} failed, of these {len(unexcused)} at a time when nothing had happened"
    )
    for name in sorted({event.name for event in events}):
        after = []
        lost = 0
        for event, following in zip(events, [*events[1:], None], strict=True):
            if event.name == name:
                until = following.begun_s if following else float("inf")
                later = [row[0] - event.over_s for row in right if row[0] >= event.over_s]
                after.append(min(later, default=float("inf")))
                lost += sum(1 for row in failed if event.over_s <= row[0] and row[1] < until)
        after.sort()
        middle = after[len(after) // 2]
        print(
            f"{name}, {len(after)} times: the first fetch that succeeds begins {middle:.2f} s after "
            f"it (median; most {after[-1]:.2f} s); {lost} that began after it failed before the next event"
        )
    for row in (wrong + unexcused)[:20]:
        print(f"  {row}")
    return bool(wrong or unexcused)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60, help="how long")
    parser.add_argument("--every", type=float, default=60, help="seconds between two events, on average")
    parser.add_argument(
        "--grace", type=float, default=1, help="seconds after an event in which a fetch that begins may fail"
    )
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", default="50 Mbit/s")
    parser.add_argument(
        "--gateway", type=Path, default=ROOT / "target/release/bentpipe-gateway", help="the program"
    )
    parser.add_argument(
        "--events", nargs="+", default=["outage", "kill near", "kill far"], help="what happens"
    )
    parser.add_argument("--keep", type=Path, help="keep logs and fetches in this folder")
    arguments = parser.parse_args()
    if os.geteuid() or not shutil.which("nft") or not arguments.gateway.exists():
        print(f"soak: this needs root, nft and {arguments.gateway}", file=sys.stderr)
        return 2
    return soak(arguments)


if __name__ == "__main__":
    sys.exit(main())
