"""Kills `bentpipe tune --apply` at every step and at random moments; `--undo` must restore everything.

In a network namespace of its own, with its files in a folder of its own. Before and after each kill it
compares all sysctls of the namespace, routes, queues, and files with their modes. `make check-tune KILLS=200`
runs it.

- A step is an audit event of Python: a file opened, renamed or removed, a folder made, a program started.
  The process kills itself at the first, the second, and so on, by SIGKILL.
- An --undo that leaves what somebody changed since is killed at its steps, too. Then --undo --force must
  restore everything.
- Random moments are drawn over the time that an undisturbed --apply takes. Every second --undo is killed,
  too.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bentpipe.analysis.intervals import interval
from bentpipe.cli.app import app
from bentpipe.tune import applying, drop_in, files, journal, measuring, plan, proving, words  # noqa: F401 - warm
from bentpipe.tune.machine import Machine

_INSIDE = "BENTPIPE_KILLS_INSIDE"
_MEASURE = "cut -f3 /proc/sys/net/ipv4/tcp_rmem"
_APPLY = (
    "tune",
    "--rate",
    "200Mbit/s",
    "--rtt",
    "300ms",
    "--apply",
    "--measure",
    _MEASURE,
    "--with",
    "first-window",
)
_MORE = ("--with", "fq", "--with", "idle", "--with", "lowat", "--pairs", "3")
_STEPS = ("open", "os.", "subprocess.Popen", "fcntl.flock")
_SOMEBODYS = Path("/proc/sys/net/ipv4/tcp_mtu_probing")
_DROP_IN = Path("etc/sysctl.d/99-zz-bentpipe-tune.conf")


def snapshot(root: Path) -> dict[str, Any]:
    """All that tune could change."""
    found: dict[str, Any] = {}
    for file in sorted(Path("/proc/sys/net").rglob("*")):
        if file.is_file() and "stat" not in file.name:
            with suppress(OSError):
                found[str(file)] = file.read_bytes()
    for command in (("ip", "-4", "route"), ("ip", "-6", "route"), ("tc", "qdisc", "show")):
        found[" ".join(command)] = subprocess.run(command, capture_output=True, check=True).stdout
    for file in sorted(root.rglob("*")):
        content = file.read_bytes() if file.is_file() else None
        found[str(file.relative_to(root))] = (file.stat().st_mode, content)
    return found


def difference(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = sorted({*before, *after})
    return [
        f"{name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def forked(arguments: tuple[str, ...], prepare: Callable[[], None] | None = None) -> int:
    """The process in which the command line runs, from here on."""
    pid = os.fork()
    if pid:
        return pid
    status = 71
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        if prepare:
            prepare()
        app(list(arguments), prog_name="bentpipe")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def dies_at(step: int) -> Callable[[], None]:
    def prepare() -> None:
        seen = 0

        def hook(event: str, _arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event.startswith(_STEPS):
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)

    return prepare


def kill_after(pid: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)


def furnished(folder: Path, number: int) -> Path:
    """A root directory: bare, with a folder for drop-in files, or with somebody's file in our place."""
    root = folder / str(number)
    (root / "var/lib").mkdir(parents=True)
    (root / "etc").mkdir()
    if number % 3:
        (root / "etc/sysctl.d").mkdir()
    if number % 3 == 2:
        (root / _DROP_IN).write_bytes(b"# somebody's own\nnet.ipv4.tcp_sack = 1\n")
        (root / _DROP_IN).chmod(0o600)
    return root


def restored(root: Path, before: dict[str, Any], what: str, undo: tuple[str, ...]) -> list[str]:
    status = ended(forked(undo))
    wrong = difference(before, snapshot(root))
    if status:
        wrong.insert(0, f"--undo ended with status {status}")
    return [f"{what}: {each}" for each in wrong]


def by_steps(folder: Path, every: int) -> Iterator[tuple[str, list[str]]]:
    """One kill at each `every`th step, until --apply ends before it."""
    step = 1
    while True:
        root = furnished(folder, step)
        undo = ("tune", "--undo", "--root", str(root))
        before = snapshot(root)
        status = ended(forked((*_APPLY, *_MORE, "--root", str(root)), dies_at(step)))
        changed = bool(difference(before, snapshot(root)))
        yield (
            f"step {step}{'' if changed else ', nothing changed yet'}",
            restored(root, before, f"step {step}", undo),
        )
        if status != -signal.SIGKILL:
            if status:
                yield f"step {step}", [f"--apply that was not killed ended with status {status}"]
            return
        shutil.rmtree(root)
        step += every


def undo_by_steps(folder: Path, every: int) -> Iterator[tuple[str, list[str]]]:
    """One kill at each `every`th step of an --undo that leaves a setting, until it ends before it."""
    step = 1
    while True:
        root = furnished(folder, step)
        undo = ("tune", "--undo", "--root", str(root))
        before = snapshot(root)
        if status := ended(forked((*_APPLY, *_MORE, "--root", str(root)))):
            yield f"before step {step} of --undo", [f"--apply ended with status {status}"]
            return
        _SOMEBODYS.write_text("2")
        applied = snapshot(root)
        status = ended(forked(undo, dies_at(step)))
        changed = bool(difference(applied, snapshot(root)))
        what = f"step {step} of --undo"
        wrong = [
            *left(root, what, undo),
            *restored(root, before, f"{what}, then --force", (*undo, "--force")),
        ]
        yield f"{what}{'' if changed else ', nothing changed yet'}", wrong
        if status != -signal.SIGKILL:
            return
        shutil.rmtree(root)
        step += every


def left(root: Path, what: str, undo: tuple[str, ...]) -> list[str]:
    """What is wrong after a whole --undo that may not touch somebody's setting."""
    wrong = []
    if (status := ended(forked(undo))) != 1:
        wrong.append(f"{what}: --undo ended with status {status}, not 1")
    if _SOMEBODYS.read_text().strip() != "2":
        wrong.append(f"{what}: somebody's setting was changed")
    if not (root / "var/lib/bentpipe-tune/journal.json").exists():
        wrong.append(f"{what}: the journal of what was left is gone")
    return wrong


def at_random(folder: Path, kills: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    draw = random.Random(seed)
    lasts_s, undo_s = undisturbed(folder)
    for number in range(1, kills + 1):
        root = furnished(folder, number)
        apply, undo = (*_APPLY, *_MORE, "--root", str(root)), ("tune", "--undo", "--root", str(root))
        before = snapshot(root)
        pid = forked(apply)
        kill_after(pid, draw.uniform(0, lasts_s))
        ended(pid)
        changed = bool(difference(before, snapshot(root)))
        if number % 2:
            pid = forked(undo)
            kill_after(pid, draw.uniform(0, undo_s))
            ended(pid)
        what = f"kill {number} of seed {seed}"
        yield f"{what}{'' if changed else ', nothing changed then'}", restored(root, before, what, undo)
        shutil.rmtree(root)


def undisturbed(folder: Path) -> tuple[float, float]:
    """How long --apply and --undo take, in seconds."""
    root = furnished(folder, 0)
    before = snapshot(root)
    begun = time.monotonic()
    if status := ended(forked((*_APPLY, *_MORE, "--root", str(root)))):
        sys.exit(f"--apply that was not killed ended with status {status}")
    applied = time.monotonic()
    if not difference(before, snapshot(root)):
        sys.exit("--apply changed nothing")
    if wrong := restored(root, before, "undisturbed", ("tune", "--undo", "--root", str(root))):
        sys.exit("\n".join(wrong))
    shutil.rmtree(root)
    return applied - begun, time.monotonic() - applied


def settle() -> None:
    """A device with a queue and a default route, and small buffers."""
    for command in (
        "ip link set lo up",
        "ip tuntap add dev t0 mode tap",
        "ip addr add 10.9.0.1/24 dev t0",
        "ip link set t0 up",
        "ip route add default via 10.9.0.2 initcwnd 12",
    ):
        subprocess.run(command.split(), check=True)
    Path("/proc/sys/net/ipv4/tcp_rmem").write_text("4096 131072 163840")
    if not Machine().has_queue("fq"):
        plan.PACING_QUEUE = "pfifo"
        Machine.has_queue = lambda _self, _kind: True  # type: ignore[method-assign]
        print("This kernel has no fq: pfifo stands for it.")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--kills", type=int, default=200, help="at random moments")
    asked.add_argument("--every", type=int, default=1, help="one of so many steps is killed at")
    asked.add_argument("--seed", type=int, default=1)
    options = asked.parse_args()
    if _INSIDE not in os.environ:
        apart = (
            ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--net")
        )
        os.environ[_INSIDE] = "1"
        os.execvp(apart[0], [*apart, sys.executable, *sys.argv])
    settle()
    interval((1.0, 2.0, 3.0))  # loads numpy and scipy, so that little of the time of --apply is loading
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, kinds in (
            ("at each step", by_steps(Path(folder, "apply"), options.every)),
            ("at each step of --undo", undo_by_steps(Path(folder, "undo"), options.every)),
            ("at random moments", at_random(Path(folder, "random"), options.kills, options.seed)),
        ):
            told = list(kinds)
            early = sum("nothing changed" in each for each, _ in told)
            wrong += [line for _, lines in told for line in lines]
            bad = sum(bool(lines) for _, lines in told)
            print(
                f"Killed {name}: {len(told)} times; {early} of them had changed nothing; not restored: {bad}."
            )
    for line in wrong[:40]:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
